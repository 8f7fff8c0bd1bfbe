"""Alarms that were missed: one event for each, and one spoken summary of those that want it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType
from zoneinfo import ZoneInfo

from daemon import events
from daemon.alarms.alarm import Alarm
from daemon.announcement import Announcement, Priority, new_id
from daemon.clock import Clock
from daemon.events import Event, Events
from daemon.schedule.scheduler import Missed
from daemon.service.tasks import Background

_log = logging.getLogger("asagoe.alarm")

GATHER = 3.0
"""Seconds in which missed alarms are gathered for one summary."""


class MissedAlarms:
    """Tells of missed alarms. All calls are on the event loop.

    Args:
        clock: of the gathering.
        zone: of the moments that are told.
        bus: told of each.
        say: takes the announcement of the summary.
        summary: puts the moments into words.
        background: for the gathering.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        zone: ZoneInfo,
        bus: Events,
        say: Callable[[Announcement], object],
        summary: Callable[[list[datetime]], str],
        background: Background,
    ) -> None:
        self._clock = clock
        self._zone = zone
        self._bus = bus
        self._say = say
        self._summary = summary
        self._background = background
        self._to_tell: list[datetime] = []

    def tell(self, missed: Missed, alarm: Alarm) -> None:
        """Tell of one alarm that was too late to ring."""
        due, late = missed.occurrence.due, round(missed.lateness)
        reason = f"noticed {late} s late, more than its grace of {alarm.grace.total_seconds():g} s"
        _log.warning("the alarm %s was missed: %s", alarm.id, reason)
        details = {
            "alarm": alarm.id,
            "due": due.astimezone(self._zone).isoformat(timespec="seconds"),
            "count": missed.count,
        }
        self._bus.emit(Event(events.ALARM_MISSED, alarm.id, reason, MappingProxyType(details)))
        if alarm.say_missed:
            self._to_tell.append(due.astimezone(self._zone))
            if len(self._to_tell) == 1:
                self._background.start(self._tell_all(), "missed alarms")

    async def _tell_all(self) -> None:
        await self._clock.sleep(GATHER)
        moments, self._to_tell = sorted(self._to_tell), []
        self._say(
            Announcement(
                id=f"missed-{new_id()}",
                text=self._summary(moments),
                origin="alarm",
                received=self._clock.now(),
                received_at=self._clock.monotonic(),
                priority=Priority.HIGH,
            )
        )
