"""What a fetched folder must hold: sizes, SHA-256, and where and when it came from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import uuid4

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as it was when it was complete.

    Attributes:
        path: below the folder.
        size: in bytes.
        sha256: hexadecimal.
        modified: its time of change, in whole seconds since 1970, so that images and archives keep it.
        digest: what the source called its content, see ``RemoteFile``.
    """

    path: str
    size: int
    sha256: str
    modified: int
    digest: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record of a fetched folder.

    Attributes:
        source: as the user wrote it.
        origin: the source or the mirror that it really came from.
        prefix: which part of the source.
        revision: of the source when it was fetched; empty where there is none.
        fetched: when, in seconds since 1970.
        files: in the order of their paths.
    """

    source: str
    origin: str
    prefix: str
    revision: str
    fetched: int
    files: tuple[FileRecord, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def snapshot(self) -> str:
        """A name that the content alone determines."""
        listed = json.dumps([[file.path, file.size, file.sha256] for file in self.files])
        return hashlib.sha256(listed.encode()).hexdigest()[:16]

    def at(self, revision: str) -> Manifest:
        """The same content, seen at another revision."""
        return replace(self, revision=revision)

    def write(self, path: Path) -> None:
        """Write it, whole or not at all."""
        write_whole(path, json.dumps({"format": _FORMAT} | asdict(self), ensure_ascii=False, indent=1))

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read it.

        Raises:
            OSError: it cannot be read.
            ValueError: it is not a manifest.
        """
        content = json.loads(path.read_text("utf-8"))
        try:
            if content.pop("format") != _FORMAT:
                message = f"{path} is of another version"
                raise ValueError(message)
            files = tuple(FileRecord(**file) for file in content.pop("files"))
            manifest = cls(**content, files=files)
        except (AttributeError, KeyError, TypeError) as error:
            message = f"{path} is no manifest ({error})"
            raise ValueError(message) from error
        if not files or any(type(file.size) is not int or type(file.path) is not str for file in files):
            message = f"{path} lists no files"
            raise ValueError(message)
        return manifest


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a file.

    Attributes:
        path: below the folder.
        what: is wrong with it.
    """

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path} {self.what}"


def faults(manifest: Manifest, folder: Path, *, thorough: bool) -> Iterator[Fault]:
    """What is wrong with the files of a folder.

    Args:
        manifest: what they should be.
        folder: where they are.
        thorough: read all of them; else only those whose time of change is another than when they were complete.
    """
    for record in manifest.files:
        path = folder / record.path
        try:
            state = path.lstat()
            if not path.is_file() or path.is_symlink():
                yield Fault(record.path, "is no file")
            elif state.st_size != record.size:
                yield Fault(record.path, f"has {state.st_size} bytes instead of {record.size}")
            elif thorough or state.st_mtime_ns != record.modified * 1_000_000_000:
                if sha256(path) != record.sha256:
                    yield Fault(record.path, "has another content")
                elif state.st_mtime_ns != record.modified * 1_000_000_000:
                    _set_time(path, record.modified)
        except FileNotFoundError:
            yield Fault(record.path, "is missing")
        except OSError as error:
            yield Fault(record.path, f"cannot be read ({error.strerror})")


def sha256(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def git_blob(path: Path) -> str:
    """The object name that git gives to a file's content: SHA-1 of ``blob SIZE``, a zero byte and the content."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def write_whole(path: Path, text: str) -> None:
    """Write a file so that readers see the old or the new one, also after a power cut."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Bring what was renamed in a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _set_time(path: Path, modified: int) -> None:
    try:
        os.utime(path, (modified, modified))
    except OSError:  # a cache that cannot be written to costs reading the file at each start, nothing more
        return
