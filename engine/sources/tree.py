"""A remote tree through the cache: what is here is used without asking anybody, what is not is fetched once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.errors import CacheError, EngineError, SourceUnreachableError, VoiceNotAvailableError
from engine.sources.base import Listing, Progress, Remote, RemoteFile, Select, Step, everything, nothing
from engine.sources.download import Download
from engine.sources.entry import Entry, Found
from engine.sources.lock import exclusive
from engine.sources.manifest import FileRecord, Manifest
from engine.sources.paths import check_distinct, check_relative
from engine.sources.retry import DEFAULT_POLICY, Policy, retrying

FOLDER = "sources"
LOCKS = ".locks"

_PICKLES = (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth")


@dataclass(frozen=True, slots=True)
class Changes:
    """What an update would change, or has changed.

    Attributes:
        prefix: of the folder.
        old: revision that is here.
        new: revision at the source.
        added: paths, likewise the next two.
        changed: with another content.
        removed: no longer at the source.
        size: bytes to fetch.
    """

    prefix: str
    old: str
    new: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    size: int = 0

    @property
    def any(self) -> bool:
        """Whether the content differs; a new revision with the same content is no change."""
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a tree uses the cache and the network.

    Attributes:
        download: whether the network may be used.
        select: which files of a folder are needed.
        policy: of repetition.
        progress: told of every chunk.
    """

    download: bool = True
    select: Select = everything
    policy: Policy = DEFAULT_POLICY
    progress: Progress = nothing


