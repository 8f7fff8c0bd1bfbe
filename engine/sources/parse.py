"""The text of a source, read strictly: understood as it stands, or refused with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote, urlsplit

from engine.errors import VoiceNotAvailableError
from engine.sources.base import Remote
from engine.sources.hub import HubRemote
from engine.sources.local import LocalSource
from engine.sources.s3 import S3Remote

BUNDLED_SCHEME = "openjtalk"
PUBLISHED_FAMILY = "style_bert_vits2"

REMOTE_SCHEMES: Mapping[str, Callable[[str], Remote | None]] = {"hf": HubRemote.parse, "s3": S3Remote.parse}
"""What reads the text behind ``SCHEME://``; None where it is of another form."""

_FORMS = {
    "hf": "hf://USER/REPOSITORY or hf://USER/REPOSITORY@REVISION",
    "s3": "s3://BUCKET or s3://BUCKET/PREFIX",
    "file": "file:///PATH",
    BUNDLED_SCHEME: "openjtalk:NAME (openjtalk:mei)",
}
_KNOWN = (
    "known are openjtalk:NAME (openjtalk:mei), hf://USER/REPOSITORY, s3://BUCKET/PREFIX, file:///PATH and an absolute "
    "path"
)
_HUB_PAGE = re.compile(r"https://huggingface\.co/([^/\s]+/[^/\s@]+?)(?:/tree/([^\s]+?))?/?")


@dataclass(frozen=True, slots=True)
class VoiceSource:
    """A parsed source.

    Attributes:
        family: which voice family loads it.
        model: what the family is given: a name or a path; empty if the speaker says it.
        tree: where the family finds its files on this machine; None if it needs none or they are elsewhere.
        remote: where its files are fetched from; None if they need not be.
    """

    family: str
    model: str = ""
    tree: LocalSource | None = None
    remote: Remote | None = None


def parse_source(source: str) -> VoiceSource:
    """Read a source such as ``openjtalk:mei``, ``hf://user/repo@v2``, ``s3://bucket/voices`` or ``/srv/voices``.

    Raises:
        VoiceNotAvailableError: the source is of no known form.
    """
    if not source.isprintable() or source != source.strip():
        _refuse(source, _KNOWN)
    scheme, colon, rest = source.partition(":")
    if scheme == BUNDLED_SCHEME and colon and rest:
        return VoiceSource("openjtalk", rest)
    path = _local_path(source)
    if path is not None:
        return VoiceSource(PUBLISHED_FAMILY, tree=LocalSource(path))
    page = _HUB_PAGE.fullmatch(source)
    if page:
        return parse_source("hf://" + "@".join(part for part in page.groups() if part))
    if scheme in REMOTE_SCHEMES and rest.startswith("//"):
        remote = REMOTE_SCHEMES[scheme](rest[2:])
        if remote is not None:
            return VoiceSource(PUBLISHED_FAMILY, remote=remote)
    return _refuse(source, _advice(source, scheme, colon))


def _advice(source: str, scheme: str, colon: str) -> str:
    """What was probably meant."""
    form = _FORMS.get(scheme.lower()) if colon else None
    if source.removeprefix("file:").lstrip("/").startswith("~"):
        return "~ is not expanded, since a service has a home of its own; write the path in full"
    if re.fullmatch(r"[\w.-]+/[\w.-]+", source) and not source.startswith("."):
        return f"for the hub write hf://{source}; a folder is named by its absolute path"
    if scheme == "file" or (source and not colon):
        return "a folder is named by its absolute path, as /srv/voices or file:///srv/voices, without '..'"
    if form:
        return f"write {form}" if scheme in _FORMS else f"{scheme.lower()} is written in small letters: {form}"
    return _KNOWN


def _refuse(source: str, advice: str) -> NoReturn:
    message = f"the source {source!r} is not understood; {advice}"
    raise VoiceNotAvailableError(message)


def _local_path(source: str) -> Path | None:
    if source.startswith("/"):
        return None if ".." in source.split("/") else Path(source)
    if not source.startswith("file:"):
        return None
    parts = urlsplit(source)
    path = unquote(parts.path)
    bad = parts.netloc not in {"", "localhost"} or not path.startswith("/") or parts.query or parts.fragment
    return None if bad or path.startswith("/~") or ".." in path.split("/") else Path(path)
