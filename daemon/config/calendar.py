"""Keys of `holidays` and `place`: the world that rules are planned in."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from daemon.config.base import Model, OneOrMore
from daemon.schedule.calendar import Calendar, Holidays, Place
from daemon.schedule.dates import DATES_HELP, Dates, parse_dates

_NO_COUNTRY = "NONE"
_JAPAN = "JP"


class HolidaysConfig(Model):
    """Whose holidays `workdays`, `holidays` and `holiday_eve` mean."""

    country: str | None = Field(
        default=None, description="ISO 3166 code such as JP, or none; default: the country of the time zone"
    )
    subdivision: str | None = Field(default=None, description="code of a part of the country, such as BY")
    language: str | None = Field(default=None, description="of the names of holidays; default: the country's own")
    added: dict[str, str] = Field(default={}, description=f"more holidays with their names: {DATES_HELP}")
    removed: OneOrMore[str] | None = Field(default=None, description=f"days that are no holidays: {DATES_HELP}")

    @field_validator("added", "removed", mode="before")
    @classmethod
    def _dates_form(cls, value: Any) -> Any:
        for text in [value] if isinstance(value, str) else value if isinstance(value, list | dict) else []:
            _dates(text)
        return value


class PlaceConfig(Model):
    """Where the sun of `sunrise` and `sunset` is seen."""

    latitude: float = Field(ge=-90, le=90, description="degrees, north is positive")
    longitude: float = Field(ge=-180, le=180, description="degrees, east is positive")


def calendar_of(zone: ZoneInfo, holidays: HolidaysConfig, place: PlaceConfig | None) -> Calendar:
    """The world as the configuration describes it. Its holidays are None where nothing says whose are meant."""
    country = (holidays.country or country_of(zone.key) or "").upper()
    point = None if place is None else Place(place.latitude, place.longitude)
    if not country and not holidays.added:
        return Calendar(zone, None, point)
    return Calendar(
        zone,
        Holidays(
            None if country in {"", _NO_COUNTRY} else country,
            holidays.subdivision,
            holidays.language,
            tuple((_dates(text), name) for text, name in holidays.added.items()),
            tuple(_dates(text) for text in holidays.removed or ()),
        ),
        point,
    )


@lru_cache
def country_of(zone: str) -> str | None:
    """The country of a time zone by the table of the IANA database.

    A zone that no country owns (``UTC``), and an old name (``US/Eastern``), has none.
    """
    if zone in {"Asia/Tokyo", "Japan"}:
        return _JAPAN
    table = resources.files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines() if not line.startswith("#"))
    return next((row[0] for row in rows if row[2] == zone), None)


def _dates(text: object) -> Dates:
    dates = parse_dates(text) if isinstance(text, str) else None
    if dates is None:
        message = f"{DATES_HELP} is expected, got {text!r}"
        raise ValueError(message)
    return dates
