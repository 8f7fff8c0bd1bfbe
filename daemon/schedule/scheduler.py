"""Keeps the plan: what is due next, prepared before, handed over in time, reported when it was missed.

Three clocks can lie to it. A wall clock that steps (NTP, suspend, a hand) is noticed within a second by ``guard``, and
everything between is caught up with: what is late within its grace happens, the rest is reported, once. A clock that
was never set (a board without a battery begins in 1970) plans nothing until it is. A clock that is set back makes
nothing happen twice.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Protocol

from daemon.clock import Clock
from daemon.schedule.calendar import Calendar
from daemon.schedule.plan import NO_EXCEPTIONS, Exceptions, planned_ahead
from daemon.schedule.rules import Rule
from daemon.schedule.timers import Timers

_log = logging.getLogger("asagoe.schedule")

PREPARE_AHEAD = timedelta(minutes=5)
"""How long before it is due an occurrence is rendered."""
WAKE_AHEAD = timedelta(seconds=4)
"""How long before it is due the sound device is opened."""
HANDOVER = timedelta(seconds=1.5)
"""How long before it is due an occurrence is handed over, to begin at its very moment."""
STEP = 1.0
"""Seconds by which the wall clock must jump to count as a step."""
EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
"""A wall clock before this was never set."""
LOOK_BACK = timedelta(days=8)
"""What is longer ago is not looked for after a long absence."""
_EARLY = timedelta(seconds=0.2)
_NOTICE_GRACE = timedelta(minutes=1)
_REMEMBERED = 256
_COUNTED = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """Something with a rule.

    Attributes:
        id: unique.
        rule: when it is due.
        grace: how late it may still happen.
        exceptions: what keeps it from happening.
        notices: how long before it is due notice is given, each a callback of its own.
    """

    id: str
    rule: Rule
    grace: timedelta
    exceptions: Exceptions = NO_EXCEPTIONS
    notices: tuple[timedelta, ...] = ()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One due moment of an entry, in UTC."""

    entry: Entry
    due: datetime


@dataclass(frozen=True, slots=True)
class Missed:
    """Occurrences of an entry that were too late to happen, noticed together.

    Attributes:
        occurrence: the first of them.
        lateness: seconds after its moment when it was noticed.
        count: how many there were.
    """

    occurrence: Occurrence
    lateness: float
    count: int


class History(Protocol):
    """What happened, also before the last start."""

    def happened(self, entry_id: str, due: datetime) -> bool:
        """Whether an occurrence happened."""

    def add_happened(self, entry_id: str, due: datetime) -> None:
        """Note that an occurrence happens."""


class Forgetful:
    """A history of this run only."""

    def __init__(self) -> None:
        self._moments: set[tuple[str, datetime]] = set()

    def happened(self, entry_id: str, due: datetime) -> bool:
        """Whether an occurrence happened in this run."""
        return (entry_id, due) in self._moments

    def add_happened(self, entry_id: str, due: datetime) -> None:
        """Note that an occurrence happens."""
        self._moments.add((entry_id, due))


@dataclass(frozen=True, slots=True)
class Reactions:
    """What the scheduler calls, on the event loop.

    Attributes:
        prepare: ``PREPARE_AHEAD`` before an occurrence, or at once when it is closer.
        wake: ``WAKE_AHEAD`` before.
        due: ``HANDOVER`` before its moment, or late within its grace.
        missed: once for what was missed together.
        notice: so long before an occurrence as its entry asks.
        moved: the wall clock was set by so many seconds.
        changed: the plan changed.
    """

    prepare: Callable[[Occurrence], None]
    wake: Callable[[], None]
    due: Callable[[Occurrence], None]
    missed: Callable[[Missed], None]
    notice: Callable[[Occurrence, timedelta], None] = lambda _occurrence, _ahead: None
    moved: Callable[[float], None] = lambda _seconds: None
    changed: Callable[[], None] = lambda: None


