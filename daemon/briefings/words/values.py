"""What the filters of all languages share: reading the values that templates hand them."""

from __future__ import annotations

import contextlib
import math
import re
from datetime import date, datetime, time, timedelta

from daemon.briefings.words.pack import Day, Moment, Number, Span

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?")
_LARGEST = 1e15


def as_time(value: Moment) -> time:
    """The time of day.

    Raises:
        ValueError: there is none in it.
    """
    if isinstance(value, datetime):
        return value.time()
    if isinstance(value, time):
        return value
    if isinstance(value, str):
        match = _CLOCK.fullmatch(value.strip())
        if match and int(match[1]) < 24 and int(match[2]) < 60:
            return time(int(match[1]), int(match[2]))
        try:
            return datetime.fromisoformat(value.strip()).time()
        except ValueError:
            pass
    message = f"a time such as 07:30 is expected, got {shown(value)}"
    raise ValueError(message)


def as_date(value: Day) -> date:
    """The day.

    Raises:
        ValueError: there is none in it.
    """
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip()).date()
        except ValueError:
            pass
    message = f"a day such as 2026-12-01 is expected, got {shown(value)}"
    raise ValueError(message)


def as_number(value: object) -> float:
    """A number, also from text.

    Raises:
        ValueError: it is none, or none that can be said.
    """
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        message = f"a number is expected, got {shown(value)}"
        raise ValueError(message)
    if abs(value) > _LARGEST:
        message = "the number is too large to be said"
        raise ValueError(message)
    return float(value)


def as_seconds(value: Span) -> float:
    """A length of time in seconds, never below 0.

    Raises:
        ValueError: it is none.
    """
    return max(0.0, value.total_seconds() if isinstance(value, timedelta) else as_number(value))


def rounded(value: Number, digits: int) -> str:
    """The magnitude with at most so many decimal places, halves away from zero; no exponent, no trailing zeros."""
    digits = max(0, min(6, int(digits)))
    scaled = math.floor(abs(as_number(value)) * 10**digits + 0.5 + 1e-9) / 10**digits
    text = f"{scaled:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_negative(value: Number, digits: int) -> bool:
    """Whether a minus is said: not for what rounds to zero."""
    return as_number(value) < 0 and float(rounded(value, digits)) > 0


def as_said(value: Number, digits: int) -> float:
    """A value rounded as it is said: differences are of what was heard (10 and 7 differ by 3)."""
    return (-1 if is_negative(value, digits) else 1) * float(rounded(value, digits))


def shown(value: object) -> str:
    """A value in an error: what it is, not all of it."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
