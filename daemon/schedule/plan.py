"""What of a rule really happens, and why the rest does not: switched off, skipped once, on vacation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from daemon.schedule.calendar import Calendar, Holidays
from daemon.schedule.planner import occurrences
from daemon.schedule.rules import Rule

DISABLED = "disabled"
SKIPPED = "skipped once"


@dataclass(frozen=True, slots=True)
class Vacation:
    """Local dates from ``first`` to ``last``, both included, on which nothing rings."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last


@dataclass(frozen=True, slots=True)
class Exceptions:
    """What keeps a rule from happening.

    Attributes:
        enabled: False keeps all of it.
        skipped: UTC due moments that are left out.
        vacation: of the house.
        ignores_vacation: this rule happens all the same.
    """

    enabled: bool = True
    skipped: frozenset[datetime] = frozenset()
    vacation: Vacation | None = None
    ignores_vacation: bool = False

    def reason(self, due: datetime, calendar: Calendar) -> str | None:
        """Why a due moment does not happen; None when it does."""
        if not self.enabled:
            return DISABLED
        return self.on_vacation(due, calendar) or (SKIPPED if due in self.skipped else None)

    def on_vacation(self, due: datetime, calendar: Calendar) -> str | None:
        """The reason of a due moment that lies in a vacation that matters here; None for all others."""
        vacation = None if self.ignores_vacation else self.vacation
        if vacation is not None and due.astimezone(calendar.zone).date() in vacation:
            return f"vacation until {vacation.last}"
        return None


_MOST_SILENCED = 200

NO_EXCEPTIONS = Exceptions()


@dataclass(frozen=True, slots=True)
class Planned:
    """One due moment, in UTC, and why it will not happen; ``reason`` is None when it will."""

    due: datetime
    reason: str | None = None


def planned(
    rule: Rule, exceptions: Exceptions, after: datetime, calendar: Calendar, *, most_silenced: int = 200
) -> Iterator[Planned]:
    """All occurrences of a rule strictly after a moment, in order, with what keeps each from happening.

    Of a vacation only the first ``most_silenced`` are given: one that lasts until it is switched off has no end.
    """
    away = None if exceptions.ignores_vacation or not exceptions.enabled else exceptions.vacation
    silenced = 0
    for due in occurrences(rule, after, calendar):
        yield Planned(due, exceptions.reason(due, calendar))
        silenced += away is not None and due.astimezone(calendar.zone).date() in away
        if silenced == most_silenced:
            break
    else:
        return
    assert away is not None  # noqa: S101
    if away.last < date.max:
        over = datetime.combine(away.last + timedelta(days=1), time(), tzinfo=calendar.zone).astimezone(UTC)
        yield from planned(rule, replace(exceptions, vacation=None), over - timedelta(microseconds=1), calendar)


def planned_ahead(rule: Rule, exceptions: Exceptions, after: datetime, calendar: Calendar) -> Iterator[Planned]:
    """As ``planned``, but of a vacation only the first moment: for whoever wants to know what happens next."""
    return planned(rule, exceptions, after, calendar, most_silenced=1)


def next_planned(rule: Rule, exceptions: Exceptions, after: datetime, calendar: Calendar) -> datetime | None:
    """The first moment after another that will really happen, in UTC; None when there is none."""
    if not exceptions.enabled:
        return None
    return next((item.due for item in planned_ahead(rule, exceptions, after, calendar) if item.reason is None), None)


def left_out(rule: Rule, after: datetime, until: datetime, calendar: Calendar) -> Iterator[Planned]:
    """What would be due between two moments if no day were a holiday, in order; the reason names the holiday."""
    if not rule.needs_holidays:
        return
    without = replace(calendar, holidays=Holidays())
    for due in occurrences(rule, after, without):
        if due >= until:
            return
        day = due.astimezone(calendar.zone).date()
        name = calendar.name_of(day)
        if name is not None and not rule.holds(day, calendar):
            yield Planned(due, f"holiday: {name}")