class Scheduler:
    """Waits for occurrences. All calls are on the event loop.

    Args:
        clock: the wall clock that rules speak of.
        timers: wait for its moments.
        calendar: the world that rules are planned in.
        reactions: what happens at these moments.
        history: what happened before.
        alive: when the service was last alive before this start: what was due since then is caught up with.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        timers: Timers,
        calendar: Calendar,
        reactions: Reactions,
        history: History | None = None,
        alive: datetime | None = None,
    ) -> None:
        self._clock = clock
        self._timers = timers
        self._calendar = calendar
        self._reactions = reactions
        self._history = history or Forgetful()
        self._entries: dict[str, Entry] = {}
        self._next: dict[str, datetime] = {}
        self._reported: dict[str, deque[datetime]] = {}
        self._started = clock.monotonic()
        # Up to this moment of the wall clock everything is known to have been looked after; None where neither the
        # clock nor an earlier run can tell.
        self._seen = alive
        if self.clock_is_set and (alive is None or alive > clock.now()):
            self._seen = clock.now()

    @property
    def clock_is_set(self) -> bool:
        """Whether the wall clock shows a time that can be true; else nothing is planned."""
        return self._clock.now() >= EPOCH

    def replace(self, entries: Sequence[Entry], calendar: Calendar | None = None) -> None:
        """Take over a new set of entries, and a calendar; what happened already stays known by its id.

        Entries that stay as they are keep their timers: two hundred alarms cost no more than the one that changes.
        """
        same_world = self._seen is not None and calendar in (None, self._calendar)
        self._calendar = calendar or self._calendar
        old = self._entries
        self._entries = {entry.id: old[entry.id] if old.get(entry.id) == entry else entry for entry in entries}
        if not same_world or not self.clock_is_set:
            self._forget_plan(old)
            self._catch_up()
            return
        stay = {entry_id for entry_id, entry in self._entries.items() if entry is old.get(entry_id)}
        self._forget_plan({entry_id: entry for entry_id, entry in old.items() if entry_id not in stay})
        now = self._clock.now()
        # What was looked after last stays as it is: a step that the guard has not seen yet concerns those that stay.
        for entry_id in [entry_id for entry_id in self._entries if entry_id not in stay]:
            self._look_after(self._entries[entry_id], now)
        self._reactions.changed()

    def upcoming(self, count: int) -> list[Occurrence]:
        """The next occurrences, soonest first."""
        if not self.clock_is_set:
            return []
        return merged(list(self._entries.values()), self._clock.now(), self._calendar, count, self._history)

    def next_of(self, entry_id: str) -> datetime | None:
        """When an entry is due next, in UTC."""
        return self._next.get(entry_id)

    @property
    def next(self) -> Occurrence | None:
        """What is due next."""
        if not self._next:
            return None
        entry_id = min(self._next, key=self._next.__getitem__)
        return Occurrence(self._entries[entry_id], self._next[entry_id])

    async def guard(self) -> None:
        """Watch the wall clock against the monotonic one, until cancelled; catch up when it steps."""
        offset = self._clock_offset()
        while True:
            await self._clock.sleep(1.0)
            moved = self._clock_offset() - offset
            if abs(moved) > STEP:
                offset += moved
                _log.warning("the clock was set by %+.1f s; the schedule is planned anew", moved)
                self._reactions.moved(moved)
                self.clock_stepped()
            elif self.clock_is_set:
                self._seen = self._clock.now()

    def clock_stepped(self) -> None:
        """Plan anew; what a forward step jumped over happens late or is reported as missed."""
        self._catch_up()
        self._timers.check()

    def _catch_up(self) -> None:
        """Look after everything since it was last looked after, and plan what comes."""
        now = self._clock.now()
        if not self.clock_is_set:
            _log.warning("the clock shows %s: it is not set; nothing is due until it is", f"{now:%Y-%m-%d %H:%M}")
            self._forget_plan(self._entries)
        else:
            since = self._seen
            if since is None:  # the clock was not set when the service started
                since = now - timedelta(seconds=self._clock.monotonic() - self._started)
            self._seen = now
            for entry in list(self._entries.values()):
                self._look_after(entry, now, since)
        self._reactions.changed()

    def _look_after(self, entry: Entry, now: datetime, since: datetime | None = None) -> None:
        """Catch up with what was due of an entry since it was last looked after, and plan what comes of it."""
        since = since or self._seen or now
        if since < now:
            self._look_back(entry, max(since, now - LOOK_BACK), now)
        self._plan(entry)

    def _look_back(self, entry: Entry, since: datetime, now: datetime) -> None:
        """Of what was due in between, the last that is within its grace happens; the rest is reported."""
        past = takewhile(lambda due: due <= now, self._due_moments(entry, since))
        moments = list(islice(past, _COUNTED + 1))
        late = next((due for due in reversed(moments) if now - due <= entry.grace), None)
        missed = [due for due in moments if due != late]
        if missed:
            self._miss(entry, missed, now)
        if late is not None:
            self._happen(entry, late)

    def _due_moments(self, entry: Entry, after: datetime) -> Iterator[datetime]:
        """The moments at which an entry really is due, strictly after another, that have not happened yet."""
        if not entry.exceptions.enabled:
            return
        for moment in planned_ahead(entry.rule, entry.exceptions, after, self._calendar):
            if moment.reason is None and not self._history.happened(entry.id, moment.due):
                yield moment.due

    def _clock_offset(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()

    def _plan(self, entry: Entry) -> None:
        now = self._clock.now()
        self._cancel(entry)
        due = next(self._due_moments(entry, now), None)
        if due is None:
            self._next.pop(entry.id, None)
            return
        self._next[entry.id] = due
        occurrence = Occurrence(entry, due)
        at = self._timers.at
        for ahead in entry.notices:
            if due - ahead > now - _NOTICE_GRACE:
                at(f"notice {ahead} {entry.id}", due - ahead, self._give_notice(occurrence, ahead))
        at(f"prepare {entry.id}", due - PREPARE_AHEAD, lambda: self._reactions.prepare(occurrence))
        at(f"wake {entry.id}", due - WAKE_AHEAD, self._reactions.wake)
        at(f"due {entry.id}", due - HANDOVER, lambda: self._due(entry, due))

    def _give_notice(self, occurrence: Occurrence, ahead: timedelta) -> Callable[[], None]:
        return lambda: self._reactions.notice(occurrence, ahead)

    def _due(self, entry: Entry, due: datetime) -> None:
        if self._next.get(entry.id) != due:
            return  # planned anew meanwhile
        now = self._clock.now()
        if now < due - HANDOVER - _EARLY:  # the clock was set back after the timer was set
            self._plan(entry)
            return
        try:
            if now - due <= entry.grace:
                self._happen(entry, due)
            else:  # the clock stepped, and the guard has not looked yet
                self._look_back(entry, due - timedelta(microseconds=1), now)
        finally:
            if self._entries.get(entry.id) is entry:
                self._plan(entry)
        self._reactions.changed()

    def _happen(self, entry: Entry, due: datetime) -> None:
        self._history.add_happened(entry.id, due)
        self._reactions.due(Occurrence(entry, due))

    def _miss(self, entry: Entry, moments: list[datetime], now: datetime) -> None:
        """Report what was missed, once. It has not happened: when the clock is set back, it still may."""
        reported = self._reported.setdefault(entry.id, deque(maxlen=_REMEMBERED))
        fresh = [due for due in moments if due not in reported]
        if fresh:
            reported.extend(fresh)
            first = Occurrence(entry, fresh[0])
            self._reactions.missed(Missed(first, (now - fresh[0]).total_seconds(), len(fresh)))

    def _forget_plan(self, entries: Mapping[str, Entry]) -> None:
        for entry in list(entries.values()):
            self._cancel(entry)
            self._next.pop(entry.id, None)

    def _cancel(self, entry: Entry) -> None:
        entry_id = entry.id
        for ahead in entry.notices:
            self._timers.cancel(f"notice {ahead} {entry_id}")
        for purpose in ("prepare", "wake", "due"):
            self._timers.cancel(f"{purpose} {entry_id}")


def merged(
    entries: Sequence[Entry], after: datetime, calendar: Calendar, count: int, history: History | None = None
) -> list[Occurrence]:
    """The next occurrences of several entries after a moment, soonest first; those that will really happen."""
    found = []
    for entry in entries:
        if not entry.exceptions.enabled:
            continue
        due = (
            moment.due
            for moment in planned_ahead(entry.rule, entry.exceptions, after, calendar)
            if moment.reason is None and not (history and history.happened(entry.id, moment.due))
        )
        found += [Occurrence(entry, moment) for moment in islice(due, count)]
    return sorted(found, key=lambda occurrence: (occurrence.due, occurrence.entry.id))[:count]
