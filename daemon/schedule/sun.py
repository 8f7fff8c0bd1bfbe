"""Times of day that follow the sun."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from daemon.schedule.calendar import Place

MAX_OFFSET = timedelta(hours=12)
"""How far from the sun's moment a rule may lie."""


@dataclass(frozen=True, slots=True)
class SunTime:
    """Sunrise or sunset, some time before (negative) or after it."""

    event: Literal["sunrise", "sunset"]
    offset: timedelta = timedelta(0)

    def __str__(self) -> str:
        minutes = round(self.offset.total_seconds() / 60)
        return f"{self.event}{minutes:+d}m" if minutes else self.event


def sun_moment(day: date, at: SunTime, place: Place, zone: ZoneInfo) -> datetime | None:
    """The UTC moment, to the second, of the sun's event of a local date, with the offset; None without the event.

    Sunrise and sunset are when the sun's upper limb is seen at a flat horizon (``astral``: 50 arc minutes below).
    Beyond the polar circles there are days without them.
    """
    moment = _moment(day, at.event, place, zone)
    return None if moment is None else moment + at.offset


@lru_cache(maxsize=512)
def _moment(day: date, name: str, place: Place, zone: ZoneInfo) -> datetime | None:
    from astral import Observer  # noqa: PLC0415 - few rules need it
    from astral.sun import sunrise, sunset  # noqa: PLC0415

    event = sunrise if name == "sunrise" else sunset
    observer = Observer(place.latitude, place.longitude)
    for shift in (0, -1, 1):  # astral counts days by UTC
        try:
            moment = event(observer, day + timedelta(days=shift), tzinfo=UTC)
        except ValueError:  # the sun does not reach the horizon on that day
            continue
        if moment.astimezone(zone).date() == day:
            return moment.replace(microsecond=0)
    return None
