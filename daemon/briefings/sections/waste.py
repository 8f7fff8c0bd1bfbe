"""The section ``waste``: what is collected today, and in the evening what will be collected tomorrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.sections.calendar import SourceSettings, read_events
from daemon.briefings.sections.ics import from_kept, kept
from daemon.briefings.sections.reading import checked
from daemon.briefings.sections.templates import words_of
from daemon.config.base import Model, OneOrMore
from daemon.config.schedule import rule_of_days
from daemon.config.values import Day, TimeOfDay, parse_time_of_day
from daemon.errors import SectionError
from daemon.schedule.calendar import Calendar
from daemon.schedule.dates import DATES_HELP, Dates, parse_dates
from daemon.schedule.rules import EVERY_HELP, Rule, parse_every
from daemon.schedule.words import DAYS_HELP, parse_days

_DAYS_AHEAD = 15  # of a calendar, so that old data can still tell of today


def _dates(values: list[str]) -> list[str]:
    for value in values:
        if parse_dates(value) is None:
            message = f"{DATES_HELP} are expected, got {value!r}"
            raise ValueError(message)
    return values


class WasteRule(Model):
    """When one kind of waste is collected."""

    name: str = Field(min_length=1, max_length=40, description="as it is said, such as 燃えるごみ")
    days: OneOrMore[str] | None = Field(default=None, description=DAYS_HELP)
    every: str | None = Field(default=None, description=f"{EVERY_HELP}, counted from the date of from")
    from_: Day | None = Field(default=None, alias="from", description="the first date")
    until: Day | None = Field(default=None, description="the last date")
    also: list[str] = Field(default=[], description=f"dates on which it is collected besides: {DATES_HELP}")
    without: list[str] = Field(default=[], description=f"dates on which it is not: {DATES_HELP}")

    _check_dates = field_validator("also", "without")(_dates)

    @field_validator("days")
    @classmethod
    def _days_form(cls, value: list[str] | None) -> list[str] | None:
        if value is not None:
            parse_days(value)
        return value

    @field_validator("every")
    @classmethod
    def _every_form(cls, value: str | None) -> str | None:
        if value is not None:
            parse_every(value)
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.every is not None and self.from_ is None:
            message = "every needs from, a date of collection that it counts from"
        elif self.days is None and self.every is None and not self.also:
            message = "say when it is collected: days, every (with from), or also"
        else:
            return self
        raise ValueError(message)

    def rule(self) -> Rule | None:
        """Its regular days; None when it has none."""
        if self.days is None and self.every is None:
            return None
        return rule_of_days(self.days, self.every, self.from_, self.until)


class WasteSettings(SourceSettings):
    """Keys of ``waste``: rules, a calendar of the town, or both."""

    rules: list[WasteRule] = Field(default=[], description="kinds of waste with their days")
    without: list[str] = Field(
        default=[], description=f"dates on which nothing is collected by the rules, such as 12-31..01-03: {DATES_HELP}"
    )
    evening: TimeOfDay | None = Field(
        default=parse_time_of_day("17:00"), description="from when on tomorrow's is told; null: never"
    )
    put_out_by: TimeOfDay | None = Field(
        default=None, description="when it has to be outside: said, and later today's is not told any more"
    )
    say_none: bool = Field(default=False, description="whether to say that nothing is collected")

    _check_dates = field_validator("without")(_dates)

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not (self.rules or self.url or self.file or self.caldav):
            message = "give rules, or a calendar by url or file"
            raise ValueError(message)
        return self


FACTS = """What the template of ``waste`` sees.

today: names of what is collected today; empty in the evening, and after put_out_by. tomorrow: in the evening those of
tomorrow, else empty. evening: whether it is. put_out_by: a time of day, or None."""


@dataclass(frozen=True, slots=True)
class _House(Calendar):
    """The calendar of the house, as far as rules for waste need it: whether a day is a holiday."""

    named: Callable[[date], str | None] = field(default=lambda _: None)

    def name_of(self, day: date) -> str | None:
        return self.named(day)


class WasteSection:
    """What is collected."""

    def __init__(self, settings: WasteSettings) -> None:
        self._settings = settings
        self._rules = [(rule, rule.rule()) for rule in settings.rules]
        self._has_calendar = bool(settings.url or settings.file or settings.caldav)

    async def fetch(self, surroundings: Surroundings) -> Any:
        """The days of the calendar, where there is one; the rules need no data."""
        if not self._has_calendar:
            return {"until": None, "events": []}
        first = surroundings.due.date()
        last = first + timedelta(days=_DAYS_AHEAD)
        events = await read_events(self._settings, first, last, surroundings)
        return kept(events, last)

    def facts(self, data: Any, surroundings: Surroundings) -> Mapping[str, Any] | None:
        """See :data:`FACTS`."""
        settings, due = self._settings, surroundings.due
        now, today = due.timetz().replace(tzinfo=None), due.date()
        evening = settings.evening is not None and now >= settings.evening
        late = settings.put_out_by is not None and now >= settings.put_out_by
        own = [] if evening or late else self._collected(today, data, surroundings)
        later = self._collected(today + timedelta(days=1), data, surroundings) if evening else []
        if not own and not later and (not settings.say_none or (late and not evening)):
            return None
        return {"today": own, "tomorrow": later, "evening": evening, "put_out_by": settings.put_out_by}

    def _collected(self, day: date, data: Any, surroundings: Surroundings) -> list[str]:
        calendar = _House(surroundings.zone, named=surroundings.holiday)
        free = _holds(self._settings.without, day)
        names = [rule.name for rule, regular in self._rules if _on(rule, regular, day, calendar, free=free)]
        if self._has_calendar:
            until, events = checked(lambda: from_kept(data, surroundings.zone), "waste")
            if day > until:
                raise SectionError(f"the calendar of waste is known until {until}")
            names += [event.summary for event in events if event.summary and event.on(day)]
        return list(dict.fromkeys(names))


def _on(rule: WasteRule, regular: Rule | None, day: date, calendar: Calendar, *, free: bool) -> bool:
    """Whether it is collected: dates that are named for this rule say more than those of all, and these than days."""
    if _holds(rule.without, day):
        return False
    if _holds(rule.also, day):
        return True
    return not free and regular is not None and regular.holds(day, calendar)


def _holds(texts: list[str], day: date) -> bool:
    spans: list[Dates | None] = [parse_dates(text) for text in texts]
    return any(span is not None and day in span for span in spans)


KIND = BundledKind("waste", WasteSettings, WasteSection, words_of("waste"))
