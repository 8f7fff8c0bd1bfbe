"""The day: weekday, holiday, the year of the era on request, anniversaries of the house."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from pydantic import Field, field_validator

from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.config.base import Model

_DATE = re.compile(r"(?:(\d{4})-)?(\d{1,2})-(\d{1,2})")

JAPANESE = """
今日は{{ day | wareki if era }}{{ day | date }}、{{ day | weekday }}{{ "、" ~ holiday if holiday }}です。
{% for a in anniversaries %}
{{ a.day | day(due) }}は{{ a.name }}です。{{ "今年で" ~ a.years ~ "年になります。" if a.years }}
{% endfor %}
"""
ENGLISH = """
Today is {{ day | weekday }}, {{ day | date(year=era) }}{{ ", " ~ holiday if holiday }}.
{% for a in anniversaries %}
{{ a.name }} is {{ "on " if a.days > 1 }}{{ a.day | day(due) }}{{ "; it has been " ~ a.years ~ " years" if a.years }}.
{% endfor %}
"""


class AnniversaryConfig(Model):
    """A day that comes every year."""

    date: str = Field(description="MM-DD, or YYYY-MM-DD of the first, from which the years are counted")
    name: str = Field(min_length=1, max_length=100, description="what it is, such as 結婚記念日")
    ahead: int = Field(default=0, ge=0, le=31, description="from how many days before it is told")

    @field_validator("date")
    @classmethod
    def _date_form(cls, value: str) -> str:
        _parsed(value)
        return value


class DateSettings(Model):
    """The day of the briefing."""

    era: bool = Field(default=False, description="whether the year of the era is told")
    holidays: bool = Field(default=True, description="whether the name of a holiday is told")
    anniversaries: list[AnniversaryConfig] = Field(
        default=[], max_length=200, description="days of the house that come every year"
    )


class DateSection:
    """Needs no source."""

    def __init__(self, settings: DateSettings) -> None:
        self._settings = settings

    async def fetch(self, surroundings: Surroundings) -> None:
        """Nothing."""
        del surroundings

    def facts(self, data: None, surroundings: Surroundings) -> Mapping[str, Any]:
        """``day``, ``era``, ``holiday`` (or None), ``anniversaries`` (day, name, days to go, years or None)."""
        del data
        today = surroundings.due.date()
        return {
            "day": today,
            "era": self._settings.era,
            "holiday": surroundings.holiday(today) if self._settings.holidays else None,
            "anniversaries": [found for a in self._settings.anniversaries if (found := _near(a, today))],
        }


def _near(anniversary: AnniversaryConfig, today: date) -> dict[str, Any] | None:
    first, month, day = _parsed(anniversary.date)
    for days in range(anniversary.ahead + 1):
        that = today + timedelta(days=days)
        if that == _in_year(that.year, month, day):
            years = that.year - first if first else None
            return {"day": that, "name": anniversary.name, "days": days, "years": years or None}
    return None


def _parsed(text: str) -> tuple[int | None, int, int]:
    match = _DATE.fullmatch(text.strip())
    try:
        year, month, day = match.groups() if match else ("", "", "")
        date(int(year or 2000), int(month), int(day))
    except ValueError:
        message = f"a day such as 12-24 or 1990-12-24 is expected, got {text!r}"
        raise ValueError(message) from None
    return int(year) if year else None, int(month), int(day)


def _in_year(year: int, month: int, day: int) -> date:
    """The day in a year; 29 February is 28 February where there is none, as Japanese law counts ages."""
    try:
        return date(year, month, day)
    except ValueError:
        return date(year, month, day - 1)


KIND = BundledKind("date", DateSettings, DateSection, {"ja": JAPANESE, "en": ENGLISH})
