"""What a file holds, as a hash that is computed once for each change of the file."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from engine.errors import VoiceNotAvailableError


def content_hash(path: Path, cache: Path) -> str:
    """SHA-256 of a graph and of its external weights, hexadecimal; remembered by path, size and time of change.

    Raises:
        VoiceNotAvailableError: the file cannot be read.
    """
    try:
        files = [path, *(file for file in (path.with_name(f"{path.name}.data"),) if file.exists())]
        state = [[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
        note = cache / "hashes" / f"{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:24]}.json"
        known = _remembered(note)
        if known.get("state") == state:
            return str(known["sha256"])
        digest = hashlib.sha256()
        for file in files:
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    except OSError as error:
        message = f"{path} cannot be read ({error}); fetch the voice again"
        raise VoiceNotAvailableError(message) from error
    _remember(note, {"state": state, "sha256": digest.hexdigest()})
    return digest.hexdigest()


def _remembered(note: Path) -> dict[str, object]:
    try:
        known = json.loads(note.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and "sha256" in known else {}


def _remember(note: Path, known: dict[str, object]) -> None:
    temporary = note.with_name(f".{note.name}.{uuid4().hex}.part")
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(known), "utf-8")
        temporary.replace(note)
    except OSError:  # a cache that cannot be written costs the hash at each start, nothing more
        with suppress(OSError):
            temporary.unlink()
