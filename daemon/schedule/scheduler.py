"""Keeps the plan: what is due next, prepared before, said at its moment, reported when it was missed."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile

from daemon.clock import Clock
from daemon.schedule.calendar import Calendar
from daemon.schedule.planner import occurrences
from daemon.schedule.rules import Rule
from daemon.schedule.timers import Timers

_log = logging.getLogger("asagoe.schedule")

PREPARE_AHEAD = timedelta(minutes=5)
"""How long before it is due an occurrence is rendered."""
WAKE_AHEAD = timedelta(seconds=1.5)
"""How long before it is due the sound device is opened."""
STEP = 1.0
"""Seconds by which the wall clock must jump to count as a step."""
_EARLY = timedelta(seconds=0.2)
_REMEMBERED = 64
_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class Entry:
    """Something with a rule.

    Attributes:
        id: unique.
        rule: when it is due.
        grace: how late it may still happen.
        enabled: whether it happens at all.
    """

    id: str
    rule: Rule
    grace: timedelta
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One due moment of an entry."""

    entry: Entry
    due: datetime


@dataclass(frozen=True, slots=True)
class Missed:
    """An occurrence that was too late to happen.

    Attributes:
        occurrence: the first that was missed.
        lateness: seconds after its moment when it was noticed.
        count: how many were missed together.
    """

    occurrence: Occurrence
    lateness: float
    count: int


class Scheduler:
    """Waits for occurrences. All calls are on the event loop.

    Args:
        clock: the wall clock that rules speak of.
        timers: wait for its moments.
        calendar: the world that rules are planned in.
        on_prepare: called ``PREPARE_AHEAD`` before an occurrence, or at once when it is closer.
        on_wake: called ``WAKE_AHEAD`` before.
        on_due: called at the moment, or late within the grace.
        on_missed: called once for what was missed together.
        on_change: called when the plan changed.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        timers: Timers,
        calendar: Calendar,
        on_prepare: Callable[[Occurrence], None],
        on_wake: Callable[[], None],
        on_due: Callable[[Occurrence], None],
        on_missed: Callable[[Missed], None],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._timers = timers
        self._calendar = calendar
        self._on_prepare = on_prepare
        self._on_wake = on_wake
        self._on_due = on_due
        self._on_missed = on_missed
        self.on_change = on_change
        self._entries: dict[str, Entry] = {}
        self._planned: dict[str, datetime] = {}
        self._happened: dict[str, deque[datetime]] = {}
        self._reported: dict[str, deque[datetime]] = {}

    def replace(self, entries: Sequence[Entry], calendar: Calendar | None = None) -> None:
        """Take over a new set of entries, and a calendar; what happened already stays known by its id."""
        self._calendar = calendar or self._calendar
        for entry_id in self._entries:
            self._cancel(entry_id)
        self._entries = {entry.id: entry for entry in entries if entry.enabled}
        self._planned.clear()
        for entry in self._entries.values():
            self._plan(entry)
        self.on_change()

    def upcoming(self, count: int) -> list[Occurrence]:
        """The next occurrences, soonest first."""
        now = self._clock.now()
        return merged(list(self._entries.values()), now, self._calendar, count)

    @property
    def next(self) -> Occurrence | None:
        """What is due next."""
        if not self._planned:
            return None
        entry_id = min(self._planned, key=self._planned.__getitem__)
        return Occurrence(self._entries[entry_id], self._planned[entry_id])

    async def guard(self) -> None:
        """Watch the wall clock against the monotonic one, until cancelled; plan anew when it steps."""
        offset = self._clock_offset()
        while True:
            await self._clock.sleep(1.0)
            moved = self._clock_offset() - offset
            if abs(moved) > STEP:
                offset += moved
                _log.warning("the clock was set by %+.1f s; the schedule is planned anew", moved)
                self.clock_stepped()

    def clock_stepped(self) -> None:
        """Plan anew; what a forward step jumped over happens late or is reported as missed."""
        now = self._clock.now()
        for entry in list(self._entries.values()):
            planned = self._planned.get(entry.id)
            if planned is not None and planned <= now:
                self._due(entry, planned)
            else:
                self._plan(entry)
        self._timers.check()
        self.on_change()

    def _clock_offset(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()

    def _plan(self, entry: Entry) -> None:
        now = self._clock.now()
        happened = self._happened.get(entry.id, ())
        due = next((moment for moment in occurrences(entry.rule, now, self._calendar) if moment not in happened), None)
        self._cancel(entry.id)
        if due is None:
            self._planned.pop(entry.id, None)
            _log.info("%s is never due again", entry.id)
            return
        self._planned[entry.id] = due
        occurrence = Occurrence(entry, due)
        self._timers.at(f"prepare {entry.id}", due - PREPARE_AHEAD, lambda: self._on_prepare(occurrence))
        self._timers.at(f"wake {entry.id}", due - WAKE_AHEAD, self._on_wake)
        self._timers.at(f"due {entry.id}", due, lambda: self._due(entry, due))

    def _due(self, entry: Entry, due: datetime) -> None:
        if self._planned.get(entry.id) != due:
            return  # planned anew meanwhile
        now = self._clock.now()
        if now < due - _EARLY:  # the clock was set back after the timer was set
            self._plan(entry)
            return
        try:
            if now - due <= entry.grace:
                self._happened.setdefault(entry.id, deque(maxlen=_REMEMBERED)).append(due)
                self._on_due(Occurrence(entry, due))
            else:
                self._miss(entry, due, now)
        finally:
            self._plan(entry)
        self.on_change()

    def _miss(self, entry: Entry, due: datetime, now: datetime) -> None:
        """Report what was missed, once. It has not happened: when the clock is set back, it still may."""
        reported = self._reported.setdefault(entry.id, deque(maxlen=_REMEMBERED))
        if due in reported:
            return
        reported.append(due)
        later = occurrences(entry.rule, due, self._calendar)
        count = 1 + sum(1 for _ in takewhile(lambda moment: moment <= now, islice(later, _COUNTED)))
        self._on_missed(Missed(Occurrence(entry, due), (now - due).total_seconds(), count))

    def _cancel(self, entry_id: str) -> None:
        for purpose in ("prepare", "wake", "due"):
            self._timers.cancel(f"{purpose} {entry_id}")


def merged(entries: Sequence[Entry], after: datetime, calendar: Calendar, count: int) -> list[Occurrence]:
    """The next occurrences of several entries after a moment, soonest first."""
    found = [
        Occurrence(entry, due)
        for entry in entries
        if entry.enabled
        for due in islice(occurrences(entry.rule, after, calendar), count)
    ]
    return sorted(found, key=lambda occurrence: (occurrence.due, occurrence.entry.id))[:count]
