"""The section ``calendar``: the appointments of the day, from files, addresses and CalDAV servers."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.sections.caldav import CalDav
from daemon.briefings.sections.ics import ACCEPTED, LIMIT, Occurrence, from_kept, kept, merged, occurrences
from daemon.briefings.sections.reading import checked
from daemon.briefings.sections.templates import words_of
from daemon.config.base import Model
from daemon.config.values import Secret, TimeOfDay, parse_time_of_day
from daemon.errors import SectionError

_SOON = timedelta(hours=3)
_DAYS_AHEAD = 8  # so that yesterday's data can tell of today, and the next event be found


class CalDavSettings(Model):
    """Calendars of a CalDAV server."""

    url: str = Field(pattern=r"^https?://[^\s@]+$", description="of the server, or of one calendar of it")
    user: str | None = Field(default=None, description="who reads")
    password: Secret | None = Field(default=None, description="of the user")
    calendar: str | None = Field(default=None, description="name of one of its calendars; default: all")


class SourceSettings(Model):
    """One calendar: an address, a file, or a CalDAV server."""

    url: Secret | None = Field(
        default=None, description="address of an .ics file; it may be secret (credential, file, env)"
    )
    file: str | None = Field(default=None, min_length=1, description="an .ics file: its path, absolute or with ~")
    caldav: CalDavSettings | None = Field(default=None, description="a CalDAV server")
    name: str = Field(
        default="", max_length=40, description="name of the calendar, for templates: {{ event.calendar }}"
    )

    @field_validator("file")
    @classmethod
    def _absolute(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).expanduser().is_absolute():
            message = f"an absolute path is expected, got {value!r}"
            raise ValueError(message)
        return value

    @field_validator("url")
    @classmethod
    def _webcal(cls, value: Secret | None) -> Secret | None:
        """webcal:// is https:// for calendar programs."""
        if value is not None and value.value is not None:
            text = value.value.get_secret_value()
            if text.startswith(("webcal://", "webcals://")):
                return Secret(value=SecretStr("https://" + text.partition("://")[2]))
        return value

    @model_validator(mode="after")
    def _one(self) -> SourceSettings:
        if sum(source is not None for source in (self.url, self.file, self.caldav)) > 1:
            message = "give one of url, file and caldav; several calendars go below `calendars`"
            raise ValueError(message)
        return self


class CalendarSettings(SourceSettings):
    """Keys of ``calendar``: one calendar, or several below ``calendars``."""

    calendars: list[SourceSettings] = Field(default=[], description="several calendars, told as one")
    limit: int = Field(default=6, ge=1, le=30, description="most events that are told; the rest is counted")
    tomorrow: TimeOfDay | None = Field(
        default=parse_time_of_day("17:00"), description="from when on tomorrow is told too; null: never"
    )
    say_none: bool = Field(default=False, description="whether to say that there is nothing, and what comes next")
    exclude: list[str] = Field(default=[], description="events whose title contains one of these are not told")

    @model_validator(mode="after")
    def _some(self) -> CalendarSettings:
        for source in self.calendars:
            if not (source.url or source.file or source.caldav):
                message = "each of calendars needs one of url, file and caldav"
                raise ValueError(message)
        if not self.sources:
            message = "give one of url, file and caldav, or several below `calendars`"
            raise ValueError(message)
        return self

    @property
    def sources(self) -> list[SourceSettings]:
        """All of them."""
        own = [self] if self.url or self.file or self.caldav else []
        return [*own, *self.calendars]


FACTS = """What the template of ``calendar`` sees.

days: today, and in the evening tomorrow: each with ``date``; ``events`` that are not over, in order; ``more``, the
number of those that the limit leaves out; ``none``, whether it is to be said that there are none.
An event has summary, place, calendar, all_day, start and end (moments, or None when it lasts all day), ongoing, and for
what lasts several days number (of this day, from 1) and days (in all).
next: the first event at a time of day that has not begun, within eight days, or None: as above, with ``date``,
``ahead`` (the time until then), ``told`` (whether it is among the days) and ``soon`` (told, and within three hours)."""


