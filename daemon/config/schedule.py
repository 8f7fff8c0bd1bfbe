"""Keys of `schedule`, and those that say when something is due, wherever they stand."""

from __future__ import annotations

from datetime import date, time
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from daemon.config.base import Model, OneOrMore, Priority, speech_option
from daemon.config.values import At, Day, Duration, Identifier, Percent
from daemon.schedule.days import EVERY_DAY, Days, Weekdays
from daemon.schedule.rules import EVERY_HELP, Every, Rule, check_cron, parse_every
from daemon.schedule.sun import SunTime
from daemon.schedule.words import DAYS_HELP, parse_days

MOST_TIMES = 100
"""So many times of day one rule may have: each is looked at whenever the plan changes."""


def rule_of_days(
    words: list[str] | None,
    every: str | None,
    first: date | None,
    last: date | None,
    *,
    times: tuple[time | SunTime, ...] = (),
) -> Rule:
    """A rule from validated keys; every n weeks without days means the weekday of the first date."""
    days = EVERY_DAY if words is None else parse_days(words)
    if every is None or first is None:
        return Rule(times, days, None, first, last)
    count, unit = parse_every(every)
    if unit == "weeks" and words is None:
        days = Days((Weekdays(frozenset({first.weekday()})),))
    return Rule(times, days, Every(count, unit, first), first, last)


class RuleConfig(Model):
    """When something is due. ``rule`` gives it as the planner wants it."""

    at: OneOrMore[At] | None = Field(
        default=None, description="time of day, or sunrise or sunset (sunset-30m), or several"
    )
    days: OneOrMore[str] | None = Field(default=None, description=DAYS_HELP)
    every: str | None = Field(default=None, description=f"{EVERY_HELP}, counted from the date of from")
    from_: Day | None = Field(default=None, alias="from", description="the first date")
    until: Day | None = Field(default=None, description="the last date")
    cron: str | None = Field(default=None, description="five fields as in crontab(5); 1 and mon are Monday")

    @field_validator("at")
    @classmethod
    def _not_too_many(cls, value: list[Any] | None) -> list[Any] | None:
        if value is not None and len(value) > MOST_TIMES:
            message = f"at most {MOST_TIMES} times are expected, got {len(value)}; cron can say more"
            raise ValueError(message)
        return value

    @field_validator("days", mode="before")
    @classmethod
    def _days_form(cls, value: Any) -> Any:
        if value is not None:
            parse_days(value if isinstance(value, list) else [value])
        return value

    @field_validator("every", mode="before")
    @classmethod
    def _every_form(cls, value: Any) -> Any:
        if value is not None:
            parse_every(value)
        return value

    @field_validator("cron")
    @classmethod
    def _cron_form(cls, value: str | None) -> str | None:
        if value is not None:
            check_cron(value)
        return value

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if (self.at is None) == (self.cron is None):
            message = "give either at (with days, if not every day) or cron"
        elif self.cron is not None and self.days is not None:
            message = "days goes with at; cron has weekdays of its own"
        elif self.cron is not None and self.every is not None:
            message = "every goes with at, not with cron"
        elif self.every is not None and self.from_ is None:
            message = "every needs from, the date that it counts from"
        elif self.from_ is not None and self.until is not None and self.until < self.from_:
            message = f"until ({self.until}) lies before from ({self.from_})"
        else:
            return self
        raise ValueError(message)

    def rule(self) -> Rule:
        """The rule as a frozen value."""
        if self.cron is not None:
            return Rule(first=self.from_, last=self.until, cron=self.cron)
        return rule_of_days(self.days, self.every, self.from_, self.until, times=tuple(self.at or ()))


class ScheduleEntryConfig(RuleConfig):
    """Something that is said at set times."""

    id: Identifier | None = Field(default=None, description="name of the entry; default: schedule-N")
    say: str | None = Field(default=None, min_length=1, description="the text")
    briefing: str | None = Field(default=None, description="name of the briefing that is told instead of a text")
    speaker: str | None = None
    style: str | None = None
    speed: float | None = speech_option("speed")
    pitch: float | None = speech_option("pitch")
    intonation: float | None = speech_option("intonation")
    volume: Percent | None = None
    chime: str | None = None
    end_chime: str | None = None
    priority: Priority | None = None
    grace: Duration = Field(default=60.0, description="how late it may still be said; later it is reported as missed")
    enabled: bool = True
    ignore_vacation: bool = Field(default=True, description="it is said on vacation too")

    @model_validator(mode="after")
    def _one_matter(self) -> Self:
        if (self.say is None) == (self.briefing is None):
            message = "give either say (a text) or briefing (the name of one)"
            raise ValueError(message)
        return self

    @property
    def what(self) -> str:
        """What is said, for lists."""
        return self.say if self.say is not None else f"briefing {self.briefing}"
