"""Last good values of sections, in the state folder: yesterday's data can be told, with their age, when a source fails.

An entry belongs to the settings of a section: a changed address never tells what came from the old one. Its file name
is a keyed digest of them, so that it gives away no secret that they hold. Files appear by rename and are readable by
the service alone; the folder is bounded, what was written longest ago goes first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from daemon.config.values import Secret

_log = logging.getLogger("asagoe.briefings")

MAX_ENTRY = 256_000
"""Bytes of an entry; larger data are not kept."""
MAX_ENTRIES = 200
_SUFFIX = ".json"
_KEY_FILE = "key"


@dataclass(frozen=True, slots=True)
class Kept:
    """Data that were good once.

    Attributes:
        data: as the section gave them.
        fetched: when.
        source: the hosts that they came from, or None.
    """

    data: Any
    fetched: datetime
    source: str | None = None


class LastGood:
    """Keeps data by the settings of their section. Safe to share between threads; two processes may share the folder.

    Args:
        folder: made when first needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._key: bytes | None = None
        self._complained = False

    def get(self, kind: str, settings: BaseModel) -> Kept | None:
        """What was kept, or None; a damaged entry is none."""
        try:
            raw = self._path(kind, settings).read_bytes()
            if len(raw) > 2 * MAX_ENTRY:
                return None
            entry = json.loads(raw)
            fetched = datetime.fromisoformat(entry["fetched"])
            return Kept(entry["data"], fetched, entry.get("source")) if fetched.tzinfo else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def put(self, kind: str, settings: BaseModel, kept: Kept) -> None:
        """Keep data; a full or read-only disk is reported once and otherwise does not matter.

        Raises:
            TypeError: the data are not fit for JSON: a defect of the section.
        """
        entry = {"kind": kind, "fetched": kept.fetched.isoformat(), "source": kept.source, "data": kept.data}
        try:
            body = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
        except (ValueError, RecursionError) as error:
            raise TypeError(str(error)) from error
        if len(body) > MAX_ENTRY:
            _log.warning("the data of a section %s are too large to be kept (%d bytes)", kind, len(body))
            return
        try:
            self._write(self._path(kind, settings), body)
            self._bound()
        except OSError as error:
            if not self._complained:
                self._complained = True
                _log.warning("last good values cannot be kept in %s: %s", self._folder, error.strerror)

    def _write(self, path: Path, body: bytes) -> None:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(body)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise

    def _path(self, kind: str, settings: BaseModel) -> Path:
        shape = json.dumps([kind, _revealed(settings)], ensure_ascii=True, sort_keys=True, default=str)
        digest = hashlib.blake2b(shape.encode(), key=self._secret_key(), digest_size=20)
        return self._folder / f"{digest.hexdigest()}{_SUFFIX}"

    def _secret_key(self) -> bytes:
        with self._lock:  # sections are gathered side by side: all must have the same
            if self._key is None:
                path = self._folder / _KEY_FILE
                self._key = _read_key(path) or self._made_key(path)
            return self._key

    def _made_key(self, path: Path) -> bytes:
        """A new key, or that of another process which was faster."""
        key = secrets.token_bytes(32)
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            made = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            self._write(made, key)
            try:
                os.link(made, path)  # unlike a renaming, it fails where there is one
            except OSError:  # there is one, or a file system that knows no links
                other = _read_key(path)
                if other is not None:
                    return other
                made.replace(path)  # what is there is damaged
            finally:
                made.unlink(missing_ok=True)
        return key

    def _bound(self) -> None:
        entries = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # another process was faster
                entries.append((path.stat().st_mtime, path))
        for _, path in sorted(entries)[: max(0, len(entries) - MAX_ENTRIES)]:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _read_key(path: Path) -> bytes | None:
    try:
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == 32 else None


def _revealed(value: Any) -> Any:
    """Settings as plain values, secrets included: another secret is another source."""
    if isinstance(value, Secret):
        try:
            return value.reveal()
        except ValueError:
            return str(value)
    if isinstance(value, BaseModel):
        return {key: _revealed(getattr(value, key)) for key in type(value).model_fields}
    if isinstance(value, dict):
        return {str(key): _revealed(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_revealed(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
