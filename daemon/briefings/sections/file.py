"""A text that something else leaves in a file."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.words.plain import plain
from daemon.briefings.words.template import TemplateText
from daemon.config.base import Model
from daemon.config.values import Duration
from daemon.errors import SectionError

LIMIT = 64_000
"""Bytes of a file; a larger one is no text to be told."""
MAX_TEXT = 2_000
"""Characters that are told."""


class FileSettings(Model):
    """The text of a file."""

    path: str = Field(min_length=1, description="absolute path, or one that begins with ~")
    newer_than: Duration | None = Field(default=None, gt=0, description="a file that is older has nothing to say")
    lines: int | None = Field(default=None, ge=1, le=1000, description="only so many lines, from the first")
    text: TemplateText | None = Field(default=None, description="Jinja template over `content` and `lines`")

    @field_validator("path")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if not Path(value).expanduser().is_absolute():
            message = f"an absolute path is expected, got {value!r}"
            raise ValueError(message)
        return value


class FileSection:
    """A file that is missing or empty has nothing to say; one that cannot be read is a failure."""

    def __init__(self, settings: FileSettings) -> None:
        self._settings = settings
        self.template: str | None = settings.text

    async def fetch(self, surroundings: Surroundings) -> dict[str, Any] | None:
        """The text and the moment at which it was written."""
        del surroundings
        return await asyncio.to_thread(_read, Path(self._settings.path))

    def facts(self, data: dict[str, Any] | None, surroundings: Surroundings) -> Mapping[str, Any] | None:
        """``content``, ``lines``, and ``age`` where ``newer_than`` makes it matter."""
        if data is None:
            return None
        lines = [line for line in (plain(line) for line in str(data["text"]).splitlines()) if line]
        lines = lines[: self._settings.lines]
        if not lines:
            return None
        facts: dict[str, Any] = {"content": "\n".join(lines)[:MAX_TEXT], "lines": lines}
        if self._settings.newer_than is not None:
            age = max(timedelta(), surroundings.due - datetime.fromisoformat(data["written"]))
            if age.total_seconds() > self._settings.newer_than:
                return None
            facts["age"] = age
        return facts


def _read(configured: Path) -> dict[str, Any] | None:
    path = configured.expanduser()
    try:
        # Not blocking: a pipe in its place would wait for a writer for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise SectionError(message) from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            message = f"{path} is not a file"
            raise SectionError(message)
        body = _read_all(handle)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise SectionError(message) from None
    finally:
        os.close(handle)
    if len(body) > LIMIT:
        message = f"{path} is larger than {LIMIT:,} bytes"
        raise SectionError(message)
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        message = f"{path} is not UTF-8"
        raise SectionError(message) from None
    return {"text": text, "written": datetime.fromtimestamp(status.st_mtime, UTC).isoformat()}


KIND = BundledKind("file", FileSettings, FileSection, {"ja": "{{ content }}"})


def _read_all(handle: int) -> bytes:
    body = b""
    while len(body) <= LIMIT and (chunk := os.read(handle, LIMIT + 1 - len(body))):
        body += chunk
    return body
