"""The sound of an alarm, ready in memory before it is due: speech, other speech, or the bell."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from daemon.alarms.alarm import Alarm
from daemon.alarms.bell import bell
from daemon.announcement import Announcement, Clip
from daemon.chimes import load_chime
from daemon.clock import Clock
from daemon.pieces import pieces_of
from daemon.playback import Piece
from daemon.renderer import Job, Renderer
from engine import EngineError

_log = logging.getLogger("asagoe.alarm")

PATIENCE = 120.0
"""Seconds after which a voice that has not rendered an alarm is given up."""
BELL = "bell"
LATE = timedelta(minutes=1)
"""From so much on an alarm says that it is late."""


class Words(Protocol):
    """Puts a template into words."""

    def __call__(self, template: str, moment: datetime) -> str:
        """What is said at a moment.

        Raises:
            ValueError: the template cannot be rendered; the message says why.
        """


@dataclass(frozen=True, slots=True)
class Ready:
    """What there is to play.

    Attributes:
        clip: the sound.
        problem: why it is not what was wanted, or None.
    """

    clip: Clip
    problem: str | None = None


class Clips:
    """Prepares and keeps the sounds of alarms. All calls are on the event loop.

    Args:
        clock: for receiving times.
        renderer: makes speech.
        sample_rate: of the device in use, in Hz.
        words: puts an alarm's text into words.
        late_words: says how late it is, for an alarm that is.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        renderer: Renderer,
        sample_rate: Callable[[], int],
        words: Words,
        late_words: Callable[[timedelta], str],
    ) -> None:
        self._clock = clock
        self._renderer = renderer
        self._sample_rate = sample_rate
        self._words = words
        self._late_words = late_words
        self._ready: dict[str, Ready] = {}
        self._working: dict[str, asyncio.Task[None]] = {}
        self._said: dict[str, str] = {}

    def prepare(self, alarm: Alarm, moment: datetime, late: timedelta = timedelta()) -> asyncio.Task[None]:
        """Begin to make an alarm's sound for a moment; an older one is replaced when the new one is there.

        Args:
            alarm: the alarm.
            moment: at which it will be heard, in local time.
            late: how late that is.
        """
        self._stop_working(alarm.id)
        task = asyncio.create_task(self._make(alarm, moment, late), name=f"prepare {alarm.id}")
        self._working[alarm.id] = task
        return task

    def prepare_sound(self, alarm: Alarm, sound: str) -> asyncio.Task[None]:
        """Begin to make a chime without speech the sound of an alarm that has no text."""
        self.forget(alarm.id)

        async def make() -> None:
            try:
                chime = await asyncio.to_thread(load_chime, sound, self._sample_rate())
            except (EngineError, OSError, ValueError) as error:
                self._ready[alarm.id] = Ready(self.bell(), f"its sound: {error}")
            else:
                self._ready[alarm.id] = Ready(Clip((Piece(chime, 0),), sound))

        task = asyncio.create_task(make(), name=f"prepare {alarm.id}")
        self._working[alarm.id] = task
        return task

    def get(self, alarm: Alarm) -> Ready:
        """The best sound that is there now; never fails."""
        if not alarm.text and alarm.id not in self._ready:
            return Ready(self.bell())
        return self._ready.get(alarm.id) or Ready(self.bell(), "its speech is not ready yet")

    def text(self, alarm: Alarm) -> str:
        """What an alarm says, in words; empty for a template that was not put into words yet."""
        return self._said.get(alarm.id) or ("" if alarm.is_template else alarm.text)

    def working(self, alarm_id: str) -> asyncio.Task[None] | None:
        """The task that makes an alarm's sound; None when none does."""
        task = self._working.get(alarm_id)
        return None if task is None or task.done() else task

    def bell(self) -> Clip:
        """The sound of last resort."""
        return Clip((Piece(bell(self._sample_rate()), 0),), BELL)

    def forget(self, alarm_id: str) -> None:
        """Let go of an alarm's sound."""
        self._stop_working(alarm_id)
        self._ready.pop(alarm_id, None)
        self._said.pop(alarm_id, None)

    def _stop_working(self, alarm_id: str) -> None:
        task = self._working.pop(alarm_id, None)
        if task is not None:
            task.cancel()

    async def _make(self, alarm: Alarm, moment: datetime, late: timedelta) -> None:
        problems: list[str] = []
        text = self._said[alarm.id] = self._text(alarm, moment, late, problems)
        others = [name for name in self._renderer.ready if name != alarm.speaker]
        for speaker in (alarm.speaker, *others):
            try:
                async with asyncio.timeout(PATIENCE):
                    clip = await self._speech(alarm, text, speaker, problems)
            except (EngineError, OSError, ValueError) as error:
                problems.append(f"{speaker or 'the default speaker'}: {error}")
            except TimeoutError:
                problems.append(f"{speaker or 'the default speaker'} took longer than {PATIENCE:g} s")
            except Exception as error:  # noqa: BLE001 - one of the named supervisors: an alarm must have a sound
                _log.exception("a defect while preparing the alarm %s", alarm.id)
                problems.append(f"a defect: {error!r}")
            else:
                self._ready[alarm.id] = Ready(clip, "; ".join(problems) or None)
                return
        self._ready[alarm.id] = Ready(self.bell(), "; ".join(problems))
        _log.error("the alarm %s will ring with the bell: %s", alarm.id, "; ".join(problems))

    def _text(self, alarm: Alarm, moment: datetime, late: timedelta, problems: list[str]) -> str:
        try:
            text = self._words(alarm.text, moment) if alarm.is_template else alarm.text
        except ValueError as error:
            problems.append(f"its text: {error}")
            text = self._words("{{ now | time }}", moment)
        return f"{self._late_words(late)}{text}" if late >= LATE else text

    async def _speech(self, alarm: Alarm, text: str, speaker: str | None, problems: list[str]) -> Clip:
        announcement = Announcement(
            id=f"prepare {alarm.id}",
            text=text,
            origin="alarm",
            received=self._clock.now(),
            received_at=self._clock.monotonic(),
            speaker=speaker,
            options=alarm.options if speaker == alarm.speaker else {},
            chime=alarm.sound,
        )
        job = await self._renderer.plan(announcement, ahead=True)

        def replaced(by: Job, reason: str) -> None:
            nonlocal job
            if by.speaker.name != job.speaker.name:
                problems.append(f"{job.speaker.name}: {reason}")
            job = by

        pieces = [
            piece
            async for piece in pieces_of(
                announcement,
                job,
                self._renderer,
                resume_at=0,
                chime_rate=self._sample_rate(),
                on_rendered=lambda _: None,
                on_replaced=replaced,
                ahead=True,
            )
        ]
        # At the device's rate already: at its moment nothing is left to compute.
        rate = self._sample_rate()
        sounds = await asyncio.to_thread(lambda: [piece.audio.resampled(rate) for piece in pieces])
        numbered = tuple(Piece(sound, index) for index, sound in enumerate(sounds))
        return Clip(numbered, job.speaker.name, len(job.plan.segments), text)
