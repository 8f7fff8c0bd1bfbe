"""Quiet hours: pure functions from ranges of local time and a moment to what is said, deferred, dropped or softened.

A range belongs to the day on which it begins: one from 22:30 to 06:30 on Fridays ends on Saturday morning. Its ends are
local times on the calendar's days, so that a night in which clocks change is an hour shorter or longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from enum import StrEnum

from daemon.announcement import Announcement, Priority
from daemon.schedule.calendar import Calendar
from daemon.schedule.days import EVERY_DAY, Days
from daemon.schedule.planner import local_moment

_DAY = timedelta(days=1)
_LOOK_AHEAD = 8  # days

ALWAYS_SAID = frozenset({"alarm", "quiet"})
"""Origins that quiet hours do not touch: alarms, and what the quiet hours themselves have to say."""


class Action(StrEnum):
    """What happens to an announcement."""

    SAY = "say"
    DROP = "drop"
    DEFER = "defer"
    SOFTEN = "soften"


class Mode(StrEnum):
    """Whether it is quiet by the clock, or by somebody's word until the next."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of local time on some days; it ends on the next day where ``end`` is not after ``start``."""

    start: time
    end: time
    days: Days = EVERY_DAY


@dataclass(frozen=True, slots=True)
class QuietRange:
    """What happens within a span.

    Attributes:
        span: when.
        action: to announcements.
        below: those of a lower priority than this are meant.
        volume: with ``SOFTEN``: the loudest, 0 to 100.
    """

    span: Span
    action: Action
    below: Priority
    volume: int | None = None


@dataclass(frozen=True, slots=True)
class VolumeRange:
    """The volume of the node within a span, 0 to 100."""

    span: Span
    volume: int


@dataclass(frozen=True, slots=True)
class QuietPlan:
    """What the configuration says.

    Attributes:
        calendar: of the local times and days.
        ranges: quiet hours; the first that applies decides.
        volumes: of the node by time of day; the first that holds decides.
        summary: is said before what was deferred, with ``{count}`` for the number; empty for none.
        chime: before the summary, or None.
        limit: so many are held back; one more is dropped.
    """

    calendar: Calendar
    ranges: tuple[QuietRange, ...] = ()
    volumes: tuple[VolumeRange, ...] = ()
    summary: str = ""
    chime: str | None = None
    limit: int = 50

    @property
    def spans(self) -> list[Span]:
        """All stretches of time that change something."""
        return [item.span for item in self.ranges] + [item.span for item in self.volumes]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to an announcement now.

    Attributes:
        action: with it.
        until: when the range ends that decided, or None when nobody knows.
        volume: with ``SOFTEN``: the loudest, 0 to 100.
    """

    action: Action
    until: datetime | None = None
    volume: int | None = None


SAY = Verdict(Action.SAY)
BY_HAND = QuietRange(Span(time(), time()), Action.DEFER, Priority.HIGH)
"""What holds when somebody asks for quiet and no hours are configured."""


def current_end(span: Span, now: datetime, calendar: Calendar) -> datetime | None:
    """When the span ends that a moment lies in (in UTC); None outside of it."""
    ends = [end for begin, end in _stretches(span, now, calendar, range(-2, 1)) if begin <= now < end]
    return max(ends, default=None)


def next_boundary(spans: Sequence[Span], now: datetime, calendar: Calendar) -> datetime | None:
    """The first begin or end of any of the spans after a moment, within about a week."""
    moments = (
        moment
        for span in spans
        for stretch in _stretches(span, now, calendar, range(-2, _LOOK_AHEAD))
        for moment in stretch
    )
    return min((moment for moment in moments if moment > now), default=None)


def judge(
    announcement: Announcement, ranges: Sequence[QuietRange], mode: Mode, now: datetime, calendar: Calendar
) -> Verdict:
    """What happens to an announcement: the first range decides that holds now and means its priority."""
    if announcement.priority >= Priority.ALARM or announcement.origin in ALWAYS_SAID:
        return SAY
    for item, until in active(ranges, mode, now, calendar):
        if announcement.priority < item.below:
            return Verdict(item.action, until, item.volume)
    return SAY


def active(
    ranges: Sequence[QuietRange], mode: Mode, now: datetime, calendar: Calendar
) -> list[tuple[QuietRange, datetime | None]]:
    """The ranges that hold now, each with its local end; asked for by hand, all of them, without an end."""
    if mode is Mode.OFF:
        return []
    if mode is Mode.ON:
        return [(item, None) for item in ranges or (BY_HAND,)]
    ends = [(item, current_end(item.span, now, calendar)) for item in ranges]
    return [(item, end.astimezone(calendar.zone)) for item, end in ends if end is not None]


def volume_at(ranges: Sequence[VolumeRange], now: datetime, calendar: Calendar) -> int | None:
    """The volume of the first range that holds; None when none does."""
    return next((item.volume for item in ranges if current_end(item.span, now, calendar) is not None), None)


def softened(announcement: Announcement, verdict: Verdict) -> Announcement:
    """The announcement as it is said: no louder than the verdict allows."""
    if verdict.action is not Action.SOFTEN or verdict.volume is None:
        return announcement
    return replace(announcement, loudest=verdict.volume)


def _stretches(span: Span, now: datetime, calendar: Calendar, days: range) -> Iterator[tuple[datetime, datetime]]:
    """Begin and end of a span, in UTC, on days around today."""
    today = now.astimezone(calendar.zone).date()
    for offset in days:
        day = today + offset * _DAY
        if span.days.holds(day, calendar):
            last = day if span.end > span.start else day + _DAY
            yield local_moment(day, span.start, calendar.zone), local_moment(last, span.end, calendar.zone)
