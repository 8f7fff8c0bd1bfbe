"""The planner: pure functions from a rule and a moment to the next occurrence.

A rule speaks of local time. On the two days a year when clocks change, a rule still has one occurrence for each local
date and time: one that the spring gap swallows happens when the gap ends, one that autumn repeats happens the first
time. Cron rules whose hour is a wildcard follow elapsed time instead, as cron(8) does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from daemon.schedule.days import EVERY_DAY, Days

HORIZON = timedelta(days=366 * 9)
"""How far ahead an occurrence is looked for: 29 February can be eight years away."""


@dataclass(frozen=True, slots=True)
class TimesRule:
    """Times of day, on some days."""

    times: tuple[time, ...]
    days: Days = EVERY_DAY


@dataclass(frozen=True, slots=True)
class CronRule:
    """Five fields as in crontab(5)."""

    expression: str


Rule = TimesRule | CronRule


def check_cron(expression: str) -> None:
    """Refuse what is not a cron expression, or can never be due.

    Raises:
        ValueError: says what is wrong with it.
    """
    try:
        next(CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        message = f"five cron fields (minute hour day month weekday) are expected, got {expression!r}: {error}"
        raise ValueError(message) from error
    except StopIteration:
        message = f"the cron expression {expression!r} is never due"
        raise ValueError(message) from None


def next_occurrence(rule: Rule, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The first occurrence strictly after a moment, in UTC; None when there is none any more."""
    return next(occurrences(rule, after, zone), None)


def occurrences(rule: Rule, after: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """All occurrences strictly after a moment, in order, in UTC."""
    if isinstance(rule, CronRule):
        for due in CronSim(rule.expression, after.astimezone(zone)):
            if due - after > HORIZON:
                return
            yield due.astimezone(UTC)
        return
    start = after.astimezone(zone).date() - timedelta(days=1)
    end = min(start + HORIZON, rule.days.last or date.max)
    last = after
    day = start
    while day <= end:
        if day in rule.days:
            for due in sorted({local_moment(day, at, zone) for at in rule.times}):
                if due > last:
                    yield due
                    last = due
        day += timedelta(days=1)


def local_moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The UTC moment of a local date and time: the first when there are two, the gap's end when there is none."""
    local = datetime.combine(day, at, tzinfo=zone)
    moment = local.astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return moment
    # In a gap. Read with the offset after it, the time lies before the change; with the one before it, after.
    early, late = int(local.replace(fold=1).timestamp()), int(moment.timestamp())
    offset = moment.astimezone(zone).utcoffset()
    while late - early > 1:
        middle = (early + late) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset:
            late = middle
        else:
            early = middle
    return datetime.fromtimestamp(late, UTC)