class CachedTree:
    """A ``Source`` whose files are fetched into the cache.

    Args:
        remote: where from.
        cache: root of the cache.
        mirrors: asked in turn where ``remote`` fails; they hold the same tree.
        settings: how.
    """

    def __init__(
        self, remote: Remote, cache: Path, *, mirrors: Sequence[Remote] = (), settings: Settings | None = None
    ) -> None:
        self.remote = remote
        self._remotes = (remote, *mirrors)
        self._cache = cache / FOLDER
        self._settings = settings or Settings()

    def fetch(self, prefix: str) -> Path:
        """See ``Source``. Without one network call if it is here already.

        Raises:
            CacheError: the cache cannot be written to, or its disk is full.
            VoiceNotAvailableError: the source does not have it, or refuses.
            SourceUnreachableError: the source cannot be reached.
        """
        entry = self.entry(prefix)
        found = entry.look()
        if found.good and found.folder:
            return found.folder
        if not self._settings.download:
            state = f"is damaged ({found.faults[0]})" if found.faults else "has not been downloaded yet"
            message = f"{prefix} of {self.remote.uri} {state}; run: asagoe voices download"
            raise VoiceNotAvailableError(message)
        with self._locked(prefix):
            found = entry.look()
            if not (found.good and found.folder):
                if found.faults:
                    entry.demote()
                return self._fetched(prefix, entry)
            return found.folder

    def upload(self, prefix: str, folder: Path) -> str:
        """See ``Source``."""
        check_relative(prefix, str(folder))
        names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
        if not names:
            message = f"{folder} holds no files; name the folder whose files are to be published"
            raise VoiceNotAvailableError(message)
        pickles = [name for name in names if name.endswith(_PICKLES)]
        if pickles:
            message = f"{folder} holds {pickles[0]}, a pickle, which can run any code; take it away and publish again"
            raise VoiceNotAvailableError(message)
        return retrying(lambda: self.remote.upload(prefix, folder), self._settings.policy, self._waiting(prefix))

    def look(self, prefix: str, *, thorough: bool = False) -> Found:
        """What the cache has of it; ``thorough`` reads every byte."""
        return self.entry(prefix).look(thorough=thorough)

    def repair(self, prefix: str) -> Path:
        """Read every byte, and fetch again what is damaged.

        Raises:
            EngineError: as ``fetch``.
        """
        entry = self.entry(prefix)
        with self._locked(prefix):
            found = entry.look(thorough=True)
            if found.good and found.folder:
                return found.folder
            entry.demote()
            return self._fetched(prefix, entry)

    def changes(self, prefix: str) -> Changes:
        """What an update would change; asks the source.

        Raises:
            EngineError: as ``fetch``.
        """
        found = self._present(prefix)
        if self.remote.pinned:
            return Changes(prefix, found.revision, found.revision)
        _, listing, files = self._listed(prefix)
        return _compare(found, listing, files)

    def update(self, prefix: str) -> Changes:
        """Bring it to the newest revision of the source; the former content stays until the next update.

        Raises:
            EngineError: as ``fetch``; what is here stays in force.
        """
        entry = self.entry(prefix)
        with self._locked(prefix):
            old = self._present(prefix)
            if self.remote.pinned:
                return Changes(prefix, old.revision, old.revision)
            remote, listing, files = self._listed(prefix)
            changes = _compare(old, listing, files)
            if changes.any:
                digests = {file.path: file.digest for file in files}
                entry.seed(entry.look(), [file for file in old.files if digests.get(file.path) == file.digest])
                self._downloaded(remote, prefix, entry, listing, files)
            elif listing.revision != old.revision:
                entry.restate(old.at(listing.revision))
            return changes

    def undo(self, prefix: str) -> Manifest:
        """Put the content before the last update in force again; a second call goes forward again.

        Raises:
            VoiceNotAvailableError: there is none.
        """
        with self._locked(prefix):
            manifest = self.entry(prefix).go_back()
        if manifest is None:
            message = f"the cache has no earlier content of {prefix} of {self.remote.uri}"
            raise VoiceNotAvailableError(message)
        return manifest

    def remove(self, prefix: str) -> int:
        """Delete it from the cache; returns the bytes that were freed."""
        entry = self.entry(prefix)
        with self._locked(prefix):
            size = entry.remove()
        for folder in (entry.folder, *entry.folder.parents):
            if folder == self._cache or any(folder.iterdir()):
                break
            folder.rmdir()
        return size

    def entry(self, prefix: str) -> Entry:
        """The place of a prefix in the cache.

        Raises:
            VoiceNotAvailableError: the prefix would leave the cache.
        """
        return Entry(self._cache / self.remote.slug / check_relative(prefix, self.remote.uri))

    def _present(self, prefix: str) -> Manifest:
        found = self.look(prefix)
        if found.manifest is None or found.faults:
            state = f"is damaged ({found.faults[0]})" if found.faults else "is not in the cache"
            message = f"{prefix} of {self.remote.uri} {state}; run: asagoe voices download"
            raise VoiceNotAvailableError(message)
        return found.manifest

    def _fetched(self, prefix: str, entry: Entry) -> Path:
        remote, listing, files = self._listed(prefix)
        while True:
            try:
                return self._downloaded(remote, prefix, entry, listing, files)
            except CacheError:
                raise
            except (VoiceNotAvailableError, SourceUnreachableError) as error:
                others = self._remotes[self._remotes.index(remote) + 1 :]
                if not others:
                    raise
                remote, listing, files = self._listed(prefix, others, [error])

    def _downloaded(
        self, remote: Remote, prefix: str, entry: Entry, listing: Listing, files: Sequence[RemoteFile]
    ) -> Path:
        download = Download(remote, prefix, listing.revision, entry, self._settings.policy, self._settings.progress)
        records = download.run(files)
        return entry.publish(Manifest(self.remote.uri, remote.uri, prefix, listing.revision, int(time.time()), records))

    def _listed(
        self, prefix: str, remotes: Sequence[Remote] = (), before: Sequence[EngineError] = ()
    ) -> tuple[Remote, Listing, tuple[RemoteFile, ...]]:
        """The listing of the first remote that has one, and the files of it that are needed."""
        errors = list(before)
        for remote in remotes or self._remotes:
            try:
                listing = retrying(
                    lambda place=remote: place.listing(prefix),  # type: ignore[misc]
                    self._settings.policy,
                    self._waiting(prefix),
                )
                return remote, listing, self._needed(remote, prefix, listing)
            except (VoiceNotAvailableError, SourceUnreachableError) as error:
                errors.append(error)
        raise _summary(errors)

    def _needed(self, remote: Remote, prefix: str, listing: Listing) -> tuple[RemoteFile, ...]:
        what = f"{prefix} of {remote.uri}"
        if not listing.files:
            message = f"{what} is empty; check the name, and whether the credentials may list it"
            raise VoiceNotAvailableError(message)
        for file in listing.files:
            check_relative(file.path, what)
        check_distinct((file.path for file in listing.files), what)
        data = [file.path for file in listing.files if not file.path.endswith(_PICKLES)]
        if not data:
            message = f"{what} has only pickles ({listing.files[0].path}), which can run any code and are not fetched"
            raise VoiceNotAvailableError(message)
        wanted = set(self._settings.select(prefix, data))
        files = sorted((file for file in listing.files if file.path in wanted), key=lambda file: file.path)
        if not files:
            message = f"{what} has nothing that can be used; it has {', '.join(sorted(data)[:8])}"
            raise VoiceNotAvailableError(message)
        return tuple(files)

    def _waiting(self, prefix: str) -> Callable[[str], None]:
        def waiting(why: str) -> None:
            self._settings.progress(Step(self.remote.uri, prefix, "", 0, 0, why))

        return waiting

    @contextmanager
    def _locked(self, prefix: str) -> Iterator[None]:
        """The only one at work on a prefix, and what the disk refuses as an error that names the remedy."""
        waiting = self._waiting(prefix)
        lock = self._cache / LOCKS / f"{self.remote.slug}/{prefix}".replace("/", "-")
        try:
            with exclusive(lock, lambda: waiting("another process is at it")):
                yield
        except OSError as error:
            message = (
                f"the cache cannot be used ({error.filename or self._cache}: {error.strerror}); make it writable, "
                "or set ASAGOE_CACHE to another folder"
            )
            raise CacheError(message) from error


def _compare(old: Manifest, listing: Listing, files: Sequence[RemoteFile]) -> Changes:
    before = {record.path: record for record in old.files}
    after = {file.path: file for file in files}
    added = tuple(path for path in after if path not in before)
    changed = tuple(path for path, file in after.items() if path in before and _differs(before[path], file))
    removed = tuple(path for path in before if path not in after)
    size = sum(after[path].size for path in (*added, *changed))
    return Changes(old.prefix, old.revision, listing.revision, added, changed, removed, size)


def _differs(record: FileRecord, file: RemoteFile) -> bool:
    if file.digest.startswith("sha256:"):
        return file.digest != f"sha256:{record.sha256}"
    return file.digest != record.digest or file.size != record.size


def _summary(errors: Sequence[EngineError]) -> EngineError:
    """One error for all that were asked: transient if one of them may answer later."""
    if len(errors) == 1:
        return errors[0]
    message = "; ".join(str(error) for error in errors)
    if any(isinstance(error, SourceUnreachableError) for error in errors):
        return SourceUnreachableError(message)
    return VoiceNotAvailableError(message)
