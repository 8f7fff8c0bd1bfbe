"""One thing to say, with everything that was asked about how to say it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daemon.playback import Piece


class Priority(IntEnum):
    """Which announcement goes first. ``ALARM`` is for alarms alone: no message and no configuration names it."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    ALARM = 3
    CRITICAL = 4

    @classmethod
    def named(cls, name: str) -> Priority:
        """The priority of that name, in any case."""
        return cls[name.upper()]


def new_id() -> str:
    """An id for an announcement whose sender gave none."""
    return secrets.token_hex(6)


@dataclass(frozen=True, slots=True)
class Fade:
    """A volume that rises: even steps on the perceptual scale of volumes.

    Attributes:
        begin: volume at first, 0 to 100.
        seconds: in which it rises to the announcement's volume.
        since: moment of the monotonic clock at which it begins to rise.
    """

    begin: int
    seconds: float
    since: float

    def volume(self, target: int, now: float) -> float:
        """The volume at a moment of the monotonic clock; ``target`` is where it ends, never below ``begin``."""
        if target <= self.begin or self.seconds <= 0:
            return target
        share = min(1.0, max(0.0, (now - self.since) / self.seconds))
        return self.begin + (target - self.begin) * share


@dataclass(frozen=True, slots=True)
class Clip:
    """Sound that is ready: nothing has to be rendered before it is heard.

    Attributes:
        pieces: in order; their indices count from 0.
        speaker: who speaks in it, or what else it is.
        sentences: how many sentences are in it.
        text: the words that are spoken in it; empty where nobody speaks.
    """

    pieces: tuple[Piece, ...]
    speaker: str
    sentences: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a message, a schedule entry or the command line wants to be said.

    Attributes:
        id: unique; the sender's own, where it gave one.
        text: as it was sent.
        origin: "mqtt", "schedule", "alarm", "briefing", "http" or "cli".
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
        default_wait: whether ``max_wait`` is the configuration's default, not a wish of the sender; it then begins when
            quiet hours let go of it.
        loudest: 0 to 100, no louder than this whatever else says, or None.
        repeat: how often the text is said, 1 or more.
        dedupe: seconds within which the same text is not said again; 0 turns that off.
        clip: its sound, where that is ready; the text is then only for people.
        start_at: moment of the monotonic clock at which its first sample is written, or None for at once. What it
            interrupts goes on until shortly before.
        fade: how its volume rises, or None.
        sections: the text section by section, where it has sections: one that was interrupted is said again from its
            beginning, and the next can be gone on with. ``text`` is all of it.
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
    clip: Clip | None = None
    start_at: float | None = None
    fade: Fade | None = None
    sections: tuple[str, ...] = ()
    default_wait: bool = False
    loudest: int | None = None

    def expired(self, now: datetime, monotonic: float) -> bool:
        """Whether it is too old to be said."""
        if self.expires is not None and now >= self.expires:
            return True
        return self.max_wait is not None and monotonic - self.received_at > self.max_wait
