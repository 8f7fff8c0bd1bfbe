"""A tree of voices on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from engine.errors import SourceUnreachableError, VoiceNotAvailableError
from engine.sources.base import Listing, RemoteFile
from engine.sources.paths import check_relative

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A tree on this machine, used in place; as a mirror it is copied from.

    Attributes:
        root: absolute path of the folder that has ``bert``, ``onnx`` or ``pytorch`` in it.
    """

    root: Path

    @property
    def uri(self) -> str:
        """See ``Remote``."""
        return self.root.as_uri()

    @property
    def slug(self) -> str:
        """See ``Remote``."""
        return "file/" + "/".join(part for part in self.root.parts[1:] if part not in {".", ".."})

    @property
    def pinned(self) -> bool:
        """See ``Remote``."""
        return False

    def fetch(self, prefix: str) -> Path:
        """See ``Source``."""
        folder = self.root / check_relative(prefix, str(self.root))
        if folder.is_dir():
            return folder
        raise VoiceNotAvailableError(self._missing(prefix))

    def listing(self, prefix: str) -> Listing:
        """See ``Remote``."""
        folder = self.fetch(prefix)
        files = []
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                state = path.stat()
                digest = f"stat:{state.st_size}-{state.st_mtime_ns}"
                files.append(RemoteFile(path.relative_to(folder).as_posix(), state.st_size, digest))
        return Listing("", tuple(files))

    @contextmanager
    def read(self, prefix: str, file: RemoteFile, revision: str, offset: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """See ``Remote``."""
        del revision
        path = self.root / prefix / file.path
        try:
            with path.open("rb") as stream:
                stream.seek(offset)
                yield offset, iter(lambda: stream.read(_CHUNK), b"")
        except FileNotFoundError as error:
            message = f"{path} has just gone"
            raise SourceUnreachableError(message) from error

    def upload(self, prefix: str, folder: Path) -> str:
        """See ``Source``; each file appears whole."""
        target = self.root / check_relative(prefix, str(self.root))
        try:
            for path in sorted(folder.rglob("*")):
                if not path.is_file():
                    continue
                place = target / path.relative_to(folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                temporary = place.with_name(f".{place.name}.{uuid4().hex}.part")
                try:
                    shutil.copyfile(path, temporary)
                    temporary.replace(place)
                finally:
                    temporary.unlink(missing_ok=True)
        except OSError as error:
            message = f"{target} cannot be written ({error.strerror})"
            raise VoiceNotAvailableError(message) from error
        return ""

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
