"""Open-Meteo: hourly and daily forecasts of one point, https://open-meteo.com/en/docs (CC BY 4.0, no key at home)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

from daemon.briefings.section import Surroundings
from daemon.briefings.sections import weather_words
from daemon.briefings.sections.reading import checked, column, moments, parse_json
from daemon.config.values import Secret
from daemon.errors import SectionError

_HOURLY = ("temperature_2m", "precipitation", "precipitation_probability", "snowfall", "weather_code")
_DAILY = ("weather_code", "temperature_2m_max", "temperature_2m_min", "wind_speed_10m_max", "snowfall_sum")
_LIMIT = 1_000_000
_WET = 0.2  # mm in an hour from which it is called rain
_LIKELY = 30  # %; below, rain of an hour is not announced
_SNOW_CODES = {71, 73, 75, 77, 85, 86}
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of warnings; None is never. Units as in the settings of the section."""

    heat: float | None = None
    frost: float | None = None
    wind: float | None = None
    rain: float | None = None
    snow: float | None = None


@dataclass(frozen=True, slots=True)
class _Hour:
    """From ``start`` on: rain and snow of the hour, sky and temperature at its beginning."""

    start: datetime
    temperature: float | None
    rain: float | None
    chance: float | None
    snow: float | None
    code: int | None

    @property
    def wet(self) -> bool:
        enough = self.rain is not None and self.rain >= _WET
        return enough and (self.chance is None or self.chance >= _LIKELY)


@dataclass(frozen=True, slots=True)
class _Day:
    code: int | None
    high: float | None
    low: float | None
    wind: float | None
    snow: float | None


class OpenMeteo:
    """Forecasts of a point.

    Args:
        server: its address, up to before ``/v1/forecast``.
        latitude: degrees north.
        longitude: degrees east.
        model: name of one, else the server's choice.
        key: of customers.
        thresholds: of warnings.
    """

    def __init__(
        self,
        server: str,
        latitude: float,
        longitude: float,
        *,
        model: str | None = None,
        key: Secret | None = None,
        thresholds: Thresholds | None = None,
    ) -> None:
        self._server = server.rstrip("/")
        self._host = urlsplit(server).hostname or "Open-Meteo"
        self._point = (latitude, longitude)
        self._model = model
        self._key = key
        self._thresholds = thresholds or Thresholds()

    async def fetch(self, surroundings: Surroundings) -> Any:
        """Yesterday and the next three days, by hours and by days.

        Raises:
            SectionError: there are none.
        """
        query = {
            "latitude": f"{self._point[0]:g}",
            "longitude": f"{self._point[1]:g}",
            "hourly": ",".join(_HOURLY),
            "daily": ",".join(_DAILY),
            "timezone": str(surroundings.zone),
            "past_days": "1",
            "forecast_days": "4",
            "wind_speed_unit": "ms",
        }
        if self._model:
            query["models"] = self._model
        if self._key is not None:
            try:
                query["apikey"] = self._key.reveal()
            except ValueError as error:
                raise SectionError(str(error)) from None
        url = f"{self._server}/v1/forecast?{urlencode(query, safe=',/')}"
        answer = await surroundings.fetcher.get(url, accept=("application/json",), limit=_LIMIT)
        found = parse_json(answer, self._host)
        data = checked(
            lambda: {
                "daily": {name: found["daily"].get(name) for name in ("time", *_DAILY)},
                "hourly": {name: found["hourly"].get(name) for name in ("time", *_HOURLY)},
            },
            self._host,
        )
        checked(lambda: (_days(data), _hours(data, surroundings.zone)), self._host)
        return data

    def facts(self, data: Any, surroundings: Surroundings, day: date) -> dict[str, Any]:
        """Of one day.

        Raises:
            SectionError: the data do not hold it.
        """
        zone, due = surroundings.zone, surroundings.due
        days, hours = checked(lambda: (_days(data), _hours(data, zone)), self._host)
        if day not in days or days[day].code is None:
            raise SectionError(f"{self._host}: the forecast does not reach {day}")
        own, before = days[day], days.get(day - timedelta(days=1))
        now = max(due, _at(day, 0, zone))
        rest = _between(hours, now - timedelta(minutes=59), _at(day, 24, zone))
        first, later = _sky(rest, own.code, due if due.date() == day else _at(day, 6, zone), day)
        return {
            "sky": self._word(first, surroundings.language),
            "later": self._word(later, surroundings.language) if later is not None else None,
            "high": own.high,
            "low": own.low,
            "yesterday": before.high if before else None,
            "rain": _rain(rest, due, _at(day, 24, zone)),
            "chance": max((hour.chance for hour in rest if hour.chance is not None), default=None),
            "tonight": self._tonight(hours, day, surroundings) if day == due.date() else None,
            "warnings": self._warnings(own, rest, _between(hours, now, _at(day, 33, zone))),
        }

    def _word(self, code: int, language: str) -> str:
        word = weather_words.sky(code, language)
        if word is None:
            raise SectionError(f"{self._host}: the weather code {code} is unknown")
        return word

    def _tonight(self, hours: Sequence[_Hour], day: date, surroundings: Surroundings) -> dict[str, Any] | None:
        night = _between(hours, _at(day, 18, surroundings.zone), _at(day, 30, surroundings.zone))
        evening = [hour for hour in night if hour.start < _at(day, 24, surroundings.zone)]
        code = _summary(evening)
        if code is None:
            return None
        low = min((hour.temperature for hour in night if hour.temperature is not None), default=None)
        return {"sky": self._word(code, surroundings.language), "low": low}

    def _warnings(self, day: _Day, rest: Sequence[_Hour], until_morning: Sequence[_Hour]) -> dict[str, float]:
        limits = self._thresholds
        coldest = min((hour.temperature for hour in until_morning if hour.temperature is not None), default=None)
        wettest = max((hour.rain for hour in rest if hour.rain is not None), default=None)
        found = {
            name: value
            for name, value, limit in (
                ("heat", day.high, limits.heat),
                ("wind", day.wind, limits.wind),
                ("rain", wettest, limits.rain),
                ("snow", day.snow, limits.snow),
            )
            if value is not None and limit is not None and value >= limit
        }
        if coldest is not None and limits.frost is not None and coldest <= limits.frost:
            found["frost"] = coldest
        return found


