"""Dates that a person writes down: one day, a range, or the same every year."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date

DATES_HELP = "2026-12-24, 12-24 (every year), 2026-12-28..2027-01-03 or 12-29..01-03"

_RANGE = re.compile(r"\s*(?:\.\.|~)\s*")
_DATE = re.compile(r"(?:(\d{4})(?:-|年))?(\d{1,2})(?:-|月)(\d{1,2})日?")


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Days from ``first`` to ``last``, both included."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last


@dataclass(frozen=True, slots=True)
class YearlySpan:
    """The same days every year, both included, each as (month, day); it may lie across the new year."""

    first: tuple[int, int]
    last: tuple[int, int]

    def __contains__(self, day: date) -> bool:
        place = (day.month, day.day)
        if self.first <= self.last:
            return self.first <= place <= self.last
        return place >= self.first or place <= self.last


Dates = DateSpan | YearlySpan


def parse_dates(text: str) -> Dates | None:
    """Read a date or a range of dates; None where the text has another form.

    Raises:
        ValueError: a day that the calendar does not have, or a range that runs backwards.
    """
    parts = _RANGE.split(unicodedata.normalize("NFKC", text).strip().replace("〜", "~"))
    matches = [_DATE.fullmatch(part) for part in parts]
    if len(parts) > 2 or not all(matches):
        return None
    dated = [(match[1], int(match[2]), int(match[3]), match[0]) for match in matches if match]
    if len({year is None for year, *_ in dated}) == 2:
        message = f"{text}: give both ends of the range with a year, or both without"
        raise ValueError(message)
    days = [_day(int(year or 2000), month, day, written) for year, month, day, written in dated]
    first, last = days[0], days[-1]
    if dated[0][0] is None:  # 2000 has a 29 February
        return YearlySpan((first.month, first.day), (last.month, last.day))
    if last < first:
        message = f"{text}: the range ends before it begins"
        raise ValueError(message)
    return DateSpan(first, last)


def parse_date(text: object) -> date:
    """Read one date with its year.

    Raises:
        ValueError: anything else.
    """
    if isinstance(text, date):
        return text
    span = parse_dates(text) if isinstance(text, str) else None
    if isinstance(span, DateSpan) and span.first == span.last:
        return span.first
    message = f"a date such as 2026-12-24 is expected, got {text!r}"
    raise ValueError(message)


def _day(year: int, month: int, day: int, written: str) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        message = f"{written} is not a day of the calendar"
        raise ValueError(message) from error
