"""Relative paths that come from elsewhere, checked before they name a file here."""

from __future__ import annotations

from collections.abc import Iterable

from engine.errors import VoiceNotAvailableError

_LONGEST = 200  # a name of 255 bytes is the most that file systems take; some is left for what is added


def check_relative(path: str, what: str) -> str:
    """The path, if it stays where it is put.

    Args:
        path: with ``/``, as a listing or a user gives it.
        what: of what it is the path, for the error.

    Raises:
        VoiceNotAvailableError: it is absolute, leads upwards, or has parts that are no file names.
    """
    parts = path.split("/")
    if any(_bad(part) for part in parts):
        message = f"{what} has the path {path!r}, which is not a plain path below its folder; it is not fetched"
        raise VoiceNotAvailableError(message)
    return path


def check_distinct(paths: Iterable[str], what: str) -> None:
    """Check that no path is listed twice, and none is both a file and a folder.

    Raises:
        VoiceNotAvailableError: one is.
    """
    seen: set[str] = set()
    for path in sorted(paths, key=lambda name: name.split("/")):
        above = {"/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 2)}
        if above & seen:
            message = f"{what} lists {path!r} twice or as a file and a folder; it is not fetched"
            raise VoiceNotAvailableError(message)
        seen.add(path)


def _bad(part: str) -> bool:
    return (
        part in {"", ".", ".."}
        or part.startswith("@")  # the cache's own
        or "\\" in part
        or not part.isprintable()
        or len(part.encode("utf-8", "surrogatepass")) > _LONGEST
    )
