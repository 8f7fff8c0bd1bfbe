"""The days on which a rule holds: names, ranges and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

DAYS_HELP = "mon … sun (also 月 … 日), ranges such as mon-fri, weekdays, weekends, daily, or dates such as 2026-12-24"

_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_KANJI = "月火水木金土日"
_GROUPS = {"weekdays": range(5), "weekends": range(5, 7), "daily": range(7), "everyday": range(7)}
_RANGE = re.compile(r"(\w+)-(\w+)")


@dataclass(frozen=True, slots=True)
class Days:
    """A set of days.

    Attributes:
        weekdays: 0 is Monday, 6 is Sunday.
        dates: single days besides the weekdays.
    """

    weekdays: frozenset[int]
    dates: frozenset[date] = frozenset()

    def __contains__(self, day: date) -> bool:
        return day.weekday() in self.weekdays or day in self.dates

    @property
    def last(self) -> date | None:
        """The last day, where there is one."""
        return max(self.dates) if self.dates and not self.weekdays else None


EVERY_DAY = Days(frozenset(range(7)))


def parse_days(words: Sequence[object]) -> Days:
    """Read a list of days.

    Raises:
        ValueError: a word that is no day; it is named.
    """
    weekdays: set[int] = set()
    dates: set[date] = set()
    for word in words:
        if not isinstance(word, str):
            message = f"{DAYS_HELP} are expected, got {word!r} (a number could mean two different weekdays)"
            raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into an error of the field
        closed = re.sub(r"\s*[-~〜～–]\s*", "-", word.strip())
        for part in re.split(r"[,、\s]+", closed):
            _add(part, weekdays, dates)
    return Days(frozenset(weekdays), frozenset(dates))


def _add(word: str, weekdays: set[int], dates: set[date]) -> None:
    group = _GROUPS.get(word.lower())
    single = _weekday(word)
    if group is not None:
        weekdays.update(group)
    elif single is not None:
        weekdays.add(single)
    elif re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}", word):
        dates.add(_date(word))
    else:
        weekdays.update(_range(word))


def _range(word: str) -> list[int]:
    match = _RANGE.fullmatch(word)
    first, last = (_weekday(match[1]), _weekday(match[2])) if match else (None, None)
    if first is None or last is None:
        message = f"{DAYS_HELP} are expected, got {word!r}"
        raise ValueError(message)
    return [(first + step) % 7 for step in range((last - first) % 7 + 1)]


def _weekday(word: str) -> int | None:
    name = word.lower().removesuffix("曜日").removesuffix("曜")
    if len(name) == 1 and name in _KANJI:
        return _KANJI.index(name)
    for names in (_NAMES, _LONG):
        if name in names:
            return names.index(name)
    return None


def _date(word: str) -> date:
    year, month, day = (int(part) for part in word.split("-"))
    try:
        return date(year, month, day)
    except ValueError as error:
        message = f"{word} is not a day of the calendar"
        raise ValueError(message) from error
