"""Where a speaker's voice comes from: the text of a source, read strictly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from engine.errors import VoiceNotAvailableError

BUNDLED_SCHEME = "openjtalk"

_KNOWN = "known are openjtalk:NAME (openjtalk:mei), file:///PATH and an absolute path"


class Source(Protocol):
    """A tree of voices: where it is and how it comes here is its own matter."""

    def fetch(self, prefix: str) -> Path:
        """The local folder that holds the tree below ``prefix``, complete.

        Raises:
            VoiceNotAvailableError: there is no such folder, with what there is instead.
        """


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A tree on this machine, used in place.

    Attributes:
        root: absolute path of the folder that has ``bert``, ``onnx`` or ``pytorch`` in it.
    """

    root: Path

    def fetch(self, prefix: str) -> Path:
        """See ``Source``."""
        folder = self.root / prefix
        if folder.is_dir():
            return folder
        raise VoiceNotAvailableError(self._missing(prefix))

    def _missing(self, prefix: str) -> str:
        if not self.root.is_dir():
            return f"there is no folder {self.root}; name the root of a tree of voices"
        if any(self.root.glob("*.safetensors")):
            return f"{self.root} is a trained model; convert it: asagoe voices convert {self.root} --to FOLDER"
        if (self.root / "config.json").is_file():
            return f"{self.root} is a single voice; name the root of its tree (the folder that has 'onnx' in it)"
        parent = (self.root / prefix).parent
        others = sorted(item.name for item in parent.iterdir() if item.is_dir()) if parent.is_dir() else []
        there = f"{parent} has {', '.join(others)}" if others else "it is not a tree of published voices"
        return f"{self.root} has no {prefix}; {there}"


@dataclass(frozen=True, slots=True)
class VoiceSource:
    """A parsed source.

    Attributes:
        family: which voice family loads it.
        model: what the family is given: a name or a path; empty if the speaker says it.
        tree: where the family finds its files, for families that need them.
    """

    family: str
    model: str = ""
    tree: Source | None = None


def parse_source(source: str) -> VoiceSource:
    """Read a source such as ``openjtalk:mei`` or ``file:///srv/voices``.

    Raises:
        VoiceNotAvailableError: the source is of no known form.
    """
    scheme, colon, rest = source.partition(":")
    if scheme == BUNDLED_SCHEME and colon and rest:
        return VoiceSource("openjtalk", rest)
    path = _local_path(source)
    if path is not None:
        return VoiceSource("style_bert_vits2", tree=LocalSource(path))
    message = f"the source {source!r} is not understood; {_hint(source) or _KNOWN}"
    raise VoiceNotAvailableError(message)


def _hint(source: str) -> str:
    """What a source that comes near to a path lacks; empty where it does not."""
    place = source.removeprefix("file:").lstrip("/")
    if place.startswith("~"):
        return "~ is not expanded, since a service has a home of its own; write the path in full"
    if source.startswith("file:") or (source and ":" not in source):
        return "a folder is named by its absolute path, as /srv/voices or file:///srv/voices"
    return ""


def _local_path(source: str) -> Path | None:
    if source.startswith("/"):
        return Path(source)
    if not source.startswith("file:"):
        return None
    parts = urlsplit(source)
    path = unquote(parts.path)
    if parts.netloc not in {"", "localhost"} or not path.startswith("/") or parts.query or parts.fragment:
        return None
    return Path(path)
