"""One alarm ringing: again and again until it is answered, with something that is heard, whatever fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from daemon import events
from daemon.alarms.alarm import Alarm
from daemon.alarms.clips import BELL, Clips, Ready
from daemon.alarms.life import Ring
from daemon.announcement import Announcement, Clip, Fade, Priority
from daemon.announcer import SKIPPED, Announcer
from daemon.clock import Clock
from daemon.events import Event, Events

_log = logging.getLogger("asagoe.alarm")

RETRY = 2.0
"""Seconds after which a ring that nobody could hear is tried again."""
PATIENCE = 60.0
"""Seconds beyond its length after which a ring that has not ended is taken for lost."""
FIRST_PATIENCE = 0.3
"""Seconds before the start up to which a first ring waits for speech that is nearly ready."""


def sound_problem(audio: Mapping[str, Any]) -> str | None:
    """What an alarm says of where its sound goes: that nobody hears it, or why another device is heard; or None."""
    problem: str | None = audio.get("problem")
    if audio.get("audible", True) or audio.get("sink") is None:
        return problem
    because = "" if problem is None else f" ({problem})"
    return f"nobody can hear it: its sound went to {audio['sink']}{because}"


class Ringer:
    """Rings one alarm, from its moment until cancelled or until it gives up. All calls are on the event loop.

    Args:
        alarm: what rings.
        ring: its life.
        clock: of its moments.
        announcer: plays it.
        clips: its sound.
        bus: tells what happens, and how each sound ended.
        volume: of each round, 0 to 100; None for the alarm's own.
        on_trouble: told when it cannot be heard as it should, with the reason, as soon as that is known.
        on_heard: told when a round's first sample was written.
        sound_problem: what is wrong with where sound goes now, or None.
    """

    def __init__(
        self,
        alarm: Alarm,
        ring: Ring,
        *,
        clock: Clock,
        announcer: Announcer,
        clips: Clips,
        bus: Events,
        on_trouble: Callable[[str], None],
        volume: Callable[[], int | None] = lambda: None,
        on_heard: Callable[[], None] = lambda: None,
        sound_problem: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._alarm = alarm
        self._volume = volume
        self._ring = ring
        self._clock = clock
        self._announcer = announcer
        self._clips = clips
        self._bus = bus
        self._on_trouble = on_trouble
        self._on_heard = on_heard
        self._sound_problem = sound_problem
        self._deadline = 0.0
        self._sounding = False
        self._told: set[str] = set()
        self._told_before: set[str] = set()
        self._distrusted: Clip | None = None
        self._why: str | None = None

    async def run(self) -> None:
        """Ring; returns when it gives up."""
        begin = self._monotonic_of_began()
        deadline = self._deadline = begin + (self._ring.until - self._ring.began).total_seconds()
        fade = Fade(self._alarm.fade_from, self._alarm.fade_in.total_seconds(), begin)
        start_at: float | None = begin
        number = 0
        await self._wait_for_speech(begin)
        while self._clock.monotonic() < deadline:
            heard = await self._sound(number, start_at, fade)
            number, start_at = number + 1, None
            pause = self._alarm.repeat_every.total_seconds() if heard else RETRY
            await self._clock.sleep(min(pause, max(0.0, deadline - self._clock.monotonic())))

    def _monotonic_of_began(self) -> float:
        ahead = (self._ring.began - self._clock.now()).total_seconds()
        return self._clock.monotonic() + ahead

    async def _wait_for_speech(self, begin: float) -> None:
        """Give speech that is being made the time that is left, or a moment when there is none left."""
        left = begin - self._clock.monotonic()
        working = self._clips.working(self._alarm.id)
        if working is not None:
            await asyncio.wait({working}, timeout=1.0 if left < 0 else max(0.0, left - FIRST_PATIENCE))

    def sound_changed(self) -> None:
        """Sound goes elsewhere, or a device failed: where that is this alarm's sound, it is told at once."""
        problem = self._sound_problem()
        if self._sounding and problem is not None:
            self._tell(problem)

    async def _sound(self, number: int, start_at: float | None, fade: Fade) -> bool:
        """One round of its sound; whether it was heard as it should be."""
        ready = self._clips.get(self._alarm)
        if ready.clip is self._distrusted:
            ready = Ready(self._clips.bell(), self._why)
        self._told_before, self._told = self._told, set()
        if ready.problem is not None:
            self._tell(ready.problem)
        heard, problem = await self._heard(ready, number, start_at, fade)
        if not heard and ready.clip.speaker != BELL:
            self._distrusted, self._why = ready.clip, problem
        if problem is not None:
            self._tell(problem)
        return heard

    def _tell(self, problem: str) -> None:
        """Tell a trouble when it is new: it was neither in this round nor in the one before."""
        if problem not in self._told | self._told_before:
            self._on_trouble(problem)
        self._told.add(problem)

    async def _heard(self, ready: Ready, number: int, start_at: float | None, fade: Fade) -> tuple[bool, str | None]:
        """Whether a round was heard, and what was not as it should be."""
        try:
            ended = await self._play(ready.clip, number, start_at, fade)
        except Exception as error:  # noqa: BLE001 - one of the named supervisors: an alarm goes on whatever happens
            _log.exception("a defect while ringing %s", self._alarm.id)
            return False, f"a defect: {error!r}"
        if ended is None:
            return False, "the sound did not come to an end: the player hangs"
        if ended.type == events.DROPPED and ended.reason == SKIPPED:
            return True, ready.problem
        if ended.type != events.FINISHED:
            return False, f"its sound {ended.type}: {ended.reason}"
        if not ended.details.get("audible", True):
            return False, self._sound_problem() or f"nobody can hear it: its sound went to {ended.details.get('sink')}"
        return True, ready.problem

    def _moment(self) -> str:
        """Of the ring, for the ids of its sounds; with a fraction where it is rung by hand, maybe twice in a second."""
        due = self._ring.due
        return f"{due:%Y%m%dT%H%M%S}" + (f".{due:%f}Z" if due.microsecond else "Z")

    async def _play(self, clip: Clip, number: int, start_at: float | None, fade: Fade) -> Event | None:
        volume = self._volume()
        announcement = Announcement(
            id=f"{self._alarm.id}@{self._moment()}/{self._ring.snoozes}.{number}",
            text=clip.text or self._clips.text(self._alarm),
            origin="alarm",
            received=self._clock.now(),
            received_at=self._clock.monotonic(),
            priority=Priority.ALARM,
            interrupt=True,
            volume=self._alarm.volume if volume is None else volume,
            clip=clip,
            start_at=start_at,
            fade=fade if self._alarm.fade_in > timedelta() else None,
        )
        ended = self._bus.end_of(announcement.id)
        started = self._bus.start_of(announcement.id)
        started.add_done_callback(self._started)
        length = sum(piece.audio.duration for piece in clip.pieces)
        lead = 0.0 if start_at is None else max(0.0, start_at - self._clock.monotonic())
        try:
            if not self._announcer.submit(announcement) and not ended.done():
                return Event(events.DROPPED, announcement.id, "its id was used before")
            return await self._end(ended, announcement.id, length + lead + PATIENCE)
        finally:
            self._sounding = False
            started.cancel()
            if not ended.done() or ended.cancelled():
                self._announcer.cancel(announcement.id, "the alarm was answered, or it took too long")
            ended.cancel()

    async def _end(self, ended: asyncio.Future[Event], announcement_id: str, patience: float) -> Event | None:
        """The end of a round; None when there is none. While others have their turn, it only waits."""
        while True:
            await asyncio.wait({ended}, timeout=patience)
            if ended.done():
                return ended.result()
            over = self._clock.monotonic() >= self._deadline
            if over or not self._announcer.waits(announcement_id):
                return None

    def _started(self, started: asyncio.Future[Event]) -> None:
        if not started.cancelled():
            self._sounding = True
            self._on_heard()
            self.sound_changed()
