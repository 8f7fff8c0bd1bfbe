"""The planner: pure functions from a rule and a moment to its occurrences.

A rule speaks of local time. It is due at the first moment at which the local clock shows that time or a later one. So
on the two days a year when clocks change it still has one occurrence for each local date and time: one that the spring
gap swallows happens when the gap ends, one that autumn repeats happens the first time. A date that a zone leaves out
(Samoa had no 30 December 2011) has none. Cron rules whose minute or hour is a wildcard follow elapsed time instead, as
cron(8) does. A rule of one exact moment is due then and asks no local clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from daemon.schedule.calendar import Calendar
from daemon.schedule.rules import HORIZON, LAST, Rule
from daemon.schedule.sun import SunTime, sun_moment

_DAY = timedelta(days=1)
_HELD = 2
"""Days that a moment by the sun waits for its elders: with an offset it can lie half a day outside its own date."""


def next_occurrence(rule: Rule, after: datetime, calendar: Calendar) -> datetime | None:
    """The first occurrence strictly after a moment, in UTC; None when there is none within nine years."""
    return next(occurrences(rule, after, calendar), None)


def occurrences(rule: Rule, after: datetime, calendar: Calendar) -> Iterator[datetime]:
    """All occurrences strictly after a moment, in order, in UTC, up to nine years ahead of the last."""
    last = after
    for due in _moments(rule, after, calendar):
        if due > last:
            yield due
            last = due


def _moments(rule: Rule, after: datetime, calendar: Calendar) -> Iterable[datetime]:
    """Moments in order; some at the beginning may lie before ``after``."""
    if rule.moment is not None:
        return (rule.moment,)
    return _of_times(rule, after, calendar) if rule.cron is None else _of_cron(rule, after, calendar.zone)


def _of_cron(rule: Rule, after: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Moments in order; some at the beginning may lie before ``after``."""
    expression = rule.cron or ""
    follows_elapsed_time = any(field.startswith("*") for field in expression.split()[:2])
    # A start without a zone gives the local times that the expression names, whatever the clocks do.
    start = after.astimezone(zone) if follows_elapsed_time else after.astimezone(zone).replace(tzinfo=None) - _DAY
    if rule.first is not None and start.date() < rule.first:  # CronSim looks strictly after its start
        start = datetime.combine(rule.first, time(), tzinfo=start.tzinfo) - timedelta(seconds=1)
    last = start
    for local in CronSim(expression, start):
        if local - last > HORIZON or (rule.last is not None and local.date() > rule.last):
            return
        last = local
        moment = local.astimezone(UTC) if follows_elapsed_time else _moment_of_wall(local, zone)
        if moment is not None:
            yield moment


def _of_times(rule: Rule, after: datetime, calendar: Calendar) -> Iterator[datetime]:
    """Moments in order; some at the beginning may lie before ``after``."""
    bounds = rule.days.bounds
    day = after.astimezone(calendar.zone).date() - _DAY
    day = max(filter(None, (day, rule.first, bounds and bounds[0])))
    end = min(filter(None, (rule.last, bounds and bounds[1])), default=LAST)
    end = min(end, LAST)
    held: list[tuple[datetime, int]] = []
    found = day
    number = day.toordinal()
    while number <= end.toordinal() and day - found <= HORIZON:
        day = date.fromordinal(number)
        if rule.holds(day, calendar):
            for moment in {_moment(day, at, calendar) for at in rule.times}:
                if moment is not None:
                    found = day
                    heapq.heappush(held, (moment, number))
        number += 1
        oldest = number - (_HELD if rule.needs_place else 0)
        while held and (not rule.needs_place or min(born for _, born in held) < oldest):
            yield heapq.heappop(held)[0]
    while held:
        yield heapq.heappop(held)[0]


def _moment(day: date, at: time | SunTime, calendar: Calendar) -> datetime | None:
    if isinstance(at, SunTime):
        return None if calendar.place is None else sun_moment(day, at, calendar.place, calendar.zone)
    return _moment_of_wall(datetime.combine(day, at), calendar.zone)


def _moment_of_wall(wall: datetime, zone: ZoneInfo) -> datetime | None:
    """The UTC moment of a local time; None on a date that the zone leaves out."""
    day = wall.date()
    moment = local_moment(day, wall.time(), zone)
    if moment.astimezone(zone).date() == day or local_moment(day, time(), zone).astimezone(zone).date() == day:
        return moment
    return None


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
