"""Keys of `quiet_hours` and `volumes`: what is different at some times of day."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from daemon.announcement import Priority
from daemon.config.base import Model, OneOrMore
from daemon.config.values import Percent, TimeOfDay
from daemon.quiet import Action, QuietRange, Span, VolumeRange
from daemon.schedule.days import EVERY_DAY
from daemon.schedule.words import DAYS_HELP, parse_days

SOFT = 25
"""Volume of what is softened, where the configuration names none."""


class _RangeConfig(Model):
    start: TimeOfDay = Field(alias="from", description="when it begins")
    end: TimeOfDay = Field(alias="to", description="when it ends; not later than `from` means on the next day")
    days: OneOrMore[str] | None = Field(
        default=None, description=f"days on which it begins; default: every day; {DAYS_HELP}"
    )

    @field_validator("days", mode="before")
    @classmethod
    def _days_form(cls, value: Any) -> Any:
        if value is not None:
            parse_days(value if isinstance(value, list) else [value])
        return value

    @property
    def span(self) -> Span:
        """When it holds."""
        return Span(self.start, self.end, EVERY_DAY if self.days is None else parse_days(self.days))


class QuietRangeConfig(_RangeConfig):
    """Hours in which not everything is said. Critical announcements and alarms always are."""

    action: Literal["drop", "defer", "soften"] = Field(
        default="defer", description="drop it, keep it until the hours are over, or say it at `volume` at most"
    )
    below: Literal["normal", "high", "critical"] = Field(
        default="high", description="announcements of a lower priority than this are meant"
    )
    volume: Percent | None = Field(default=None, description=f"with soften: the loudest volume; default: {SOFT}")

    @model_validator(mode="after")
    def _volume_goes_with_soften(self) -> QuietRangeConfig:
        if self.volume is not None and self.action != "soften":
            message = "volume goes with action: soften"
            raise ValueError(message)
        return self

    @property
    def range(self) -> QuietRange:
        """The range as the service uses it."""
        loudest = (SOFT if self.volume is None else self.volume) if self.action == "soften" else None
        return QuietRange(self.span, Action(self.action), Priority.named(self.below), loudest)


class VolumeRangeConfig(_RangeConfig):
    """Hours with a volume of their own. `set/volume` changes it until they end; then the volume before them is back."""

    volume: Percent = Field(description="0 to 100")

    @property
    def range(self) -> VolumeRange:
        """The range as the service uses it."""
        return VolumeRange(self.span, self.volume)
