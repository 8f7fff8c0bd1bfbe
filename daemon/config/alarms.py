"""Keys of `alarms`, in the configuration and in messages that make alarms at run time."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from daemon.alarms.alarm import Alarm, Snooze
from daemon.briefings.words.template import TemplateText
from daemon.chimes import NONE
from daemon.config.base import Model, OneOrMore, speech_option
from daemon.config.schedule import RuleConfig
from daemon.config.values import Duration, Identifier, Percent


class SnoozeConfig(Model):
    """How an alarm is put off."""

    length: Duration = Field(default=540.0, description="for how long, where nobody says otherwise")
    count: int = Field(default=10, ge=0, le=1000, description="how often at most; 0 means never")

    @field_validator("length")
    @classmethod
    def _sensible(cls, value: float) -> float:
        if not 10 <= value <= 3 * 3600:
            message = "a duration from 10s to 3h is expected"
            raise ValueError(message)
        return value


class FadeConfig(Model):
    """A volume that rises."""

    begin: Percent = Field(default=15, description="volume at first; the alarm's volume is where it ends")
    length: Duration = Field(default=30.0, description="how long it rises")


class ThenConfig(Model):
    """What follows when an alarm was dismissed."""

    briefing: Identifier = Field(description="the name of a briefing")


def _or_length(value: Any) -> Any:
    """A bare duration is the length."""
    return value if isinstance(value, dict | Model) else {"length": value}


SnoozeField = Annotated[SnoozeConfig, BeforeValidator(_or_length, json_schema_input_type=SnoozeConfig | Duration)]
FadeField = Annotated[FadeConfig, BeforeValidator(_or_length, json_schema_input_type=FadeConfig | Duration)]

_MOST_NOTICES = 20
DEFAULT_TEXT = "{{ now | time }}です。"


class AlarmConfig(RuleConfig):
    """An alarm: it rings until somebody answers it."""

    name: str = Field(default="", max_length=80, description="for people, as Home Assistant shows it")
    text: TemplateText = Field(
        default=DEFAULT_TEXT, max_length=1000, description="what is said; a template, `now` is its moment"
    )
    sound: str | None = Field(
        default="rising", description="chime before the speech: its name or an absolute path; none leaves it out"
    )
    speaker: str | None = None
    style: str | None = None
    speed: float | None = speech_option("speed")
    pitch: float | None = speech_option("pitch")
    intonation: float | None = speech_option("intonation")
    volume: int = Field(default=60, ge=1, le=100, description="its own, whatever that of announcements is")
    fade_in: FadeField = Field(
        default=FadeConfig(length=0.0), description="a duration, or {begin: 15, length: 30s}: the volume rises"
    )
    repeat_every: Duration = Field(default=20.0, description="pause before it rings again")
    max_ring: Duration = Field(default=900.0, description="after so long without an answer it gives up")
    snooze: SnoozeField = Field(default=SnoozeConfig(), description="a duration, or {length: 9m, count: 10}")
    pre_alarm: OneOrMore[Duration] | None = Field(
        default=None, description="how long before it an event is sent, for lamps and heating"
    )
    grace: Duration = Field(default=900.0, description="how late it still rings; later it is reported as missed")
    ignore_vacation: bool = Field(default=False, description="it rings on vacation too")
    enabled: bool = True
    say_missed: bool = Field(default=False, description="say aloud that it was missed")
    then: ThenConfig | None = Field(default=None, description="{briefing: NAME} follows when it was dismissed")

    @field_validator("max_ring")
    @classmethod
    def _rings_at_all(cls, value: float) -> float:
        if not 10 <= value <= 6 * 3600:
            message = "a duration from 10s to 6h is expected"
            raise ValueError(message)
        return value

    @field_validator("pre_alarm")
    @classmethod
    def _ahead(cls, value: list[float] | None) -> list[float] | None:
        if len(value or ()) > _MOST_NOTICES:
            message = f"at most {_MOST_NOTICES} durations are expected, got {len(value or ())}"
            raise ValueError(message)
        if any(not 2 <= ahead <= 12 * 3600 for ahead in value or ()):
            message = "durations from 2s to 12h are expected"
            raise ValueError(message)
        return value

    @field_validator("repeat_every")
    @classmethod
    def _repeats(cls, value: float) -> float:
        if value > 600:
            message = "a duration from 0 to 10m is expected"
            raise ValueError(message)
        return value

    def alarm(self, alarm_id: str, *, once: bool = False, made_here: bool = False) -> Alarm:
        """The alarm as a frozen value."""
        options = self.model_dump(include={"style", "speed", "pitch", "intonation"}, exclude_none=True)
        return Alarm(
            alarm_id,
            self.rule(),
            self.text,
            name=self.name,
            sound=None if self.sound == NONE else self.sound,
            speaker=self.speaker,
            options=MappingProxyType(options),
            volume=self.volume,
            fade_from=self.fade_in.begin,
            fade_in=timedelta(seconds=self.fade_in.length),
            repeat_every=timedelta(seconds=self.repeat_every),
            max_ring=timedelta(seconds=self.max_ring),
            snooze=Snooze(timedelta(seconds=self.snooze.length), self.snooze.count),
            pre_alarm=tuple(timedelta(seconds=ahead) for ahead in self.pre_alarm or ()),
            grace=timedelta(seconds=self.grace),
            ignores_vacation=self.ignore_vacation,
            enabled=self.enabled,
            then=None if self.then is None else self.then.briefing,
            say_missed=self.say_missed,
            once=once,
            made_here=made_here,
        )