class CalendarSection:
    """The appointments of the day."""

    def __init__(self, settings: CalendarSettings) -> None:
        self._settings = settings

    async def fetch(self, surroundings: Surroundings) -> Any:
        """The occurrences of some days."""
        first = surroundings.due.date()
        last = first + timedelta(days=_DAYS_AHEAD)
        tasks = [read_events(source, first, last, surroundings) for source in self._settings.sources]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, SectionError):
                raise result
        good = [result for result in results if not isinstance(result, BaseException)]
        bad = [str(result) for result in results if isinstance(result, SectionError)]
        if bad:
            # Half of the appointments told as if they were all would be worse than the last good ones with their age.
            raise SectionError("; ".join(bad))
        return kept(merged(good), last)

    def facts(self, data: Any, surroundings: Surroundings) -> Mapping[str, Any] | None:
        """See :data:`FACTS`."""
        zone, due = surroundings.zone, surroundings.due
        until, events = checked(lambda: from_kept(data, zone), "calendar")
        today = due.date()
        if until < today:
            raise SectionError(f"the calendar is known until {until}")
        words = [word.casefold() for word in self._settings.exclude]
        events = [event for event in events if not any(word in event.summary.casefold() for word in words)]
        own = [_facts(event, today, due) for event in events if event.on(today) and not _over(event, due)]
        evening = self._settings.tomorrow is not None and due.timetz().replace(tzinfo=None) >= self._settings.tomorrow
        days = [self._day(today, own)]
        if evening:
            tomorrow = today + timedelta(days=1)
            later = [_facts(event, tomorrow, due) for event in events if _begins(event, tomorrow, today)]
            days.append(self._day(tomorrow, later))
        if not any(day["events"] for day in days) and not self._settings.say_none:
            return None
        return {"days": days, "next": _next(events, due, today + timedelta(days=len(days)))}

    def _day(self, day: date, events: list[dict[str, Any]]) -> dict[str, Any]:
        limit = self._settings.limit
        more = max(0, len(events) - limit)
        return {"date": day, "events": events[:limit], "more": more, "none": self._settings.say_none and not events}


async def read_events(source: SourceSettings, first: date, last: date, surroundings: Surroundings) -> list[Occurrence]:
    """What takes place in a calendar from ``first`` to ``last``.

    Raises:
        SectionError: it cannot be read.
    """
    texts, named = await _texts(source, surroundings, first, last)

    def work() -> list[Occurrence]:
        return merged([occurrences(text, first, last, surroundings.zone, named, source.name) for text in texts])

    # Ten years of a calendar take seconds on a small machine: not on the loop.
    return await asyncio.to_thread(work)


async def _texts(
    source: SourceSettings, surroundings: Surroundings, first: date, last: date
) -> tuple[list[bytes], str]:
    """The calendars of a source as iCalendar, and how errors call it."""
    if source.caldav is not None:
        server = CalDav(source.caldav)
        return await server.read(first, last, surroundings.zone, surroundings.fetcher), _host(source.caldav.url)
    if source.file is not None:
        return [await asyncio.to_thread(_read_file, source.file)], source.file
    try:
        url = source.url.reveal() if source.url is not None else ""
    except ValueError as error:
        raise SectionError(str(error)) from None
    answer = await surroundings.fetcher.get(url, accept=ACCEPTED, limit=LIMIT)
    return [answer.body], _host(url)


def _read_file(name: str) -> bytes:
    path = Path(name).expanduser()
    try:
        # A pipe would not let go of the thread.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise SectionError(f"{path}: is not a file")
            text = stream.read(LIMIT + 1)
    except OSError as error:
        raise SectionError(f"{path}: cannot be read ({error.strerror})") from None
    if len(text) > LIMIT:
        raise SectionError(f"{path}: larger than {LIMIT / 1e6:g} MB")
    return text


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "the calendar"
    except ValueError:
        return "the calendar"


def _begins(event: Occurrence, day: date, before: date) -> bool:
    """Whether it takes place on a day and was not told of already on the day before."""
    return event.on(day) and not (isinstance(event.start, datetime) and event.on(before))


def _over(event: Occurrence, due: datetime) -> bool:
    if isinstance(event.start, datetime) and isinstance(event.end, datetime):
        return event.end <= due and event.start < due
    return False


def _facts(event: Occurrence, day: date, due: datetime) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": event.summary, "place": event.place, "calendar": event.calendar}
    start, end = event.start, event.end
    if isinstance(start, datetime) and isinstance(end, datetime):
        number = days = 1
        found |= {"start": start, "end": end, "all_day": False, "ongoing": start < due}
    else:
        number, days = (day - start).days + 1, (end - start).days
        found |= {"start": None, "end": None, "all_day": True, "ongoing": False}
    return found | {"number": number, "days": days}


def _next(events: Sequence[Occurrence], due: datetime, told_until: date) -> dict[str, Any] | None:
    for event in events:
        start = event.start
        if isinstance(start, datetime) and start > due:
            told = start.date() < told_until
            ahead = start - due
            soon = told and ahead <= _SOON
            return {
                **_facts(event, start.date(), due),
                "date": start.date(),
                "ahead": ahead,
                "told": told,
                "soon": soon,
            }
    return None


KIND = BundledKind("calendar", CalendarSettings, CalendarSection, words_of("calendar"))
