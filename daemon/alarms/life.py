"""The life of one ring of an alarm, as pure functions: ringing, snoozed, dismissed, missed.

An alarm is armed while no ring of it exists. ::

    armed ──due──> ringing ──dismiss──> dismissed
                   │  ^  └──max_ring──> missed
             snooze│  │its time has come
                   v  │
                   snoozed ──dismiss──> dismissed
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from daemon.alarms.alarm import Alarm
from daemon.errors import RequestError

LONGEST_SNOOZE = timedelta(hours=3)
"""A snooze that was due longer ago than the alarm's grace is not rung after a restart."""


class State(StrEnum):
    """Where a ring is in its life."""

    RINGING = "ringing"
    SNOOZED = "snoozed"
    DISMISSED = "dismissed"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Ring:
    """One ring of an alarm.

    Attributes:
        alarm: its id.
        due: moment of the occurrence, in UTC.
        began: when it began to ring this time (after a snooze: anew).
        state: where it is.
        until: in ``ringing``: when it gives up; in ``snoozed``: when it rings again.
        snoozes: how often it was snoozed.
        heard: whether its sound has begun.
    """

    alarm: str
    due: datetime
    began: datetime
    state: State
    until: datetime
    snoozes: int = 0
    heard: bool = False

    @property
    def active(self) -> bool:
        """Whether somebody can still answer it."""
        return self.state in (State.RINGING, State.SNOOZED)

    def as_json(self) -> dict[str, Any]:
        """For the store: moments as seconds since 1970."""
        moments = {name: getattr(self, name).timestamp() for name in ("due", "began", "until")}
        return {"alarm": self.alarm, "state": str(self.state), "snoozes": self.snoozes, "heard": self.heard} | moments

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Ring:
        """From the store.

        Raises:
            ValueError: it is no ring.
        """
        try:
            moments = {name: datetime.fromtimestamp(value[name], UTC) for name in ("due", "began", "until")}
            return cls(
                str(value["alarm"]),
                state=State(value["state"]),
                snoozes=int(value["snoozes"]),
                heard=bool(value.get("heard", True)),
                **moments,
            )
        except (KeyError, TypeError, OverflowError, OSError) as error:
            message = f"no ring: {value!r}"
            raise ValueError(message) from error


def begin(alarm: Alarm, due: datetime, now: datetime) -> Ring:
    """It begins to ring."""
    return Ring(alarm.id, due, now, State.RINGING, now + alarm.max_ring)


def snooze(ring: Ring, alarm: Alarm, now: datetime, length: timedelta | None = None) -> Ring:
    """It is put off; also a snoozed one can be, anew from now.

    Raises:
        RequestError: it was put off as often as it may be.
    """
    if ring.snoozes >= alarm.snooze.count:
        often = "never" if alarm.snooze.count == 0 else f"{alarm.snooze.count} times at most"
        message = f"the alarm {alarm.id!r} can be snoozed {often}; it rings on: dismiss it"
        raise RequestError(message)
    until = now + (length or alarm.snooze.length)
    return replace(ring, state=State.SNOOZED, until=until, snoozes=ring.snoozes + 1)


def ring_again(ring: Ring, alarm: Alarm, now: datetime) -> Ring:
    """The time of a snooze has come."""
    return replace(ring, state=State.RINGING, began=now, until=now + alarm.max_ring)


def dismiss(ring: Ring) -> Ring:
    """Somebody is awake."""
    return replace(ring, state=State.DISMISSED)


def give_up(ring: Ring) -> Ring:
    """Nobody answered."""
    return replace(ring, state=State.MISSED)


def after_restart(ring: Ring, alarm: Alarm, now: datetime) -> Ring:
    """What becomes of a ring that a stop, a crash or a power cut left behind.

    What rang rings on while its time is not over; what was snoozed waits on, or rings late within the alarm's grace.
    Later than that it is missed: an alarm that rings hours after its time helps nobody.
    """
    if ring.state is State.RINGING:
        return ring if now < ring.until and now >= ring.began - LONGEST_SNOOZE else give_up(ring)
    if now < ring.until:
        return ring if ring.until - now <= LONGEST_SNOOZE else give_up(ring)
    return ring_again(ring, alarm, now) if now - ring.until <= alarm.grace else give_up(ring)
