"""What a source is to those who need its files, and what a remote place has to offer to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Source(Protocol):
    """A tree of voices: where it is and how it comes here is its own matter."""

    def fetch(self, prefix: str) -> Path:
        """The local folder that holds the tree below ``prefix``, complete.

        Raises:
            VoiceNotAvailableError: there is no such folder, with what there is instead.
            SourceUnreachableError: it cannot be had now; another attempt may succeed.
        """

    def upload(self, prefix: str, folder: Path) -> str:
        """Publish the files of a folder below ``prefix``; what is there under other names stays.

        Returns:
            The revision that was made; empty where the source has none.

        Raises:
            VoiceNotAvailableError: it cannot be written to, with what to do.
            SourceUnreachableError: it cannot be reached now.
        """


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a listing.

    Attributes:
        path: below the prefix, with ``/``.
        size: in bytes.
        digest: what changes with the content: ``sha256:HEX``, ``git:HEX`` (SHA-1 of a git blob), or another name that
            only serves to see a change, such as ``etag:…``.
    """

    path: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What lies below a prefix.

    Attributes:
        revision: of the tree, in the words of the source; empty where it has none.
        files: in the order of their paths.
    """

    revision: str
    files: tuple[RemoteFile, ...]


class Remote(Protocol):
    """A place that files are fetched from. A new scheme is one class of this kind and its line in ``parse``.

    Every method raises ``SourceUnreachableError`` where another attempt may succeed and ``VoiceNotAvailableError``
    where it will not; none of them repeats an attempt by itself.
    """

    @property
    def uri(self) -> str:
        """The source as the user wrote it."""

    @property
    def slug(self) -> str:
        """A relative path in the cache that only this tree has."""

    @property
    def pinned(self) -> bool:
        """Whether its content can never change."""

    def listing(self, prefix: str) -> Listing:
        """All files below ``prefix``, also in folders; may be empty."""

    def read(
        self, prefix: str, file: RemoteFile, revision: str, offset: int
    ) -> AbstractContextManager[tuple[int, Iterator[bytes]]]:
        """The bytes of a file from ``offset``, and where they really begin: 0 if it cannot begin elsewhere."""

    def upload(self, prefix: str, folder: Path) -> str:
        """See ``Source``."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a download is.

    Attributes:
        source: where from.
        prefix: the folder.
        file: the file that is being fetched, below the prefix.
        done: bytes of the folder that are here.
        total: bytes of the folder.
        waiting: why nothing happens just now; empty while something does.
    """

    source: str
    prefix: str
    file: str
    done: int
    total: int
    waiting: str = ""


Progress = Callable[[Step], None]
"""Called often, from the thread that downloads. What it raises ends the download, which can be resumed."""

Select = Callable[[str, Sequence[str]], Sequence[str]]
"""Of the paths below a prefix, those that are needed."""


def everything(prefix: str, paths: Sequence[str]) -> Sequence[str]:
    """Select all."""
    del prefix
    return paths


def nothing(step: Step) -> None:
    """Progress that nobody watches."""
    del step
