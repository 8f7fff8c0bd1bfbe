"""The section ``weather``: what the day will be like, by Open-Meteo or by an office of the JMA."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Literal, Protocol

from pydantic import Field, model_validator

from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.sections.jma import Jma
from daemon.briefings.sections.open_meteo import OpenMeteo, Thresholds
from daemon.briefings.sections.templates import words_of
from daemon.config.base import Model
from daemon.config.values import Secret, TimeOfDay, parse_time_of_day

__all__ = ["KIND", "WeatherSettings"]


class Warnings(Model):
    """From where on the weather is warned of; null is never."""

    heat: float | None = Field(default=35.0, description="highest temperature of the day, °C")
    frost: float | None = Field(default=3.0, description="lowest temperature until the next morning, °C")
    wind: float | None = Field(default=13.0, description="strongest wind of the day, m/s (mean of ten minutes)")
    rain: float | None = Field(default=20.0, description="rain in one hour, mm")
    snow: float | None = Field(default=1.0, description="fresh snow of the day, cm")


class WeatherSettings(Model):
    """Keys of ``weather``: either latitude and longitude, or the code of an office."""

    latitude: float | None = Field(default=None, ge=-90, le=90, description="degrees north; Open-Meteo is asked")
    longitude: float | None = Field(default=None, ge=-180, le=180, description="degrees east")
    place: str | None = Field(
        default=None, min_length=1, max_length=40, description="name that is said: 今日の東京は、…"
    )
    model: str | None = Field(
        default=None, pattern=r"^[a-z0-9_]+$", description="model of Open-Meteo such as jma_seamless; default: the best"
    )
    server: str = Field(
        default="https://api.open-meteo.com", pattern=r"^https?://[^\s?#@]+$", description="of Open-Meteo, or your own"
    )
    api_key: Secret | None = Field(default=None, description="of Open-Meteo's customers")
    office: str | None = Field(
        default=None,
        pattern=r"^\d{6}$",
        description="of the JMA, in place of a latitude: 130000 is Tokyo, 270000 Osaka",
    )
    area: str | None = Field(
        default=None, description="of the office, by name or code, such as 東京地方; default: its first"
    )
    station: str | None = Field(
        default=None, description="of the office's temperatures, by name or code; default: the area's"
    )
    jma_server: str = Field(
        default="https://www.jma.go.jp", pattern=r"^https?://[^\s?#@]+$", description="of the office's forecasts"
    )
    day: Literal["auto", "today", "tomorrow"] = Field(
        default="auto", description="which day is told; auto: tomorrow from `evening` on"
    )
    evening: TimeOfDay = Field(default=parse_time_of_day("17:00"), description="from when on auto means tomorrow")
    warnings: Warnings = Field(default=Warnings(), description="from where on is warned (Open-Meteo)")

    @model_validator(mode="after")
    def _one_source(self) -> WeatherSettings:
        point = (self.latitude is not None, self.longitude is not None)
        if any(point) != all(point) or all(point) == (self.office is not None):
            message = "give either latitude and longitude, or office (of the JMA)"
            raise ValueError(message)
        if self.office is None and (self.area or self.station):
            message = "area and station go with office"
            raise ValueError(message)
        return self


class Provider(Protocol):
    """A source of forecasts."""

    async def fetch(self, surroundings: Surroundings) -> Any:
        """Its data, checked and trimmed.

        Raises:
            SectionError: there are none.
        """

    def facts(self, data: Any, surroundings: Surroundings, day: date) -> dict[str, Any]:
        """Of one day; see :data:`FACTS`.

        Raises:
            SectionError: the data do not hold the day.
        """


FACTS = """What the template of ``weather`` sees; what is unknown is None.

date: the day; evening: whether it is told on the evening before. place: its name.
sky, later: the weather in words, and what it turns into in the second half of the day.
high, low: °C. yesterday: the highest temperature of the day before.
rain: kind (rain, snow, mixed), start and end (moments; None: already, or until the end of the day), amount (mm).
chance: of rain or snow in the rest of the day, %.
tonight: sky and low (°C) from 18:00 to 6:00; only for today.
warnings: of heat, frost, wind, rain and snow, those that hold, with their values."""


class WeatherSection:
    """The forecast of a place."""

    def __init__(self, settings: WeatherSettings) -> None:
        self._settings = settings
        self._provider: Provider
        if settings.office is not None:
            self._provider = Jma(settings.jma_server, settings.office, settings.area, settings.station)
        else:
            self._provider = OpenMeteo(
                settings.server,
                settings.latitude or 0.0,
                settings.longitude or 0.0,
                model=settings.model,
                key=settings.api_key,
                thresholds=Thresholds(**settings.warnings.model_dump()),
            )

    async def fetch(self, surroundings: Surroundings) -> Any:
        """The provider's data."""
        return await self._provider.fetch(surroundings)

    def facts(self, data: Any, surroundings: Surroundings) -> Mapping[str, Any] | None:
        """See :data:`FACTS`."""
        due = surroundings.due
        tomorrow = self._settings.day == "tomorrow" or (
            self._settings.day == "auto" and due.timetz().replace(tzinfo=None) >= self._settings.evening
        )
        day = due.date() + timedelta(days=int(tomorrow))
        found = self._provider.facts(data, surroundings, day)
        return {**found, "date": day, "evening": tomorrow, "place": self._settings.place or found.get("place")}


KIND = BundledKind("weather", WeatherSettings, WeatherSection, words_of("weather"))
