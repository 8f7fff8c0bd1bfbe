"""English: the proof that another language can follow."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from daemon.briefings.words.pack import Day, Moment, Number, Span
from daemon.briefings.words.values import as_date, as_said, as_seconds, as_time, is_negative, rounded

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
_ALL_MONTHS = (*_MONTHS, "November", "December")
_NEAR = {-1: "yesterday", 0: "today", 1: "tomorrow"}


class English:
    """The language pack of English; see ``LanguagePack`` for what each filter does."""

    language = "en"
    between = " "

    def time(self, value: Moment, *, half: bool = True, part: bool = True) -> str:
        """As in "half past 7 in the morning"."""
        moment = as_time(value)
        hour, minute = moment.hour, moment.minute
        if part and (hour, minute) == (12, 0):
            return "noon"
        spoken = hour % 12 or 12
        clock = f"half past {spoken}" if half and minute == 30 else f"{spoken}:{minute:02d}" if minute else f"{spoken}"
        if not part:
            return clock if minute else f"{clock} o'clock"
        return f"{clock} in the {'morning' if hour < 12 else 'afternoon' if hour < 18 else 'evening'}"

    def date(self, value: Day, *, year: bool = False) -> str:
        """As in "December 1"."""
        day = as_date(value)
        return f"{_ALL_MONTHS[day.month - 1]} {day.day}{f', {day.year}' if year else ''}"

    def day(self, value: Day, due: datetime) -> str:
        """As in "tomorrow", "Thursday", "December 24"."""
        day = as_date(value)
        distance = (day - due.date()).days
        if distance in _NEAR:
            return _NEAR[distance]
        return self.weekday(day) if 0 < distance < 7 else self.date(day)

    def weekday(self, value: Day) -> str:
        """As in "Tuesday"."""
        return _WEEKDAYS[as_date(value).weekday()]

    def wareki(self, value: Day) -> str:
        """The year."""
        return str(as_date(value).year)

    def number(self, value: Number, digits: int = 1) -> str:
        """As in "minus 1.5"."""
        return f"{'minus ' if is_negative(value, digits) else ''}{rounded(value, digits)}"

    def temperature(self, value: Number, digits: int = 0) -> str:
        """As in "minus 2 degrees"."""
        return _plural(self.number(value, digits), "degree")

    def count(self, value: Number, unit: str) -> str:
        """As in "2 items"."""
        return _plural(self.number(value), unit)

    def listed(self, values: Iterable[object], limit: int = 0) -> str:
        """As in "A, B, and C"."""
        items = [str(value) for value in values]
        if limit and len(items) > limit:
            items = [*items[:limit], f"{len(items) - limit} more"]
        if len(items) <= 2:
            return " and ".join(items)
        return ", ".join(items[:-1]) + f", and {items[-1]}"

    def duration(self, value: Span) -> str:
        """As in "1 hour and 30 minutes"."""
        seconds = round(as_seconds(value))
        if seconds < 60:
            return _plural(str(seconds), "second")
        minutes = (seconds + 30) // 60
        parts = ((minutes // 1440, "day"), (minutes // 60 % 24, "hour"), (minutes % 60, "minute"))
        return self.listed(_plural(str(amount), unit) for amount, unit in parts if amount)

    def ago(self, value: Span) -> str:
        """As in "1 hour ago"."""
        seconds = as_seconds(value)
        for unit, length, limit in (("minute", 60, 3570), ("hour", 3600, 84600), ("day", 86400, 14 * 86400)):
            if seconds < limit:
                amount = int(seconds / length + 0.5)
                return f"{_plural(str(amount), unit)} ago" if amount else "a moment ago"
        return f"{_plural(str(int(seconds / (7 * 86400))), 'week')} ago"

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
        """As in "3 degrees warmer than yesterday"."""
        than = "yesterday" if than is None else than
        difference = as_said(value, digits) - as_said(other, digits)
        amount = rounded(difference, digits)
        if float(amount) == 0:
            return f"the same as {than}"
        word = (more or "warmer") if difference > 0 else (less or "colder")
        return f"{_plural(amount, 'degree' if unit is None else unit)} {word} than {than}"

    def stale(self, age: timedelta) -> str:
        """As in "This is from 1 hour ago."."""
        return f"This is from {self.ago(age)}."


def _plural(amount: str, unit: str) -> str:
    return f"{amount} {unit}" if amount in ("1", "minus 1") else f"{amount} {unit}s"
