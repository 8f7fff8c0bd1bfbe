"""Keys of `schedule`."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator, model_validator

from daemon.config.base import Model, OneOrMore, Priority, speech_option
from daemon.config.values import Duration, Identifier, Percent, TimeOfDay
from daemon.schedule.days import DAYS_HELP, parse_days
from daemon.schedule.rules import check_cron


class ScheduleEntryConfig(Model):
    """Something that is said at set times."""

    id: Identifier | None = Field(default=None, description="name of the entry; default: schedule-N")
    at: OneOrMore[TimeOfDay] | None = Field(default=None, description="time of day, or several")
    days: OneOrMore[str] | None = Field(default=None, description=DAYS_HELP)
    cron: str | None = Field(default=None, description="five fields as in crontab(5); 1 and mon are Monday")
    say: str = Field(min_length=1, description="the text")
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

    @field_validator("days", mode="before")
    @classmethod
    def _days_form(cls, value: Any) -> Any:
        if value is not None:
            parse_days(value if isinstance(value, list) else [value])
        return value

    @field_validator("cron")
    @classmethod
    def _cron_form(cls, value: str | None) -> str | None:
        if value is not None:
            check_cron(value)
        return value

    @model_validator(mode="after")
    def _one_rule(self) -> ScheduleEntryConfig:
        if (self.at is None) == (self.cron is None):
            message = "give either at (with days, if not every day) or cron"
            raise ValueError(message)
        if self.cron is not None and self.days is not None:
            message = "days goes with at; cron has weekdays of its own"
            raise ValueError(message)
        return self
