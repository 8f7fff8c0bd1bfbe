"""One fetched folder in the cache: complete or absent, whenever the power goes.

    <cache>/sources/<source>/<prefix>/@current      which content is in force, and which was before it
    <cache>/sources/<source>/<prefix>/@<content>/   manifest.json and files/, never changed once they are there
    <cache>/sources/<source>/<prefix>/@work/        what a download has so far

Readers need no lock: they see ``@current`` before or after it is replaced. Whoever changes something holds the lock.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from engine.sources.manifest import FileRecord, Manifest, faults, sync_folder, write_whole

CURRENT = "@current"
_WORK = "@work"
_MANIFEST = "manifest.json"
_FILES = "files"
_DONE = "done.json"
_PARTS = "parts"


@dataclass(frozen=True, slots=True)
class Pointer:
    """What ``@current`` says.

    Attributes:
        source: that the entry belongs to.
        prefix: likewise.
        snapshot: name of the content that is in force.
        previous: the one before it; None if there was none.
    """

    source: str
    prefix: str
    snapshot: str
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at an entry has found.

    Attributes:
        folder: of the files; None if the entry is absent.
        manifest: of the files; None if it is absent or damaged itself.
        faults: what is wrong with it, a sentence each.
        previous: whether there is an earlier content to go back to.
    """

    folder: Path | None = None
    manifest: Manifest | None = None
    faults: tuple[str, ...] = ()
    previous: bool = False

    @property
    def good(self) -> bool:
        """Whether the files can be used."""
        return self.folder is not None and not self.faults


class Entry:
    """The place of one prefix of one source."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def look(self, *, thorough: bool = False) -> Found:
        """See what is there; ``thorough`` reads every byte."""
        pointer = self._pointer()
        if pointer is None:
            damaged = (f"{CURRENT} cannot be read",) if (self.folder / CURRENT).exists() else ()
            return Found(faults=damaged)
        place = self._place(pointer.snapshot)
        previous = bool(pointer.previous and self._place(pointer.previous).is_dir())
        try:
            manifest = Manifest.read(place / _MANIFEST)
        except (OSError, ValueError) as error:
            return Found(place / _FILES, None, (f"its manifest cannot be read ({error})",), previous)
        wrong = tuple(str(fault) for fault in faults(manifest, place / _FILES, thorough=thorough))
        return Found(place / _FILES, manifest, wrong, previous)

    def belongs_to(self) -> tuple[str, str] | None:
        """Source and prefix, also of a damaged entry; None if nothing tells any more."""
        pointer = self._pointer()
        if pointer is not None:
            return pointer.source, pointer.prefix
        for path in sorted(self.folder.glob(f"@*/{_MANIFEST}")):
            with suppress(OSError, ValueError):
                manifest = Manifest.read(path)
                return manifest.source, manifest.prefix
        return None

    # The rest needs the lock.

    def demote(self) -> None:
        """Make a damaged entry absent; what is whole of it stays for the next download."""
        pointer = self._pointer()
        (self.folder / CURRENT).unlink(missing_ok=True)
        if pointer is None:
            return
        place = self._place(pointer.snapshot)
        with suppress(OSError, ValueError):
            manifest = Manifest.read(place / _MANIFEST)
            bad = {fault.path for fault in faults(manifest, place / _FILES, thorough=True)}
            good = [record for record in manifest.files if record.path not in bad]
            shutil.rmtree(self.work, ignore_errors=True)
            place.rename(self.work)
            (self.work / _MANIFEST).unlink()
            self.note(good)
            return
        shutil.rmtree(place, ignore_errors=True)

    def seed(self, found: Found, unchanged: Iterable[FileRecord]) -> None:
        """Let a download begin with files that are here already."""
        known = {record.path: record for record in self.done()}
        for record in unchanged:
            target = self.work / _FILES / record.path
            if found.folder is None or record.path in known:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            try:
                os.link(found.folder / record.path, target)  # files are replaced, never written into
            except OSError:
                shutil.copy2(found.folder / record.path, target)
            known[record.path] = record
        self.note(known.values())

    @property
    def work(self) -> Path:
        """Where a download collects its files."""
        return self.folder / _WORK

    @property
    def files(self) -> Path:
        """Where a download puts the files that are complete."""
        return self.work / _FILES

    @property
    def parts(self) -> Path:
        """Where a download puts the files that are not."""
        return self.work / _PARTS

    def done(self) -> list[FileRecord]:
        """The files that a download has completed, as far as they are still as they were."""
        try:
            listed = [FileRecord(**record) for record in json.loads((self.work / _DONE).read_text("utf-8"))]
        except (OSError, ValueError, TypeError):
            return []
        return [record for record in listed if not any(faults(_manifest_of(record), self.files, thorough=False))]

    def note(self, records: Iterable[FileRecord]) -> None:
        """Write down which files a download has completed."""
        self.work.mkdir(parents=True, exist_ok=True)
        write_whole(self.work / _DONE, json.dumps([asdict(record) for record in records], ensure_ascii=False))

    def publish(self, manifest: Manifest) -> Path:
        """Put the files of a download, which are complete, in force."""
        place, old = self._place(manifest.snapshot), self._pointer()
        if place.is_dir() and not any(faults(manifest, place / _FILES, thorough=True)):
            manifest.write(place / _MANIFEST)  # the same content, seen at another revision
            shutil.rmtree(self.work)
        else:
            manifest.write(self.work / _MANIFEST)
            shutil.rmtree(self.parts, ignore_errors=True)
            (self.work / _DONE).unlink(missing_ok=True)
            shutil.rmtree(place, ignore_errors=True)
            self.work.rename(place)
            sync_folder(self.folder)
        previous = None
        if old is not None:
            previous = old.previous if old.snapshot == manifest.snapshot else old.snapshot
        self._point(Pointer(manifest.source, manifest.prefix, manifest.snapshot, previous))
        return place / _FILES

    def restate(self, manifest: Manifest) -> None:
        """Replace the manifest of the content that is in force."""
        manifest.write(self._place(manifest.snapshot) / _MANIFEST)

    def go_back(self) -> Manifest | None:
        """Put the content before the present one in force; None if there is none."""
        pointer = self._pointer()
        if pointer is None or pointer.previous is None:
            return None
        place = self._place(pointer.previous)
        try:
            manifest = Manifest.read(place / _MANIFEST)
        except (OSError, ValueError):
            return None
        if any(faults(manifest, place / _FILES, thorough=True)):
            return None
        self._point(replace(pointer, snapshot=pointer.previous, previous=pointer.snapshot))
        return manifest

    def remove(self) -> int:
        """Delete everything; returns the bytes that were freed."""
        size = sum(path.lstat().st_size for path in self.folder.rglob("*") if not path.is_dir())
        (self.folder / CURRENT).unlink(missing_ok=True)
        for path in self.folder.glob("@*"):
            shutil.rmtree(path)
        return size

    def _point(self, pointer: Pointer) -> None:
        write_whole(self.folder / CURRENT, json.dumps(asdict(pointer)))
        kept = {CURRENT, _WORK, f"@{pointer.snapshot}", f"@{pointer.previous}"}
        for path in self.folder.glob("@*"):
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _pointer(self) -> Pointer | None:
        try:
            pointer = Pointer(**json.loads((self.folder / CURRENT).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        named = (pointer.snapshot, pointer.previous or "0")
        return pointer if all(str(name).isalnum() for name in named) else None

    def _place(self, snapshot: str) -> Path:
        return self.folder / f"@{snapshot}"


def _manifest_of(record: FileRecord) -> Manifest:
    return Manifest("", "", "", "", 0, (record,))
