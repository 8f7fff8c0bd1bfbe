"""What an alarm is: when it is due, what is heard, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from daemon.schedule.rules import Rule

SIREN = "siren"
"""The id of the bell when it is rung as a siren is; no alarm can have it."""


@dataclass(frozen=True, slots=True)
class Snooze:
    """How an alarm is put off.

    Attributes:
        length: for how long, where nobody says otherwise.
        count: how often at most; 0 means never.
    """

    length: timedelta = timedelta(minutes=9)
    count: int = 10


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm, wherever it was made.

    Attributes:
        id: unique among alarms and schedule entries.
        rule: when it is due.
        text: what is said.
        is_template: whether the text is a template; what came by message never is.
        name: for people.
        sound: chime before the speech, or None for none.
        speaker: name of a speaker, or None for the default.
        options: speech options.
        volume: 0 to 100, its own: that of announcements does not matter.
        fade_from: volume at which it begins.
        fade_in: how long the volume rises from there.
        repeat_every: pause between the end of one ring and the next.
        max_ring: after so long without an answer it gives up.
        snooze: how it is put off.
        pre_alarm: moments before it is due that are announced as events, for lamps and heating.
        grace: how late it still rings.
        ignores_vacation: it rings on vacation too.
        enabled: as its definition says.
        then: the id of a briefing that follows when it was dismissed.
        say_missed: say aloud that it was missed.
        once: made for one occurrence, forgotten after it.
        made_here: made at run time, not by the configuration.
    """

    id: str
    rule: Rule
    text: str
    is_template: bool = True
    name: str = ""
    sound: str | None = "rising"
    speaker: str | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    volume: int = 60
    fade_from: int = 15
    fade_in: timedelta = timedelta()
    repeat_every: timedelta = timedelta(seconds=20)
    max_ring: timedelta = timedelta(minutes=15)
    snooze: Snooze = Snooze()
    pre_alarm: tuple[timedelta, ...] = ()
    grace: timedelta = timedelta(minutes=15)
    ignores_vacation: bool = False
    enabled: bool = True
    then: str | None = None
    say_missed: bool = False
    once: bool = False
    made_here: bool = False