def _days(data: Any) -> dict[date, _Day]:
    table = data["daily"]
    dates = [date.fromisoformat(text) for text in table["time"]]
    columns = [column(table, name, len(dates)) for name in _DAILY]
    return {
        day: _Day(None if code is None else int(code), high, low, wind, snow)
        for day, code, high, low, wind, snow in zip(dates, *columns, strict=True)
    }


def _hours(data: Any, zone: ZoneInfo) -> list[_Hour]:
    """Hours in the house's zone. Sums of a row belong to the hour before its time, states to the time itself."""
    table = data["hourly"]
    times = [moment.replace(tzinfo=zone) for moment in moments(table["time"])]
    temperature, rain, chance, snow, code = (column(table, name, len(times)) for name in _HOURLY)
    found = []
    for index, moment in enumerate(times[:-1]):
        sky = code[index]
        found.append(
            _Hour(
                moment,
                temperature[index],
                rain[index + 1],
                chance[index + 1],
                snow[index + 1],
                None if sky is None else int(sky),
            )
        )
    return found


def _at(day: date, hour: int, zone: ZoneInfo) -> datetime:
    return datetime.combine(day + timedelta(days=hour // 24), time(hour % 24), zone)


def _between(hours: Sequence[_Hour], start: datetime, end: datetime) -> list[_Hour]:
    return [hour for hour in hours if start <= hour.start < end]


def _summary(hours: Sequence[_Hour]) -> int | None:
    """The code that stands for some hours: rain or snow if it fills half of them, else the most frequent dry sky."""
    codes = [hour.code for hour in hours if hour.code is not None]
    wet = [code for code in codes if code >= 51]
    if codes and len(wet) * 2 >= len(codes):
        return Counter(wet).most_common(1)[0][0]
    dry = Counter(code for code in codes if code < 51)
    return dry.most_common(1)[0][0] if dry else None


def _sky(rest: Sequence[_Hour], whole: int | None, now: datetime, day: date) -> tuple[int, int | None]:
    """The sky of the day, and what it turns into after noon; hours of the night do not count."""
    light = [hour for hour in rest if 6 <= hour.start.hour < 18 and hour.start.date() == day]
    morning = [hour for hour in light if hour.start.hour < 12]
    afternoon = [hour for hour in light if hour.start.hour >= 12]
    first, later = _summary(morning), _summary(afternoon)
    if now.hour >= 10 or first is None or later is None:
        only = _summary(light) if light else _summary(rest)
        return (only if only is not None else whole or 0), None
    return first, later if _group(later) != _group(first) else None


def _group(code: int) -> str:
    """Skies between which nobody speaks of a change."""
    if code < 51:
        return "fog" if code >= 45 else "cloudy" if code == 3 else "clear"
    return "snow" if code in _SNOW_CODES else "rain"


def _rain(rest: Sequence[_Hour], due: datetime, midnight: datetime) -> dict[str, Any] | None:
    """The first stretch of rain or snow; an hour without does not interrupt it."""
    wet = [hour for hour in rest if hour.wet and hour.start + _HOUR > due]
    if not wet:
        return None
    stretch = [wet[0]]
    for hour in wet[1:]:
        if hour.start - stretch[-1].start > 2 * _HOUR:
            break
        stretch.append(hour)
    start, end = stretch[0].start, stretch[-1].start + _HOUR
    snowy = sum((hour.snow or 0) > 0 for hour in stretch)
    kind = "snow" if snowy == len(stretch) else "mixed" if snowy else "rain"
    return {
        "kind": kind,
        "start": start if start > due else None,
        "end": end if end < midnight - _HOUR else None,
        "amount": round(sum(hour.rain or 0 for hour in stretch), 1),
    }
