"""Rules as frozen values: when something is due. ``occurrences`` says what that means in moments."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from cronsim import CronSim, CronSimError

from daemon.schedule.calendar import Calendar
from daemon.schedule.days import EVERY_DAY, Days
from daemon.schedule.sun import SunTime

EVERY_HELP = "2 weeks, week, 3 days, 2週間 or 隔週"

_CRON_FIELDS = 5
_EVERY = re.compile(r"(?:every\s+)?(\d{1,4}|other)?\s*(days?|weeks?|日|週間?)(?:ごと|おき|毎)?")


@dataclass(frozen=True, slots=True)
class Every:
    """Every ``count`` days or weeks, counted from ``start``.

    Weeks run from Monday to Sunday; the one that holds ``start`` is the first that counts.
    """

    count: int
    unit: Literal["days", "weeks"]
    start: date

    def __contains__(self, day: date) -> bool:
        if self.unit == "days":
            return (day - self.start).days % self.count == 0
        monday = self.start.toordinal() - self.start.weekday()
        return (day.toordinal() - monday) // 7 % self.count == 0


@dataclass(frozen=True, slots=True)
class Rule:
    """When something is due: times of day on some days, or a cron expression.

    Attributes:
        times: of the local day, or by the sun; empty for a cron rule.
        days: on which the times hold.
        every: of these days only every second week, third day, ….
        first: the first local date; None has no beginning.
        last: the last local date; None has no end.
        cron: five fields as in crontab(5), instead of times, days and every.
        moment: in UTC: due then, once, whatever local clocks show; times and days then only show it to people.
    """

    times: tuple[time | SunTime, ...] = ()
    days: Days = EVERY_DAY
    every: Every | None = None
    first: date | None = None
    last: date | None = None
    cron: str | None = None
    moment: datetime | None = None

    def holds(self, day: date, calendar: Calendar) -> bool:
        """Whether the times hold on a local date; of no use for a cron rule."""
        return (
            (self.first is None or day >= self.first)
            and (self.last is None or day <= self.last)
            and (self.every is None or day in self.every)
            and self.days.holds(day, calendar)
        )

    @property
    def time_of_day(self) -> time | None:
        """The one time of day at which it is due; None where there are several, or it is the sun's or cron's."""
        only = self.times[0] if len(self.times) == 1 and self.cron is None else None
        return only if isinstance(only, time) else None

    @property
    def needs_place(self) -> bool:
        """Whether it depends on the sun."""
        return any(isinstance(at, SunTime) for at in self.times)

    @property
    def needs_holidays(self) -> bool:
        """Whether it depends on holidays."""
        return self.days.needs_holidays


def parse_every(text: object) -> tuple[int, Literal["days", "weeks"]]:
    """Read ``2 weeks``, ``3 days``, ``隔週`` and the like.

    Raises:
        ValueError: anything else.
    """
    folded = unicodedata.normalize("NFKC", text).strip().lower() if isinstance(text, str) else ""
    match = _EVERY.fullmatch({"隔週": "2 weeks", "毎週": "1 week", "隔日": "2 days"}.get(folded, folded))
    count = {None: 1, "other": 2}.get(match[1]) or int(match[1]) if match else 0
    if not match or not 1 <= count <= 1000:
        message = f"{EVERY_HELP} (1 to 1000) is expected, got {text!r}"
        raise ValueError(message)
    return count, "days" if match[2][0] in "d日" else "weeks"


def check_cron(expression: str) -> None:
    """Refuse what is not a cron expression, or can never be due.

    Raises:
        ValueError: says what is wrong with it.
    """
    message = f"five cron fields (minute hour day month weekday) are expected, got {expression!r}"
    if len(expression.split()) != _CRON_FIELDS:  # CronSim would take a sixth as seconds
        raise ValueError(message)
    try:
        next(CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        message = f"{message}: {error}"
        raise ValueError(message) from error
    except StopIteration:
        message = f"the cron expression {expression!r} is never due"
        raise ValueError(message) from None


def check_days(rule: Rule, calendar: Calendar) -> None:
    """Refuse a rule whose days do not come within nine years of its beginning, wherever today is.

    Raises:
        ValueError: says so.
    """
    if rule.cron is not None or rule.moment is not None:
        return
    bounds = rule.days.bounds
    start = max(filter(None, (rule.first, bounds and bounds[0])), default=date(2024, 1, 1))
    horizon = start + min(HORIZON, LAST - start)  # before the start, where that lies beyond the last date of all
    end = min(filter(None, (rule.last, bounds and bounds[1])), default=horizon)
    for number in range((min(end, horizon) - start).days + 1):
        if rule.holds(start + timedelta(days=number), calendar):
            return
    message = "no day in nine years fits all of days, every, from and until: it would never be due"
    raise ValueError(message)


HORIZON = timedelta(days=366 * 9)
"""How far ahead an occurrence is looked for: 29 February can be eight years away."""
LAST = date(9980, 12, 31)
"""Later dates are not planned: the machine's calendar ends with 9999."""
