"""One announcement on its way from text to sound: planned, rendered sentence by sentence, played, or stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from daemon.announcement import Announcement, Clip
from daemon.clock import Clock
from daemon.errors import PlaybackError
from daemon.pieces import pieces_of, pieces_of_clip, until_speech
from daemon.playback import Outcome, Piece, Playback
from daemon.player import Player
from daemon.queue import Item
from daemon.renderer import Job, Renderer
from daemon.timings import Timings
from engine import Audio

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Said:
    """How far an announcement came.

    Attributes:
        finished: whether it was said to its end.
        resume_at: number of the piece to go on with, where it was not: its sentence, or its section's first sentence
            where something cut in on a section, or the next section's where that was asked for.
        details: facts about how it was said, fit for JSON.
    """

    finished: bool
    resume_at: int
    details: dict[str, Any]


class Saying:
    """What is being said now. All calls belong on the event loop.

    Args:
        item: the announcement, and where to go on.
        clock: of its timings.
        renderer: plans it and makes its sentences.
        player: plays them.
        gain: asked for each block, in the player's thread: amplitude factor.
        on_started: called with details when its first sample was written.
        on_fed: called when its last sentence was handed to the player: the next announcement can be rendered.
        on_sound: called with each stretch of sound that is handed to the player.
    """

    def __init__(
        self,
        item: Item,
        *,
        clock: Clock,
        renderer: Renderer,
        player: Player,
        gain: Callable[[], float],
        on_started: Callable[[dict[str, Any]], None],
        on_fed: Callable[[], None],
        on_sound: Callable[[Audio], None] = lambda _: None,
    ) -> None:
        self.item = item
        self.timings = item.timings or Timings(item.announcement.received_at)
        self.interrupted_by: str | None = None
        self.stopped_by: str | None = None
        self.held = False
        self.ended = False
        self._clock = clock
        self._renderer = renderer
        self._player = player
        self._gain = gain
        self._on_started = on_started
        self._on_fed = on_fed
        self._on_sound = on_sound
        self._playback: Playback | None = None
        self._job: Job | Clip | None = None
        self._going_on_at: int | None = None
        self._halted = asyncio.Event()

    @property
    def announcement(self) -> Announcement:
        """What is said."""
        return self.item.announcement

    @property
    def audible(self) -> bool:
        """Whether its sound has begun."""
        return self._playback is not None and self._playback.started.is_set()

    def interrupt(self, by: str) -> None:
        """Fade out and wait to be resumed."""
        self.interrupted_by = by
        self._halt()

    def hold(self) -> None:
        """Fade out and wait until somebody wants to go on."""
        self.held = True
        self._halt()

    def leave_section(self) -> bool:
        """Fade out, to go on with the next section; False, and nothing happens, where there is none."""
        if not isinstance(self._job, Job):
            return False
        at = self._playback.index if self._playback is not None else None
        self._going_on_at = self._job.next_section(max(at or 0, self.item.resume_at))
        if self._going_on_at is None:
            return False
        self._halt()
        return True

    @property
    def position(self) -> int:
        """The sentence at which it is, over all repeats."""
        at = None if self._playback is None else self._playback.index
        return self.item.resume_at if at is None else max(at, 0)

    @property
    def halted(self) -> bool:
        """Whether it was asked to fade out, for whatever reason."""
        return self._halted.is_set()

    @property
    def leaving_section(self) -> bool:
        """Whether it goes on with the next section."""
        return self._going_on_at is not None

    def stop(self, reason: str) -> None:
        """Fade out for good."""
        self.stopped_by = reason
        self._halt()

    async def run(self) -> Said:
        """Say it.

        Raises:
            EngineError: it cannot be spoken.
            PlaybackError: no device took it.
        """
        prepared = await self._unless_halted(self._prepare())
        if prepared is None:
            return Said(finished=False, resume_at=self._resume_at(self.item.resume_at), details={})
        job, opening, rest = prepared
        playback = self._player.play(self.announcement.id, self._gain, self.announcement.start_at)
        self._playback = playback
        feeding = asyncio.create_task(self._feed(playback, opening, rest), name=f"feed {self.announcement.id}")
        feeding.add_done_callback(lambda task: _end_with(playback, task))
        beginning = asyncio.create_task(self._tell_start(playback, job), name=f"start {self.announcement.id}")
        try:
            outcome = await playback.outcome
            if outcome.finished:
                await feeding
                await self._clock.sleep(max(0.0, outcome.ended - self._clock.monotonic()))
        except PlaybackError:
            if feeding.done() and not feeding.cancelled():
                feeding.result()  # what ended it, where that was a sentence and not the device
            raise
        finally:
            playback.stop()
            feeding.cancel()
            beginning.cancel()
            await asyncio.gather(feeding, beginning, return_exceptions=True)
        return self._said(outcome, job if isinstance(job, Clip) else self._job or job)

    async def _prepare(self) -> tuple[Job | Clip, list[Piece], AsyncIterator[Piece]]:
        """Everything up to the first sentence: chime and speech are one stream, without a gap."""
        announcement = self.announcement
        if announcement.clip is not None:
            pieces = pieces_of_clip(announcement.clip, self.item.resume_at)
            self.timings.sentences += announcement.clip.sentences
            self.timings.rendered = self._clock.monotonic()
            return announcement.clip, [], pieces
        job = self._job = await self._renderer.plan(announcement)
        pieces = pieces_of(
            announcement,
            job,
            self._renderer,
            resume_at=self.item.resume_at,
            chime_rate=self._player.sample_rate,
            on_rendered=lambda rendering: self.timings.sentence(self._clock.monotonic(), cached=rendering.cached),
            on_replaced=self._replaced,
        )
        opening = await until_speech(pieces)
        return self._job, opening, pieces

    def _replaced(self, job: Job, reason: str) -> None:
        del reason  # it is in the log; events tell who speaks instead of whom
        self._job = job

    async def _unless_halted(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """The result of some work; None as soon as the saying is halted, however long the work may take."""
        working = asyncio.create_task(work)
        halted = asyncio.create_task(self._halted.wait())
        try:
            await asyncio.wait({working, halted}, return_when=asyncio.FIRST_COMPLETED)
            return None if self._halted.is_set() else working.result()
        finally:
            halted.cancel()
            working.cancel()
            await asyncio.gather(halted, working, return_exceptions=True)

    async def _feed(self, playback: Playback, opening: list[Piece], rest: AsyncIterator[Piece]) -> None:
        """Hand pieces to the player, one sentence ahead."""
        for piece in opening:
            await playback.feed(piece)
            self._on_sound(piece.audio)
        async for piece in rest:
            if playback.stopped:
                return
            await playback.feed(piece)
            self._on_sound(piece.audio)
        playback.complete()
        self._on_fed()

    async def _tell_start(self, playback: Playback, job: Job | Clip) -> None:
        await playback.started.wait()
        if self.timings.first_sample is None:
            self.timings.first_sample = playback.first_sample
        details = _voice(job)
        start_at, first = self.announcement.start_at, playback.first_sample
        if start_at is not None and first is not None and not self.item.interruptions:
            details["late_ms"] = round((first - start_at) * 1000, 1)
        if self.item.interruptions:
            details["resumed_at"] = self.item.resume_at
        self._on_started(details)

    def _said(self, outcome: Outcome, job: Job | Clip) -> Said:
        self.timings.ended = outcome.ended
        if self.timings.first_sample is None:
            self.timings.first_sample = outcome.first_sample
        details = _voice(job) | {"sink": outcome.sink, "audible": outcome.audible}
        if isinstance(job, Job) and job.plan.dropped:
            details["unread"] = [{"text": d.text, "reason": d.reason} for d in job.plan.dropped]
        return Said(outcome.finished, self._resume_at(max(outcome.index or 0, 0)), details)

    def _resume_at(self, piece: int) -> int:
        if self._going_on_at is not None:
            return self._going_on_at
        cut_in = self.interrupted_by is not None and not self.held
        return self._job.section_start(piece) if cut_in and isinstance(self._job, Job) else piece

    def _halt(self) -> None:
        self._halted.set()
        if self._playback is not None:
            self._playback.stop()


def _voice(job: Job | Clip) -> dict[str, Any]:
    """Who speaks, and for whom where it is another."""
    if isinstance(job, Clip):
        return {"speaker": job.speaker}
    return {"speaker": job.speaker.name} | ({} if job.instead_of is None else {"instead_of": job.instead_of})


def _end_with(playback: Playback, feeding: asyncio.Task[None]) -> None:
    """A sentence that fails, for whatever reason, ends the playback: no more pieces will come."""
    error = None if feeding.cancelled() else feeding.exception()
    if error is not None:
        playback.fail(PlaybackError(str(error)))
