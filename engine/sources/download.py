"""Brings the files of a listing into a working folder: resumable, checked, and never more than the disk holds."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import CacheError, SourceUnreachableError, VoiceNotAvailableError
from engine.sources.base import Progress, Remote, RemoteFile, Step
from engine.sources.entry import Entry
from engine.sources.manifest import FileRecord, git_blob, sha256, sync_folder
from engine.sources.retry import Attempts, Policy

SPARE = 64_000_000
"""Bytes that a download leaves free: a machine whose disk is full has worse troubles than a missing voice."""

_DAMAGED = 2  # downloads of a file that may arrive damaged


@dataclass
class _Count:
    """Bytes of the folder that are here, told to whoever watches."""

    remote: Remote
    prefix: str
    total: int
    progress: Progress
    done: int = 0

    def report(self, file: str, part: int = 0, waiting: str = "") -> None:
        self.progress(Step(self.remote.uri, self.prefix, file, self.done + part, self.total, waiting))


class Download:
    """One download of one folder.

    Args:
        remote: where from.
        prefix: which folder of it.
        revision: of the listing.
        entry: where to; its lock is held.
        policy: of repetition.
        progress: told of every chunk.
    """

    def __init__(
        self, remote: Remote, prefix: str, revision: str, entry: Entry, policy: Policy, progress: Progress
    ) -> None:
        self._remote = remote
        self._prefix = prefix
        self._revision = revision
        self._entry = entry
        self._policy = policy
        self._progress = progress

    def run(self, files: Sequence[RemoteFile]) -> tuple[FileRecord, ...]:
        """Bring all of them.

        Raises:
            CacheError: the disk is full, or cannot be written to.
            SourceUnreachableError: all attempts failed; what has come is kept.
            VoiceNotAvailableError: a file is refused, or arrives damaged again and again.
        """
        kept = self._tidy(files)
        self._check_space(files, kept)
        count = _Count(self._remote, self._prefix, sum(file.size for file in files), self._progress)
        count.done = sum(record.size for record in kept.values())
        for file in files:
            if file.path not in kept:
                kept[file.path] = self._bring(file, count, list(kept.values()))
                count.done += file.size
                count.report(file.path)
        return tuple(kept[file.path] for file in files)

    def _tidy(self, files: Sequence[RemoteFile]) -> dict[str, FileRecord]:
        """Throw away what belongs to another listing; returns what is complete."""
        entry = self._entry
        for folder in (entry.files, entry.parts):
            folder.mkdir(parents=True, exist_ok=True)
        wanted = {file.path: file for file in files}
        kept = {
            record.path: record
            for record in entry.done()
            if record.path in wanted and _same(record, wanted[record.path])
        }
        for path in [path for path in entry.files.rglob("*") if not path.is_dir()]:
            if path.relative_to(entry.files).as_posix() not in kept:
                path.unlink()
        parts = {_part_name(file) for file in files if file.path not in kept}
        for path in entry.parts.iterdir():
            if path.name not in parts:
                path.unlink()
        return kept

    def _check_space(self, files: Sequence[RemoteFile], kept: dict[str, FileRecord]) -> None:
        missing = [file for file in files if file.path not in kept]
        needed = sum(file.size for file in missing) - sum(self._part_size(file) for file in missing)
        free = shutil.disk_usage(self._entry.folder).free
        if missing and needed + SPARE > free:
            message = (
                f"{self._prefix} of {self._remote.uri} needs {_megabytes(needed)} in {self._entry.folder}, and "
                f"{_megabytes(SPARE)} are left free, but the disk has {_megabytes(free)}; free some, or set "
                "ASAGOE_CACHE to a folder on a larger disk"
            )
            raise CacheError(message)

    def _bring(self, file: RemoteFile, count: _Count, kept: list[FileRecord]) -> FileRecord:
        part = self._entry.parts / _part_name(file)
        attempts = Attempts(self._policy, lambda why: count.report(file.path, self._part_size(file), why))
        best = damaged = 0
        while True:
            try:
                self._receive(file, part, count)
            except SourceUnreachableError as error:
                if self._part_size(file) > best:
                    best = self._part_size(file)
                    attempts.progress()
                attempts.failed(error)
                continue
            fault = _fault(part, file)
            if not fault:
                return self._keep(file, part, kept)
            part.unlink()
            damaged += 1
            message = f"{self._prefix}/{file.path} of {self._remote.uri} arrives damaged: {fault}"
            if damaged >= _DAMAGED:
                raise VoiceNotAvailableError(f"{message}; it is damaged at the source, or changed on the way")
            attempts.failed(SourceUnreachableError(message))

    def _receive(self, file: RemoteFile, part: Path, count: _Count) -> None:
        """Fetch what is missing of a part.

        Raises:
            SourceUnreachableError: it broke off.
        """
        have = self._part_size(file)
        if part.exists() and have >= file.size:
            return
        count.report(file.path, have)
        with self._remote.read(self._prefix, file, self._revision, have) as (start, chunks), part.open("ab") as stream:
            stream.truncate(start)
            have = start
            for chunk in chunks:
                self._write(part, stream.fileno(), chunk)
                have += len(chunk)
                count.report(file.path, min(have, file.size))
                if have > file.size:
                    break  # the comparison afterwards refuses it
            os.fsync(stream.fileno())
        if have < file.size:
            message = f"{self._prefix}/{file.path} of {self._remote.uri} broke off at byte {have} of {file.size}"
            raise SourceUnreachableError(message)

    def _write(self, part: Path, descriptor: int, chunk: bytes) -> None:
        try:
            view = memoryview(chunk)
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                part.unlink(missing_ok=True)  # the rest of the machine needs the space more
                message = f"the disk of {self._entry.folder} is full; free some, or set ASAGOE_CACHE to another one"
                raise CacheError(message) from error
            raise

    def _keep(self, file: RemoteFile, part: Path, kept: list[FileRecord]) -> FileRecord:
        """Make a complete part a file. Noted first: a note without its file is passed over, not the other way round."""
        record = FileRecord(file.path, file.size, sha256(part), int(time.time()), file.digest)
        os.utime(part, (record.modified, record.modified))
        target = self._entry.files / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        self._entry.note([*kept, record])
        part.rename(target)
        sync_folder(target.parent)
        return record

    def _part_size(self, file: RemoteFile) -> int:
        part = self._entry.parts / _part_name(file)
        return part.stat().st_size if part.exists() else 0


def _part_name(file: RemoteFile) -> str:
    """Another for each content, so that a part is never continued with bytes of another version."""
    return hashlib.sha256(f"{file.path}\0{file.size}\0{file.digest}".encode()).hexdigest()[:32]


def _same(record: FileRecord, file: RemoteFile) -> bool:
    return record.digest == file.digest and record.size == file.size


def _fault(path: Path, file: RemoteFile) -> str:
    """What is wrong with a file that has come; empty if nothing is."""
    size = path.stat().st_size
    if size != file.size:
        return f"it has {size} bytes instead of {file.size}"
    kind, _, wanted = file.digest.partition(":")
    if kind == "sha256" and sha256(path) != wanted:
        return "its SHA-256 is another than the source says"
    if kind == "git" and git_blob(path) != wanted:
        return "its content is another than the source says"
    return ""


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
