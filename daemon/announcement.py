"""One thing to say, with everything that was asked about how to say it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from types import MappingProxyType
from typing import Any


class Priority(IntEnum):
    """Which announcement goes first."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3

    @classmethod
    def named(cls, name: str) -> Priority:
        """The priority of that name, in any case."""
        return cls[name.upper()]


def new_id() -> str:
    """An id for an announcement whose sender gave none."""
    return secrets.token_hex(6)


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a message, a schedule entry or the command line wants to be said.

    Attributes:
        id: unique; the sender's own, where it gave one.
        text: as it was sent.
        origin: "mqtt", "schedule" or "cli".
        received: wall clock.
        received_at: monotonic clock, for timings.
        priority: decides the order, and with ``interrupt`` whether it cuts in.
        interrupt: cut in on whatever has a lower priority.
        speaker: name of a speaker, or None for the default.
        options: speech options (see ``engine.SpeechOptions``).
        volume: 0 to 100 instead of the node's volume, or None.
        chime: sound before the speech, or None.
        end_chime: sound after the speech, or None.
        expires: moment of the wall clock after which it is too old to be said, or None.
        max_wait: seconds on the monotonic clock that it may wait, or None; a clock that steps does not matter.
        repeat: how often the text is said, 1 or more.
        dedupe: seconds within which the same text is not said again; 0 turns that off.
    """

    id: str
    text: str
    origin: str
    received: datetime
    received_at: float
    priority: Priority = Priority.NORMAL
    interrupt: bool = False
    speaker: str | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    volume: int | None = None
    chime: str | None = None
    end_chime: str | None = None
    expires: datetime | None = None
    max_wait: float | None = None
    repeat: int = 1
    dedupe: float = 0.0

    def expired(self, now: datetime, monotonic: float) -> bool:
        """Whether it is too old to be said."""
        if self.expires is not None and now >= self.expires:
            return True
        return self.max_wait is not None and monotonic - self.received_at > self.max_wait
