"""Which events of a calendar are worked out: not those that would keep a small machine busy for minutes.

dateutil follows a rule from its beginning, step by step, and one that never fits until the year 9999.
"""

from __future__ import annotations

import logging
import re
from datetime import date
from typing import Any

_TIMES = ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID")
_STEPS = {"HOURLY": 24.0, "DAILY": 1.0, "WEEKLY": 1 / 7, "MONTHLY": 1 / 30, "YEARLY": 1 / 365}  # of a rule in a day
_PICKING = ("BYYEARDAY", "BYWEEKNO", "BYSETPOS")
_LONGEST = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}  # days of months
_STEPS_OF_PICKY = 3_000  # what such a rule costs more, should it never fit
_MOST_STEPS_OF_ONE = 20_000  # a rule for every day of fifty years, or every hour of two
_MOST_STEPS = 200_000  # of all rules: some seconds
_log = logging.getLogger("asagoe.briefings")


def drop_unusable(calendar: Any, first: date, source: str) -> None:
    """Take out events that have ended, whose times cannot be read, or whose rules would take minutes to work out."""
    left = _MOST_STEPS
    for event in [part for part in calendar.subcomponents if part.name == "VEVENT"]:
        trouble, steps = _trouble(event, first)
        if trouble is None and steps > left:
            trouble = "the rules of the calendar repeat too often"
        if trouble is None and steps:
            left -= steps
        else:
            calendar.subcomponents.remove(event)
        if trouble:
            _log.warning("%s: an event is left out: %s", source, trouble)


def _trouble(event: Any, first: date) -> tuple[str | None, int]:
    """Why an event cannot be used, and in about how many steps its days are worked out; none when it has ended."""
    from icalendar import vBroken  # noqa: PLC0415 - see above

    values = {name: _listed(event.get(name)) for name in _TIMES}
    for name, found in values.items():
        if any(isinstance(value, vBroken) for value in found):
            return f"its {name} cannot be read", 0
    if not values["DTSTART"]:
        return "it has no beginning", 0
    begin = getattr(values["DTSTART"][0], "dt", first)
    dates = sum(len(getattr(value, "dts", ())) for name in ("RDATE", "EXDATE") for value in values[name])
    steps = 1 + 20 * dates
    for rule in values["RRULE"]:
        until = (rule.get("UNTIL") or [None])[0]
        if isinstance(until, date) and until.year < first.year - 1 and not values["RDATE"]:
            return None, 0
        steps += _steps(rule, 366 * max(1, first.year - begin.year + 1))
    # Nobody is told of what repeats by the minute.
    return ("its rule repeats too often" if steps > _MOST_STEPS_OF_ONE else None), steps


def _steps(rule: Any, days: int) -> int:
    """About how many steps dateutil takes to follow a rule for so many days."""
    frequency = str((rule.get("FREQ") or [""])[0]).upper()
    if _never_fits(rule, frequency):
        return _MOST_STEPS_OF_ONE + 1
    often = days * _STEPS.get(frequency, 24 * 60) / max(1, int((rule.get("INTERVAL") or [1])[0]))
    for part in ("BYHOUR", "BYMINUTE", "BYSECOND", *(("BYDAY",) if frequency == "WEEKLY" else ())):
        often *= max(1, len(rule.get(part) or ()))
    picky = any(part in rule for part in _PICKING) or any(
        re.match(r"[+-]?\d", str(day)) for day in rule.get("BYDAY") or ()
    )
    return 1 + int(often) + (_STEPS_OF_PICKY if picky else 0)


def _never_fits(rule: Any, frequency: str) -> bool:
    """Whether a rule has no day, as 30 February, or may have none: dateutil looks for one until the year 9999."""
    months = [int(str(month).rstrip("L")) for month in rule.get("BYMONTH") or range(1, 13)]
    days = [int(day) for day in rule.get("BYMONTHDAY") or [1]]
    lengths = [_LONGEST.get(month, 31) for month in months if 1 <= month <= 12]
    if not any(1 <= abs(day) <= length for day in days for length in lengths):
        return True
    return frequency not in {"MONTHLY", "YEARLY"} and any(part in rule for part in _PICKING)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
