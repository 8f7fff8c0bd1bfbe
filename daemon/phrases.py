"""The phrase cache: rendered speech on disk, bounded in size, checked when it is read.

An entry is one file: a checksum of all that follows, sample rate, length and pause, then 16-bit samples. It appears by
rename, so it is complete or absent; the entry that was used longest ago goes first.
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
import threading
import zlib
from pathlib import Path

import numpy as np

from engine import Audio, Spoken

_log = logging.getLogger("asagoe.phrases")
_MAGIC = b"ASGP0002"
_LEAD = struct.Struct("<8sI")  # magic, CRC-32 of the rest
_FACTS = struct.Struct("<IId")  # sample rate, samples, pause
_RATES = range(8_000, 192_001)
_LONGEST_PAUSE = 10.0
_SUFFIX = ".phrase"


class PhraseCache:
    """Speech by key. Safe to share between threads; two processes may share the folder.

    Args:
        folder: made when first needed.
        limit: bytes on disk; 0 turns the cache off.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._lock = threading.Lock()
        self._size: int | None = None
        self._complained = False

    def get(self, key: str) -> Spoken | None:
        """The speech of a key, or None; a damaged entry is removed."""
        if not self._limit:
            return None
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        spoken = _decoded(data)
        if spoken is None:
            _log.warning("the cached phrase %s is damaged; it is rendered again", path.name)
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            self._size = None
            return None
        with contextlib.suppress(OSError):  # a read-only cache still serves
            os.utime(path)  # used now: last to be evicted
        return spoken

    def put(self, key: str, spoken: Spoken) -> None:
        """Keep speech; a full or read-only disk is reported once and otherwise does not matter."""
        data = _encoded(spoken)
        if len(data) > self._limit:
            return
        path = self._path(key)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            if not self._complained:
                self._complained = True
                _log.warning(
                    "the phrase cache %s cannot be written (%s); going on without", self._folder, error.strerror
                )
            return
        self._complained = False
        self._bound(len(data))

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}{_SUFFIX}"

    def _bound(self, added: int) -> None:
        """Evict down to nine tenths of the limit when it is passed."""
        with self._lock:
            if self._size is not None:
                self._size += added
                if self._size <= self._limit:
                    return
            entries = sorted(_entries(self._folder))
            total = sum(size for _, size, _ in entries)
            if total > self._limit:
                for _, size, path in entries:
                    with contextlib.suppress(OSError):
                        path.unlink(missing_ok=True)
                    total -= size
                    if total <= self._limit * 0.9:
                        break
            self._size = total


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    found = []
    for path in folder.glob(f"*/*{_SUFFIX}"):
        try:
            status = path.stat()
        except OSError:  # evicted by another process meanwhile
            continue
        found.append((status.st_mtime, status.st_size, path))
    return found


def _encoded(spoken: Spoken) -> bytes:
    samples = spoken.audio.pcm16.tobytes()
    rest = _FACTS.pack(spoken.audio.sample_rate, len(samples) // 2, spoken.pause) + samples
    return _LEAD.pack(_MAGIC, zlib.crc32(rest)) + rest


def _decoded(data: bytes) -> Spoken | None:
    if len(data) < _LEAD.size + _FACTS.size:
        return None
    magic, checksum = _LEAD.unpack_from(data)
    rest = data[_LEAD.size :]
    if magic != _MAGIC or zlib.crc32(rest) != checksum:
        return None
    rate, count, pause = _FACTS.unpack_from(rest)
    body = rest[_FACTS.size :]
    if len(body) != 2 * count or rate not in _RATES or not 0 <= pause <= _LONGEST_PAUSE:
        return None
    return Spoken(Audio(np.frombuffer(body, "<i2").astype(np.float32) / 32767.0, rate), pause)
