"""What a language brings along: the filters with which templates say times, numbers and lists as they are spoken."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Protocol

Number = int | float
Moment = datetime | time | str
"""A time of day: a moment (its zone is taken as it is), a time, or text such as ``07:30``."""
Day = date | datetime | str
"""A day, also as text such as ``2026-12-01``."""
Span = timedelta | int | float
"""A length of time; a number is seconds."""


class LanguagePack(Protocol):
    """The filters of a language; each method but ``stale`` is a filter under its own name: ``{{ due | time }}``.

    All raise ValueError with one sentence for a value that is not what they say.

    Attributes:
        language: its code, such as ``ja``.
        between: what stands between two lines of a template, or two texts: nothing in Japanese, a space in English.
    """

    language: str
    between: str

    def time(self, value: Moment, *, half: bool = True, part: bool = True) -> str:
        """A time of day: 「午前7時半」; without ``part`` 「7時半」; without ``half`` 「午前7時30分」."""

    def date(self, value: Day, *, year: bool = False) -> str:
        """A day of the year: 「12月1日」, with ``year`` 「2026年12月1日」."""

    def day(self, value: Day, due: datetime) -> str:
        """A day as seen from ``due``: 「今日」「明日」「あさって」, 「木曜日」 within a week, then 「12月24日」."""

    def weekday(self, value: Day) -> str:
        """「火曜日」."""

    def wareki(self, value: Day) -> str:
        """The year of the era: 「令和8年」; in other languages the year."""

    def number(self, value: Number, digits: int = 1) -> str:
        """A number with at most so many decimal places, its sign as it is spoken: 「マイナス1.5」."""

    def temperature(self, value: Number, digits: int = 0) -> str:
        """In degrees Celsius: 「マイナス2度」."""

    def count(self, value: Number, unit: str) -> str:
        """A number with a counter or unit of the language: 「3件」「1人」「10本」, "2 items"."""

    def listed(self, values: Iterable[object], limit: int = 0) -> str:
        """「A」, 「AとB」, 「A、B、それにC」; with a ``limit`` 「A、B、ほか3件」."""

    def duration(self, value: Span) -> str:
        """「1時間30分」「2日」; to the minute from an hour on, to the second below a minute."""

    def ago(self, value: Span) -> str:
        """「1時間前」, rounded as one would say it."""

    def compared(
        self,
        value: Number,
        other: Number,
        than: str | None = None,
        unit: str | None = None,
        more: str | None = None,
        less: str | None = None,
        digits: int = 0,
    ) -> str:
        """How a value differs from another: 「昨日より3度高い」「昨日と同じ」, which are the defaults."""

    def stale(self, age: timedelta) -> str:
        """The sentence before data that are old: 「1時間前の情報です。」 Not a filter."""


FILTERS = (
    "time",
    "date",
    "day",
    "weekday",
    "wareki",
    "number",
    "temperature",
    "count",
    "listed",
    "duration",
    "ago",
    "compared",
)
"""The methods that are filters."""
