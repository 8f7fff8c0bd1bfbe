"""The section ``news``: headlines of feeds, each told on one day only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import zip_longest
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.sections.feed import ACCEPTED, LIMIT, Item, from_json, items
from daemon.briefings.sections.reading import checked
from daemon.briefings.sections.templates import words_of
from daemon.config.base import Model, OneOrMore
from daemon.config.values import Duration, Secret
from daemon.errors import SectionError

_REMEMBERED = timedelta(days=14)
_MOST_ITEMS = 80  # that are kept for a morning without network
_log = logging.getLogger("asagoe.briefings")


class NewsSettings(Model):
    """Keys of ``news``."""

    url: OneOrMore[Secret] = Field(description="address of a feed (RSS or Atom), or several")
    count: int = Field(default=3, ge=1, le=20, description="most headlines")
    newest: Duration = Field(default=36 * 3600.0, description="how old a headline may be that is told")
    include: list[str] = Field(default=[], description="only headlines that contain one of these")
    exclude: list[str] = Field(default=[], description="no headlines that contain one of these, such as 広告")
    summary: bool = Field(default=False, description="whether the template may tell the summary too")
    say_none: bool = Field(default=False, description="whether to say that there is nothing new")

    @model_validator(mode="after")
    def _words(self) -> Self:
        if any(not word.strip() for word in (*self.include, *self.exclude)):
            message = "an empty word is contained in every headline: remove it from include or exclude"
            raise ValueError(message)
        return self


FACTS = """What the template of ``news`` sees.

items: headlines with title (without a full stop), summary (empty unless asked for) and at (a moment, or None)."""


class NewsSection:
    """Headlines.

    Its data are ``items`` as they came, and ``told``: for each key of a headline the day on which it was told.
    What is chosen on a day stays chosen on that day, so that a briefing that is heard twice says the same.
    """

    def __init__(self, settings: NewsSettings) -> None:
        self._settings = settings

    async def fetch(self, surroundings: Surroundings) -> Any:
        """The headlines, and which were told until today."""
        results = await asyncio.gather(
            *(self._feed(url, surroundings) for url in self._settings.url), return_exceptions=True
        )
        good: list[list[Item]] = []
        bad: list[str] = []
        for result in results:
            if isinstance(result, SectionError):
                bad.append(str(result))
            elif isinstance(result, BaseException):
                raise result
            else:
                good.append(result)
        if not good:
            raise SectionError("; ".join(bad))
        for message in bad:
            _log.warning("a feed of the news is left out: %s", message)
        found = _mixed(good)
        today = surroundings.due.date()
        told = _told(surroundings.last, today)
        for item in self._choose(found, told, surroundings.due):
            for key in item.keys:
                told.setdefault(key, today)
        return {
            "items": [item.to_json() for item in found],
            "told": {key: day.isoformat() for key, day in told.items()},
        }

    def facts(self, data: Any, surroundings: Surroundings) -> Mapping[str, Any] | None:
        """See :data:`FACTS`."""
        found, told = checked(
            lambda: (
                [from_json(item) for item in data["items"]],
                {str(key): date.fromisoformat(day) for key, day in data["told"].items()},
            ),
            "news",
        )
        chosen = self._choose(found, told, surroundings.due)
        if not chosen and not self._settings.say_none:
            return None
        return {
            "items": [
                {
                    "title": item.title,
                    "summary": item.summary if self._settings.summary else "",
                    "at": item.at.astimezone(surroundings.zone) if item.at else None,
                }
                for item in chosen
            ]
        }

    async def _feed(self, address: Secret, surroundings: Surroundings) -> list[Item]:
        try:
            url = address.reveal()
        except ValueError as error:
            raise SectionError(str(error)) from None
        answer = await surroundings.fetcher.get(url, accept=ACCEPTED, limit=LIMIT)
        found = await asyncio.to_thread(items, answer, _host(url))
        return [item for item in found if self._wanted(item)]

    def _choose(self, found: Sequence[Item], told: Mapping[str, date], due: datetime) -> list[Item]:
        """Those of today: first what was chosen today already, then what nobody has heard of."""
        today = due.date()
        newest = timedelta(seconds=self._settings.newest)
        fitting = [item for item in found if item.at is None or due - item.at <= newest]
        heard = [item for item in fitting if any(told.get(key, today) < today for key in item.keys)]
        chosen = [item for item in fitting if item not in heard and any(key in told for key in item.keys)]
        new = [item for item in fitting if item not in heard and item not in chosen]
        return [*chosen, *new][: self._settings.count]

    def _wanted(self, item: Item) -> bool:
        text = item.full.casefold()
        include, exclude = self._settings.include, self._settings.exclude
        if any(word.casefold() in text for word in exclude):
            return False
        return not include or any(word.casefold() in text for word in include)


def _mixed(feeds: Sequence[Sequence[Item]]) -> list[Item]:
    """The first of each feed, then the second of each …, every headline once."""
    found: list[Item] = []
    seen: set[str] = set()
    for row in zip_longest(*feeds):
        for item in row:
            if item is not None and not seen & set(item.keys):
                found.append(item)
                seen |= set(item.keys)
    return found[:_MOST_ITEMS]


def _told(last: Any, today: date) -> dict[str, date]:
    """What was told until today, of the last data; what is too old to come again is forgotten.

    Days to come are those of a briefing that somebody looked at ahead of time: nothing was told on them yet.
    """
    try:
        days = {str(key): date.fromisoformat(day) for key, day in last["told"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {key: day for key, day in days.items() if timedelta() <= today - day <= _REMEMBERED}


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "the feed"
    except ValueError:
        return "the feed"


KIND = BundledKind("news", NewsSettings, NewsSection, words_of("news"))
