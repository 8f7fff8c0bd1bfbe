"""What was announced last: the text, what became of it, its timings, and the outline of its sound."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

import numpy as np

from daemon import events
from daemon.announcement import Announcement
from daemon.clock import Clock
from daemon.events import Event
from engine import Audio

REMEMBERED = 50
"""So many announcements are remembered; some 100 kB at most."""
LONGEST_TEXT = 400
"""Characters of a text that are remembered."""
POINTS = 200
"""Of an outline, at most."""

_STRETCH = 0.01
_ABOUT = frozenset(
    {events.ACCEPTED, events.QUEUED, events.STARTED, events.INTERRUPTED, events.DEFERRED, *events.TERMINAL}
)


class Outline:
    """The outline of a sound that grows: the peak of each stretch, in constant memory.

    Attributes:
        seconds: of the sound so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._stretch = _STRETCH
        self._peaks: list[int] = []

    def add(self, audio: Audio) -> None:
        """Go on with a sound of any sample rate."""
        if not audio.samples.size:
            return
        self.seconds += audio.duration
        width = max(1, round(self._stretch * audio.sample_rate))
        starts = np.arange(0, audio.samples.size, width)
        peaks = np.maximum.reduceat(np.abs(audio.samples), starts)
        self._peaks += np.rint(np.minimum(peaks, 1.0) * 100).astype(int).tolist()
        while len(self._peaks) > 2 * POINTS:
            self._peaks = _merged(self._peaks, 2)
            self._stretch *= 2

    @property
    def points(self) -> list[int]:
        """Peaks from 0 (silence) to 100 (full scale), evenly over the sound, at most ``POINTS`` of them."""
        return self._peaks[:] if len(self._peaks) <= POINTS else _merged(self._peaks, 2)


def _merged(peaks: list[int], count: int) -> list[int]:
    return [max(peaks[start : start + count]) for start in range(0, len(peaks), count)]


@dataclass(slots=True)
class _Entry:
    """One announcement; of an alarm, all rounds of one ring."""

    id: str
    at: datetime
    text: str = ""
    origin: str | None = None
    stage: str = events.ACCEPTED
    outcome: str | None = None
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    outline: Outline = field(default_factory=Outline)
    rounds: int = 1

    def as_json(self) -> dict[str, Any]:
        """Fit for JSON."""
        timings = ("rendered_ms", "first_sample_ms", "ended_ms", "sentences", "cached")
        return {
            "id": self.id,
            "at": self.at.isoformat(timespec="seconds"),
            "text": self.text,
            "origin": self.origin,
            "stage": self.stage,
            "outcome": self.outcome,
            "reason": self.reason,
            "speaker": self.facts.get("speaker"),
            "audible": self.facts.get("audible"),
            "timings": {name: self.facts.get(name) for name in timings},
            "seconds": round(self.outline.seconds, 2),
            "waveform": self.outline.points,
            "rounds": self.rounds,
        }


class History:
    """Remembers the last announcements. All calls are on the event loop.

    Args:
        clock: of their moments.
        size: so many are remembered.
    """

    def __init__(self, clock: Clock, size: int = REMEMBERED) -> None:
        self._clock = clock
        self._size = size
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def last(self, count: int) -> list[dict[str, Any]]:
        """The last announcements, the newest first, fit for JSON; without ``outcome`` while they are under way."""
        newest = list(reversed(self._entries.values()))[:count]
        return [entry.as_json() for entry in newest]

    def on_event(self, event: Event) -> None:
        """Take note of what happened to an announcement."""
        if event.type not in _ABOUT or event.id is None:
            return
        entry = self._entry(event.id)
        entry.stage = event.type
        if event.type == events.ACCEPTED:
            entry.text = str(event.details.get("text", ""))[:LONGEST_TEXT]
            entry.origin = event.details.get("origin")
        elif event.type in events.TERMINAL:
            entry.outcome, entry.reason, entry.facts = event.type, event.reason, event.details
        else:
            entry.reason = event.reason

    def on_sound(self, announcement: Announcement, audio: Audio) -> None:
        """Take note of sound that is handed to the player."""
        entry = self._entry(announcement.id)
        if not entry.text:  # it was accepted before a restart
            entry.text, entry.origin = announcement.text[:LONGEST_TEXT], announcement.origin
        if entry.rounds == 1:
            entry.outline.add(audio)

    def _entry(self, announcement_id: str) -> _Entry:
        name, number = _round_of(announcement_id)
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = _Entry(name, self._clock.now())
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
        entry.rounds = max(entry.rounds, number + 1)
        return entry


def _round_of(announcement_id: str) -> tuple[str, int]:
    """The ring of an alarm, and which of its rounds this is; of all else the id and 0."""
    ring, _, number = announcement_id.rpartition(".")
    if "@" in ring and "/" in ring and number.isdigit() and len(number) < 6:
        return ring, int(number)
    return announcement_id, 0
