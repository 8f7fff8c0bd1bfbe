"""The days on which a rule holds, as a frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

from daemon.schedule.calendar import Calendar
from daemon.schedule.dates import DateSpan, YearlySpan

_DAY = timedelta(days=1)
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Weekdays:
    """Days of the week; 0 is Monday, 6 is Sunday."""

    numbers: frozenset[int]

    def holds(self, day: date, calendar: Calendar) -> bool:
        """Whether a day is one of them."""
        del calendar
        return day.weekday() in self.numbers


@dataclass(frozen=True, slots=True)
class Nth:
    """The first, second, … or last of some weekdays in a month.

    Attributes:
        places: 1 to 5, and -1 for the last.
        numbers: 0 is Monday, 6 is Sunday.
    """

    places: frozenset[int]
    numbers: frozenset[int]

    def holds(self, day: date, calendar: Calendar) -> bool:
        """Whether a day is one of them."""
        del calendar
        if day.weekday() not in self.numbers:
            return False
        return (day.day - 1) // 7 + 1 in self.places or (-1 in self.places and (day + 7 * _DAY).month != day.month)


class Kind(Enum):
    """Days that holidays decide."""

    WORKDAYS = "workdays"
    HOLIDAYS = "holidays"
    HOLIDAY_EVE = "holiday_eve"

    def holds(self, day: date, calendar: Calendar) -> bool:
        """Whether a day is one of them."""
        if self is Kind.WORKDAYS:
            return day.weekday() < SATURDAY and not calendar.is_holiday(day)
        return calendar.is_holiday(day if self is Kind.HOLIDAYS else day + _DAY)


@dataclass(frozen=True, slots=True)
class OnDates:
    """Days of the calendar."""

    dates: DateSpan | YearlySpan

    def holds(self, day: date, calendar: Calendar) -> bool:
        """Whether a day is one of them."""
        del calendar
        return day in self.dates


Selector = Weekdays | Nth | Kind | OnDates


@dataclass(frozen=True, slots=True)
class Days:
    """A set of days: those that something includes and nothing excludes."""

    included: tuple[Selector, ...]
    excluded: tuple[Selector, ...] = ()

    def holds(self, day: date, calendar: Calendar) -> bool:
        """Whether a day is in the set."""
        # A loop, not any(): a rare rule asks for thousands of days.
        for selector in self.included:
            if selector.holds(day, calendar):
                break
        else:
            return False
        return not (self.excluded and any(selector.holds(day, calendar) for selector in self.excluded))

    @property
    def needs_holidays(self) -> bool:
        """Whether it depends on holidays."""
        return any(isinstance(selector, Kind) for selector in (*self.included, *self.excluded))

    @property
    def bounds(self) -> tuple[date, date] | None:
        """The first and the last day, where the set has ends."""
        spans = [item.dates for item in self.included if isinstance(item, OnDates) and isinstance(item.dates, DateSpan)]
        if len(spans) < len(self.included):
            return None
        return min(span.first for span in spans), max(span.last for span in spans)


EVERY_DAY = Days((Weekdays(frozenset(range(7))),))
