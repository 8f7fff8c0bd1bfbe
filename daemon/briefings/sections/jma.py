"""Forecasts of an office of the Japan Meteorological Agency.

``/bosai/forecast/data/forecast/<office>.json`` is what the agency's own pages read; it is not documented. It holds two
reports: of the next three days (weather by areas, probabilities by six hours, temperatures by stations) and of the
week. Times and values stand in parallel lists. A regular report comes at 5:00, 11:00 and 17:00.

Temperatures of a day are a pair, the lowest at 0:00 and the highest at 9:00. On the day of the report the lowest has
passed: at 5:00 and 11:00 its place holds the highest once more (and the time may say 9:00 twice), and at 17:00 the day
is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from daemon.briefings.clean import clean
from daemon.briefings.section import Surroundings
from daemon.briefings.sections.reading import checked, moments, number, parse_json
from daemon.errors import SectionError

_LIMIT = 1_000_000
_CHANGES = {"後": "のち", "後に": "のち"}
# Words with which a new part of the sentence begins.
_OPENING = (
    "所により", "未明", "明け方", "朝", "昼", "日中", "午前", "午後", "夕方", "夜", "海上", "山沿い", "平地", "はじめ",
)  # fmt: skip
_GROUPS_EN = {"1": "clear", "2": "cloudy", "3": "rain", "4": "snow"}


class Jma:
    """Forecasts of an area.

    Args:
        server: up to before ``/bosai``.
        office: six digits.
        area: its name or code; None: the first.
        station: of temperatures, by name or code; None: the one that stands at the area's place, else the first.
    """

    def __init__(self, server: str, office: str, area: str | None = None, station: str | None = None) -> None:
        self._url = f"{server.rstrip('/')}/bosai/forecast/data/forecast/{office}.json"
        self._host = urlsplit(server).hostname or "JMA"
        self._area = area
        self._station = station

    async def fetch(self, surroundings: Surroundings) -> Any:
        """The report of the next days.

        Raises:
            SectionError: there is none.
        """
        answer = await surroundings.fetcher.get(self._url, accept=("application/json",), limit=_LIMIT)
        found = parse_json(answer, self._host)
        data = checked(
            lambda: {"reported": found[0]["reportDatetime"], "series": list(found[0]["timeSeries"])}, self._host
        )
        checked(lambda: self._read(data), self._host)
        return data

    def facts(self, data: Any, surroundings: Surroundings, day: date) -> dict[str, Any]:
        """Of one day.

        Raises:
            SectionError: the data do not hold it.
        """
        return checked(lambda: self._facts(data, surroundings, day), self._host)

    def _read(self, data: Any) -> tuple[datetime, dict[str, Any], dict[str, Any], dict[str, Any]]:
        reported = datetime.fromisoformat(data["reported"])
        weather, chances, temperatures = (_series(data["series"], key) for key in ("weathers", "pops", "temps"))
        if weather is None:
            raise KeyError("weathers")
        index = self._choose(weather["areas"], self._area, "area", 0)
        names = [area["area"]["name"] for area in weather["areas"]]
        picked = {"place": names[index], "times": moments(weather["timeDefines"]), **weather["areas"][index]}
        pops: dict[str, Any] = {"times": [], "pops": []}
        if chances is not None:
            code = picked["area"]["code"]
            same = next((area for area in chances["areas"] if area["area"]["code"] == code), None)
            if same is not None:
                pops = {"times": moments(chances["timeDefines"]), "pops": list(same["pops"])}
        temps: dict[str, Any] = {"times": [], "temps": []}
        if temperatures is not None:
            stations = temperatures["areas"]
            station = stations[self._choose(stations, self._station, "station", index)]
            temps = {"times": moments(temperatures["timeDefines"]), "temps": list(station["temps"])}
        return reported, picked, pops, temps

    def _choose(self, areas: Sequence[Any], wanted: str | None, what: str, default: int) -> int:
        if wanted is None:
            return default if default < len(areas) else 0
        for index, entry in enumerate(areas):
            if wanted in {entry["area"]["name"], entry["area"]["code"]}:
                return index
        known = ", ".join(f"{entry['area']['name']} ({entry['area']['code']})" for entry in areas)
        raise SectionError(f"{self._host}: the office has no {what} {wanted}; it has {clean(known, 400)}")

    def _facts(self, data: Any, surroundings: Surroundings, day: date) -> dict[str, Any]:
        reported, weather, pops, temps = self._read(data)
        zone, due = surroundings.zone, surroundings.due
        found = [index for index, moment in enumerate(weather["times"]) if moment.date() == day]
        if not found:
            raise SectionError(f"{self._host}: the forecast of {reported:%Y-%m-%d %H:%M} does not reach {day}")
        if surroundings.language == "ja":
            sky = spoken(weather["weathers"][found[0]])
        else:
            sky = _GROUPS_EN[str(weather["weatherCodes"][found[0]])[:1]]
        chances = [
            value
            for moment, text in zip(pops["times"], pops["pops"], strict=True)
            if moment.date() == day and moment + timedelta(hours=6) > due and (value := number(text)) is not None
        ]
        low, high = _temperatures(temps, day, reported.date())
        return {
            "place": None,
            "sky": sky,
            "later": None,
            "high": high,
            "low": low,
            "yesterday": None,
            "rain": None,
            "chance": max(chances, default=None),
            "tonight": None,
            "warnings": {},
            "area": weather["place"],
            "reported": reported.astimezone(zone),
        }


def spoken(text: str) -> str:
    """A weather text of the agency as one would say it.

    Its words are parted by full-width spaces: 「くもり　時々　晴れ　所により　雨」 becomes
    「くもり時々晴れ、所により雨」.
    """
    said = ""
    previous = ""
    for word in clean(text, 200).split():
        opens = word.startswith(_OPENING) and not previous.startswith("所により")
        said += ("、" if said and opens else "") + _CHANGES.get(word, word)
        previous = word
    return said


def _series(series: Sequence[Any], key: str) -> Any:
    """The series whose areas have a list of this name: their order has no promise."""
    return next((entry for entry in series if entry["areas"] and key in entry["areas"][0]), None)


def _temperatures(temps: dict[str, Any], day: date, reported: date) -> tuple[float | None, float | None]:
    """Lowest and highest of a day; see the head of this module."""
    pairs = [
        (moment, number(text))
        for moment, text in zip(temps["times"], temps["temps"], strict=True)
        if moment.date() == day
    ]
    high = next((value for moment, value in pairs if moment.hour == 9), None)
    low = next((value for moment, value in pairs if moment.hour == 0), None)
    return (None if day == reported else low), high
