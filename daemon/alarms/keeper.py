"""Looks after alarms that ring or were put off: from their moment until somebody answered, also over a restart."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from daemon import events
from daemon.alarms import life
from daemon.alarms.alarm import SIREN as SIREN_ID
from daemon.alarms.alarm import Alarm
from daemon.alarms.clips import Clips
from daemon.alarms.life import Ring, State
from daemon.alarms.ringer import Ringer, sound_problem
from daemon.announcer import Announcer
from daemon.clock import Clock
from daemon.errors import RequestError
from daemon.events import Event, Events
from daemon.schedule.rules import Rule
from daemon.schedule.scheduler import HANDOVER, WAKE_AHEAD
from daemon.schedule.timers import Timers
from daemon.store import Records

_log = logging.getLogger("asagoe.alarm")

_TABLE = "rings"
_SHOWN_LATE = timedelta(seconds=1)


SIREN = Alarm(SIREN_ID, Rule(), "", is_template=False, sound=None, repeat_every=timedelta(seconds=1))
"""What rings when the bell is asked for: it has no speech and no rule; ``once`` when it was asked for a length."""


class AlarmKeeper:
    """Rings alarms. All calls are on the event loop.

    Args:
        clock: of everything.
        timers: wait for the end of a snooze.
        zone: of the moments that alarms speak of.
        announcer: plays them.
        clips: their sounds.
        bus: tells what happens.
        records: keep what rings over a restart.
        on_wake: opens the sound device shortly before a snooze ends.
        on_done: called when an alarm was dismissed (True) or missed (False), with the alarm.
        on_change: called after every change of what ``state`` says.
        audio: where sound goes: ``sink``, ``audible``, and ``problem``, what is wrong with other devices.

    Attributes:
        volume: of all alarms, 0 to 100, asked for each round; None leaves each its own. The siren has its own.
        snooze_length: for how long alarms are put off where nobody says otherwise; None leaves each its own.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        timers: Timers,
        zone: ZoneInfo,
        announcer: Announcer,
        clips: Clips,
        bus: Events,
        records: Records,
        on_wake: Callable[[], None],
        on_done: Callable[[Alarm, bool], None],
        on_change: Callable[[], None],
        audio: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self._clock = clock
        self._timers = timers
        self._zone = zone
        self._announcer = announcer
        self._clips = clips
        self._bus = bus
        self._records = records
        self._on_wake = on_wake
        self._on_done = on_done
        self._on_change = on_change
        self._audio = audio
        self.volume: Callable[[], int | None] = lambda: None
        self.snooze_length: Callable[[], timedelta | None] = lambda: None
        self._rings: dict[str, Ring] = {}
        self._alarms: dict[str, Alarm] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ringers: dict[str, Ringer] = {}

    @property
    def rings(self) -> Mapping[str, Ring]:
        """What rings or is snoozed, by the id of its alarm."""
        return MappingProxyType(self._rings)

    @property
    def state(self) -> str | None:
        """``ringing`` or ``snoozed``; None when neither is the case."""
        states = {ring.state for ring in self._rings.values()}
        return next((str(state) for state in (State.RINGING, State.SNOOZED) if state in states), None)

    # From the schedule.

    def prepare(self, alarm: Alarm, due: datetime) -> None:
        """Make its sound, ahead of its moment."""
        self._clips.prepare(alarm, due.astimezone(self._zone))

    def ring(self, alarm: Alarm, due: datetime, reason: str | None = None) -> None:
        """Ring an alarm at its moment, which may be a second away, or late."""
        if alarm.id in self._rings:  # it rings still, or again, from the time before: that one ends here
            self._end(alarm.id, life.give_up(self._rings[alarm.id]), "it is due again")
        now = self._clock.now()
        late = max(timedelta(), now - due)
        if late > _SHOWN_LATE and alarm.id != SIREN.id:
            self._clips.prepare(alarm, now.astimezone(self._zone), late)
        self._start(alarm, life.begin(alarm, due, max(due, now)), late, reason)

    def ring_now(self, alarm: Alarm) -> None:
        """Ring an alarm at once; its next occurrence stays."""
        now = self._clock.now()
        self._clips.prepare(alarm, now.astimezone(self._zone))
        self.ring(alarm, now, "somebody asked for it")

    def ring_bell(self, siren: Alarm = SIREN) -> None:
        """Ring the bell, or another sound without speech, until somebody answers, as a siren does.

        Args:
            siren: ``SIREN``, with whatever was asked for otherwise.
        """
        if siren.id in self._rings:  # before its sound is made: what ends forgets its own
            self._end(siren.id, life.dismiss(self._rings[siren.id]), "it was asked for again")
        if siren.sound is None:
            self._clips.forget(siren.id)
        else:
            self._clips.prepare_sound(siren, siren.sound)
        self.ring(siren, self._clock.now(), "somebody asked for it")

    # From people.

    def snooze(self, alarm_id: str | None = None, length: timedelta | None = None) -> list[str]:
        """Put off what rings, or one alarm; returns the ids.

        Raises:
            RequestError: nothing rings, or it was put off as often as it may be.
        """
        rings = self._asked_for(alarm_id, "snooze", (State.RINGING,))
        now = self._clock.now()
        length = length or self.snooze_length()
        snoozed = [life.snooze(ring, self._alarms[ring.alarm], now, length) for ring in rings]
        for ring in snoozed:
            self._stop_sound(ring.alarm)
            self._snoozed(ring)
            details = self._details(ring) | {"until": ring.until.astimezone(self._zone).isoformat(timespec="seconds")}
            self._bus.emit(Event(events.ALARM_SNOOZED, ring.alarm, None, MappingProxyType(details)))
        self._on_change()
        return [ring.alarm for ring in snoozed]

    def dismiss(self, alarm_id: str | None = None) -> list[str]:
        """End what rings; when nothing does, what is snoozed; or one alarm. Returns the ids.

        Raises:
            RequestError: there is nothing to dismiss.
        """
        rings = self._asked_for(alarm_id, "dismiss", (State.RINGING, State.SNOOZED))
        for ring in rings:
            self._end(ring.alarm, life.dismiss(ring), None)
        return [ring.alarm for ring in rings]

    def dismissed_early(self, alarm: Alarm, due: datetime) -> None:
        """Tell that an alarm was dismissed before it rang."""
        self._clips.forget(alarm.id)
        details = {"alarm": alarm.id, "due": due.astimezone(self._zone).isoformat(timespec="seconds"), "snoozes": 0}
        self._bus.emit(Event(events.ALARM_DISMISSED, alarm.id, "before it rang", MappingProxyType(details)))
        self._on_change()
        self._on_done(alarm, True)

    def notice(self, alarm: Alarm, due: datetime, ahead: timedelta) -> None:
        """Tell that an alarm will ring, for lamps and heating."""
        details = {
            "alarm": alarm.id,
            "name": alarm.name,
            "due": due.astimezone(self._zone).isoformat(timespec="seconds"),
            "ahead_s": round(ahead.total_seconds()),
        }
        self._bus.emit(Event(events.ALARM_PRE, alarm.id, None, MappingProxyType(details)))

    def replace(self, alarms: Mapping[str, Alarm]) -> None:
        """Take over changed alarms. What rings goes on as it began; one that is no more still has to be answered."""
        self._alarms = {**{name: self._alarms[name] for name in self._rings}, **alarms}

    def sound_changed(self) -> None:
        """Sound goes elsewhere, or a device failed: what rings and is concerned says it at once."""
        for ringer in self._ringers.values():
            ringer.sound_changed()

    def clock_moved(self, by: timedelta) -> None:
        """The wall clock was set: what is snoozed waits as long as it was asked to."""
        for ring in list(self._rings.values()):
            moved = replace(ring, began=ring.began + by, until=ring.until + by)
            if ring.state is State.SNOOZED:
                self._snoozed(moved)
            else:
                self._keep(moved)

    def restore(self) -> None:
        """Go on with what rang or was snoozed when the service stopped."""
        now = self._clock.now()
        for name, value in list(self._records.all(_TABLE).items()):
            if name in self._rings:  # it was due while the service was not running, and rings since a moment ago
                continue
            alarm = SIREN if name == SIREN.id else self._alarms.get(name)
            try:
                ring = life.after_restart(Ring.of_json(value), alarm, now) if alarm else None
            except ValueError as error:
                _log.warning("left out what is kept of a ring: %s", error)
                ring = None
            if alarm is None:
                self._lost(name, value)
            elif ring is None:
                self._records.remove(_TABLE, name)
            elif ring.state is State.SNOOZED:
                self._snoozed(ring)
            elif ring.active:
                # Handed over before its moment, it may not have begun when the service stopped: then it is late.
                late = timedelta() if ring.heard else max(timedelta(), now - ring.began)
                self._clips.prepare(alarm, max(now, ring.began).astimezone(self._zone), late)
                self._start(alarm, replace(ring, began=max(now, ring.began)), late, "the service was restarted")
            else:
                self._rings[name] = ring
                self._end(name, ring, "the service was not running")

    def _lost(self, name: str, value: Mapping[str, object]) -> None:
        """Something rang when the service stopped, and nobody knows any more what."""
        self._records.remove(_TABLE, name)
        with contextlib.suppress(ValueError):
            details = MappingProxyType(self._details(Ring.of_json(value)))
            reason = "it rang when the service stopped, and is not there any more"
            self._bus.emit(Event(events.ALARM_MISSED, name, reason, details))

    async def shut_down(self) -> None:
        """Fall silent; what rings is kept for the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Details.

    def _asked_for(self, alarm_id: str | None, action: str, states: tuple[State, ...]) -> list[Ring]:
        """The rings that are meant: the named one, or all in the first of the states in which there are any."""
        if alarm_id is not None:
            ring = self._rings.get(alarm_id)
            if ring is None or ring.state not in (State.RINGING, State.SNOOZED):
                message = f"the alarm {alarm_id!r} neither rings nor is snoozed: there is nothing to {action}"
                raise RequestError(message)
            return [ring]
        for state in states:
            found = [ring for ring in self._rings.values() if ring.state is state]
            if found:
                return found
        message = f"no alarm rings: there is nothing to {action}"
        raise RequestError(message)

    def _start(self, alarm: Alarm, ring: Ring, late: timedelta, reason: str | None) -> None:
        if alarm.id == SIREN.id:
            self._alarms[alarm.id] = alarm  # each has its own sound and length
        else:
            self._alarms.setdefault(alarm.id, alarm)
        self._timers.cancel(f"snooze {alarm.id}")
        self._timers.cancel(f"wake snooze {alarm.id}")
        self._keep(ring)
        details = self._details(ring) | {"name": alarm.name, "late_s": round(late.total_seconds())}
        self._bus.emit(Event(events.ALARM_RINGING, alarm.id, reason, MappingProxyType(details)))
        self._stop_sound(alarm.id)
        self._tasks[alarm.id] = asyncio.create_task(self._ringing(alarm, ring), name=f"ring {alarm.id}")
        self._on_change()

    async def _ringing(self, alarm: Alarm, ring: Ring) -> None:
        def trouble(reason: str) -> None:
            _log.error("the alarm %s: %s", alarm.id, reason)
            self._bus.emit(Event(events.ALARM_FAILED, alarm.id, reason, MappingProxyType(self._details(ring))))

        ringer = Ringer(
            alarm,
            ring,
            clock=self._clock,
            announcer=self._announcer,
            clips=self._clips,
            bus=self._bus,
            on_trouble=trouble,
            on_heard=lambda: self._heard(alarm.id),
            sound_problem=lambda: sound_problem(self._audio()),
            volume=(lambda: None) if alarm.id == SIREN.id else self.volume,
        )
        self._ringers[alarm.id] = ringer
        try:
            await ringer.run()
        finally:
            if self._ringers.get(alarm.id) is ringer:
                del self._ringers[alarm.id]
        self._tasks.pop(alarm.id, None)
        last = self._rings.get(alarm.id, ring)
        if alarm.id == SIREN.id and alarm.once:  # it was asked to ring for so long, and did
            self._end(alarm.id, life.dismiss(last), "its time is over")
        else:
            self._end(alarm.id, life.give_up(last), "nobody answered it")

    def _heard(self, alarm_id: str) -> None:
        ring = self._rings.get(alarm_id)
        if ring is not None and not ring.heard:
            self._keep(replace(ring, heard=True))

    def _snoozed(self, ring: Ring) -> None:
        self._keep(ring)
        alarm = self._alarms[ring.alarm]
        self._clips.prepare(alarm, ring.until.astimezone(self._zone))
        self._timers.at(f"wake snooze {ring.alarm}", ring.until - WAKE_AHEAD, self._on_wake)
        self._timers.at(f"snooze {ring.alarm}", ring.until - HANDOVER, lambda: self._ring_again(ring))

    def _ring_again(self, ring: Ring) -> None:
        if self._rings.get(ring.alarm) != ring:
            return  # it was answered meanwhile
        alarm, now = self._alarms[ring.alarm], self._clock.now()
        self._start(alarm, life.ring_again(ring, alarm, max(ring.until, now)), timedelta(), "its snooze is over")

    def _end(self, alarm_id: str, ring: Ring, reason: str | None) -> None:
        """Dismissed or missed: forget it, and tell."""
        self._rings.pop(alarm_id, None)
        self._records.remove(_TABLE, alarm_id)
        self._stop_sound(alarm_id)
        for purpose in ("snooze", "wake snooze"):
            self._timers.cancel(f"{purpose} {alarm_id}")
        self._clips.forget(alarm_id)
        dismissed = ring.state is State.DISMISSED
        kind = events.ALARM_DISMISSED if dismissed else events.ALARM_MISSED
        self._bus.emit(Event(kind, alarm_id, reason, MappingProxyType(self._details(ring))))
        self._on_change()
        alarm = self._alarms.get(alarm_id)
        if alarm is not None:
            self._on_done(alarm, dismissed)

    def _stop_sound(self, alarm_id: str) -> None:
        task = self._tasks.pop(alarm_id, None)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _keep(self, ring: Ring) -> None:
        self._rings[ring.alarm] = ring
        self._records.put(_TABLE, ring.alarm, ring.as_json())

    def _details(self, ring: Ring) -> dict[str, object]:
        return {
            "alarm": ring.alarm,
            "due": ring.due.astimezone(self._zone).isoformat(timespec="seconds"),
            "snoozes": ring.snoozes,
        }
