"""What a rule needs to know of the world: the time zone, the holidays, and where the sun rises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from zoneinfo import ZoneInfo

from daemon.schedule.dates import Dates

UNNAMED = "holiday"
"""The name of an added holiday that was given none."""


@dataclass(frozen=True, slots=True)
class Place:
    """A point on the Earth, in degrees; north and east are positive."""

    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Holidays:
    """The holidays of a country and a house.

    Attributes:
        country: ISO 3166-1 alpha-2 code; None has no holidays but the added ones.
        subdivision: code of a part of the country, as the ``holidays`` library has it.
        language: of the names; None is the country's own.
        added: days that are holidays too, with their names; an added name wins over the country's.
        removed: days that are none, whoever says so.
    """

    country: str | None = None
    subdivision: str | None = None
    language: str | None = None
    added: tuple[tuple[Dates, str], ...] = ()
    removed: tuple[Dates, ...] = ()

    def name_of(self, day: date) -> str | None:
        """The name of a holiday; None for any other day."""
        if any(day in dates for dates in self.removed):
            return None
        for dates, name in self.added:
            if day in dates:
                return name or UNNAMED
        if self.country is None:
            return None
        return _of_year(self.country, self.subdivision, self.language, day.year).get(day)


@dataclass(frozen=True, slots=True)
class Calendar:
    """The world that rules are planned in.

    Attributes:
        zone: of all local times.
        holidays: None where it is not known whose holidays are meant; no day then is one.
        place: for the sun; None where it is not known: the sun then never rises or sets.
    """

    zone: ZoneInfo
    holidays: Holidays | None = None
    place: Place | None = None

    @property
    def knows_holidays(self) -> bool:
        """Whether it is known whose holidays are meant, and they are known."""
        return self.holidays is not None and (self.holidays.country is None or has_country(self.holidays.country))

    def name_of(self, day: date) -> str | None:
        """The name of a holiday, in the language that was asked for; None for any other day."""
        return None if self.holidays is None else self.holidays.name_of(day)

    def is_holiday(self, day: date) -> bool:
        """Whether a day is a holiday."""
        return self.name_of(day) is not None


@lru_cache(maxsize=256)
def _of_year(country: str, subdivision: str | None, language: str | None, year: int) -> Mapping[date, str]:
    import holidays  # noqa: PLC0415 - 45 ms, and many houses have no rule that asks

    if not has_country(country):
        return {}
    # Without a language the library asks the environment; the names should not depend on who starts the service.
    language = language or holidays.country_holidays(country).default_language
    return dict(holidays.country_holidays(country, subdiv=subdivision, years=year, language=language))


def check_country(country: str, subdivision: str | None, language: str | None) -> None:
    """Refuse what the ``holidays`` library does not know.

    Raises:
        ValueError: names what is known instead.
    """
    import holidays  # noqa: PLC0415

    if not has_country(country):
        message = f"holidays of the country {country!r} are not known; give its ISO 3166 code, such as JP, or none"
        raise ValueError(message)
    found = holidays.country_holidays(country)
    parts = sorted({*found.subdivisions, *found.subdivisions_aliases})
    if subdivision is not None and subdivision not in parts:
        message = f"{country} has no subdivision {subdivision!r}; {_one_of(parts)}"
        raise ValueError(message)
    languages = sorted(found.supported_languages) or [found.default_language or "none"]
    if language is not None and language not in languages:
        message = f"names of holidays of {country} are not known in {language!r}; {_one_of(languages)}"
        raise ValueError(message)


def has_country(country: str) -> bool:
    """Whether the ``holidays`` library knows a country."""
    import holidays  # noqa: PLC0415

    return country in holidays.list_supported_countries(include_aliases=False)


def _one_of(names: list[str]) -> str:
    return f"known are {', '.join(names)}" if names else "none is known"
