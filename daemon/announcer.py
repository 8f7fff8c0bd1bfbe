"""The one way of everything that is said: accepted, queued, rendered, played, and reported."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from daemon import events
from daemon.announcement import Announcement, Priority, new_id
from daemon.clock import Clock
from daemon.errors import DaemonError, PlaybackError
from daemon.events import Event, Events
from daemon.mix import Mix, amplitude
from daemon.pieces import pieces_of, until_speech
from daemon.playback import Outcome, Piece, Playback
from daemon.player import Player
from daemon.queue import AnnouncementQueue, Item
from daemon.renderer import Job, Renderer
from daemon.timings import Timings
from engine import EngineError

_log = logging.getLogger("asagoe.announcer")
_journal = logging.getLogger("asagoe.announcement")

REMEMBERED = 2000
"""So many ids are remembered, so that a message that is delivered twice is handled once."""

WAKE = 2.0
"""Seconds for which the device is held open for an announcement that is being rendered."""


@dataclass(slots=True)
class _Current:
    """What is being said now."""

    item: Item
    timings: Timings
    playback: Playback | None = None
    interrupted_by: str | None = None
    stopped_by: str | None = None
    ended: bool = False
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class Announcer:
    """Takes announcements and says them one after another. All calls belong on its event loop.

    Args:
        on_change: called after every change of what ``state`` says.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        queue: AnnouncementQueue,
        renderer: Renderer,
        player: Player,
        bus: Events,
        volume: int,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._renderer = renderer
        self._player = player
        self._bus = bus
        self.mix = Mix(volume)
        self.on_change = on_change
        self._current: _Current | None = None
        self._last: Announcement | None = None
        self._handled: OrderedDict[str, None] = OrderedDict()
        self._texts: dict[tuple[str, str | None], tuple[str, float]] = {}
        self._ahead: asyncio.Task[None] | None = None
        self.counters = {"accepted": 0, "finished": 0, "failed": 0, "dropped": 0, "expired": 0, "duplicates": 0}

    # What others ask for.

    @property
    def state(self) -> str:
        """``idle``, ``synthesizing`` or ``playing``."""
        if self._current is None:
            return "idle"
        playback = self._current.playback
        return "playing" if playback is not None and playback.started.is_set() else "synthesizing"

    @property
    def current_id(self) -> str | None:
        """The id of what is being said."""
        return self._current.item.announcement.id if self._current else None

    @property
    def waiting(self) -> int:
        """How many announcements wait."""
        return len(self._queue)

    def submit(self, announcement: Announcement) -> bool:
        """Accept an announcement, or say in an event why not.

        Returns:
            Whether it will be said, if nothing comes between.
        """
        if announcement.id in self._handled:
            self.counters["duplicates"] += 1
            _log.info("the id %s was handled before; this copy is ignored", announcement.id)
            return False
        self._remember(announcement.id)
        refusal = self._refusal(announcement)
        self.counters["accepted"] += 1
        self._emit(events.ACCEPTED, announcement, text=announcement.text, origin=announcement.origin)
        if refusal is not None:
            self._end(announcement, events.DROPPED, refusal)
            return False
        evicted = self._queue.put(announcement, cut_in=self._cuts_in(announcement))
        if evicted is not None:
            self._end(evicted.announcement, events.DROPPED, f"the queue of {self._queue.limit} is full")
            if evicted.announcement is announcement:
                return False
        self._emit(events.QUEUED, announcement, position=self._queue.position(announcement))
        if self._current is None:
            self._player.wake(WAKE)  # the device opens and leads in while the first sentence is rendered
        elif self._cuts_in(announcement):
            self._interrupt(announcement)
        else:
            self._look_ahead()
        self.on_change()
        return True

    def skip(self) -> str | None:
        """End what is being said and go on with the next; returns its id."""
        return self._stop_current("skipped")

    def stop(self) -> list[str]:
        """End what is being said and empty the queue; returns the ids."""
        cleared = self.clear()
        current = self._stop_current("stopped")
        return [*([current] if current else []), *cleared]

    def clear(self, reason: str = "the queue was cleared") -> list[str]:
        """Empty the queue; what is being said goes on. Returns the ids."""
        items = self._queue.clear()
        for item in items:
            self._end(item.announcement, events.DROPPED, reason, item.timings)
        self.on_change()
        return [item.announcement.id for item in items]

    def shut_down(self) -> None:
        """End everything: whoever waits for an announcement is told that it will not be said."""
        reason = "the service stops"
        self.clear(reason)
        if self._current is not None:
            self._stop_current(reason)
            self._end(self._current.item.announcement, events.DROPPED, reason, self._current.timings)

    def replay(self) -> str | None:
        """Say the last announcement that was said again, under a new id; None when there is none."""
        if self._last is None:
            return None
        again = replace(
            self._last,
            id=new_id(),
            received=self._clock.now(),
            received_at=self._clock.monotonic(),
            expires=None,
            max_wait=None,
            dedupe=0.0,
        )
        self.submit(again)
        return again.id

    def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100, also of what is being said."""
        self.mix = replace(self.mix, volume=volume)
        self.on_change()

    def set_queue_limit(self, limit: int) -> None:
        """How many may wait from now on; what waits already stays."""
        self._queue.limit = limit

    def set_mute(self, muted: bool) -> None:
        """Silence everything but critical announcements, also what is being said."""
        self.mix = replace(self.mix, muted=muted)
        self.on_change()

    def check(self, announcement: Announcement) -> str | None:
        """What speaks against an announcement before it is accepted, or None."""
        if announcement.speaker is not None and not self._renderer.knows(announcement.speaker):
            names = ", ".join(sorted(self._renderer.configured))
            return f"there is no speaker {announcement.speaker!r}; there are {names}"
        return None

    # The loop.

    async def run(self) -> None:
        """Say what comes, until cancelled."""
        while True:
            item = await self._queue.get()
            self._current = _Current(item, item.timings or Timings(item.announcement.received_at))
            try:
                await self._say(self._current)
            except (EngineError, DaemonError, OSError, ValueError) as error:
                self._end(item.announcement, events.FAILED, str(error), self._current.timings)
            except Exception as error:  # noqa: BLE001 - one of the named supervisors: the next one is said all the same
                _log.exception("a defect while saying %s", item.announcement.id)
                self._end(item.announcement, events.FAILED, f"a defect: {error!r}", self._current.timings)
            finally:
                self._current = None
                self.on_change()

    async def _say(self, current: _Current) -> None:
        item, announcement = current.item, current.item.announcement
        if item.resume_at == 0 and announcement.expired(self._clock.now(), self._clock.monotonic()):
            self._end(announcement, events.EXPIRED, "it waited longer than it is good for", current.timings)
            return
        self.on_change()
        job = await self._renderer.plan(announcement)
        pieces = pieces_of(
            announcement,
            job,
            self._renderer,
            resume_at=item.resume_at,
            chime_rate=self._player.sample_rate,
            on_rendered=lambda rendering: current.timings.sentence(self._clock.monotonic(), cached=rendering.cached),
        )
        # The first sentence is there before the chime begins: chime and speech are one stream, without a gap.
        opening = await until_speech(pieces)
        if current.interrupted_by is not None or current.stopped_by is not None:
            self._not_finished(current, item.resume_at)
            return
        playback = self._player.play(announcement.id, self._gain(announcement))
        current.playback = playback
        feeding = asyncio.create_task(self._feed(playback, opening, pieces), name=f"feed {announcement.id}")
        feeding.add_done_callback(lambda task: _end_with(playback, task))
        beginning = asyncio.create_task(self._announce_start(current, job), name=f"start {announcement.id}")
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
        self._conclude(current, job, outcome)

    def _conclude(self, current: _Current, job: Job, outcome: Outcome) -> None:
        current.timings.ended = outcome.ended
        if current.timings.first_sample is None:
            current.timings.first_sample = outcome.first_sample
        if not outcome.finished:
            self._not_finished(current, max(outcome.index or 0, 0))
            return
        announcement = current.item.announcement
        self._last = announcement
        details: dict[str, Any] = {"speaker": job.speaker.name, "sink": outcome.sink, "audible": outcome.audible}
        if job.plan.dropped:
            details["unread"] = [{"text": d.text, "reason": d.reason} for d in job.plan.dropped]
        self._end(announcement, events.FINISHED, None, current.timings, **details)

    def _not_finished(self, current: _Current, resume_at: int) -> None:
        """What was stopped waits to be resumed, or ends, according to who stopped it."""
        announcement = current.item.announcement
        if current.stopped_by is None and current.interrupted_by is not None:
            self._queue.put_back(Item(announcement, resume_at, current.item.interruptions + 1, current.timings))
            self._emit(events.INTERRUPTED, announcement, f"{current.interrupted_by} cut in", sentence=resume_at)
        else:
            self._end(announcement, events.DROPPED, current.stopped_by or "stopped", current.timings)

    async def _feed(self, playback: Playback, opening: list[Piece], rest: AsyncIterator[Piece]) -> None:
        """Hand pieces to the player, one sentence ahead."""
        for piece in opening:
            await playback.feed(piece)
        async for piece in rest:
            if playback.stopped:
                return
            await playback.feed(piece)
        playback.complete()
        self._look_ahead()

    async def _announce_start(self, current: _Current, job: Job) -> None:
        assert current.playback is not None  # noqa: S101
        await current.playback.started.wait()
        if current.timings.first_sample is None:
            current.timings.first_sample = current.playback.first_sample
        details: dict[str, Any] = {"speaker": job.speaker.name}
        if current.item.interruptions:
            details["resumed_at"] = current.item.resume_at
        if job.instead_of is not None:
            details["instead_of"] = job.instead_of
        self._emit(events.STARTED, current.item.announcement, **details)
        self.on_change()

    def _look_ahead(self) -> None:
        """Render what will be said next while something else is being said."""
        following = self._queue.peek()
        if following is None or (self._ahead is not None and not self._ahead.done()):
            return

        async def render() -> None:
            with contextlib.suppress(EngineError):  # it is reported when its turn comes
                await self._renderer.render_ahead(following.announcement)

        self._ahead = asyncio.create_task(render(), name="look ahead")

    # Details.

    def _cuts_in(self, announcement: Announcement) -> bool:
        if self._current is None or not announcement.interrupt or self._current.stopped_by is not None:
            return False
        playing = self._current.item.announcement
        if announcement.priority == playing.priority:
            return not playing.interrupt
        return announcement.priority > playing.priority

    def _interrupt(self, announcement: Announcement) -> None:
        assert self._current is not None  # noqa: S101
        self._current.interrupted_by = announcement.id
        if self._current.playback is not None:
            self._current.playback.stop()

    def _stop_current(self, reason: str) -> str | None:
        if self._current is None:
            return None
        self._current.stopped_by = reason
        if self._current.playback is not None:
            self._current.playback.stop()
        return self._current.item.announcement.id

    def _refusal(self, announcement: Announcement) -> str | None:
        if self.mix.muted and announcement.priority < Priority.CRITICAL:
            return "muted"
        if announcement.dedupe:
            key, now = (announcement.text, announcement.speaker), self._clock.monotonic()
            self._texts = {k: said for k, said in self._texts.items() if said[1] > now}
            if key in self._texts:
                return "the same text was said a moment ago"
            self._texts[key] = (announcement.id, now + announcement.dedupe)
        return None

    def _gain(self, announcement: Announcement) -> Callable[[], float]:
        def gain() -> float:
            mix = self.mix
            if mix.muted and announcement.priority < Priority.CRITICAL:
                return 0.0
            return amplitude(mix.volume if announcement.volume is None else announcement.volume)

        return gain

    def _remember(self, announcement_id: str) -> None:
        self._handled[announcement_id] = None
        while len(self._handled) > REMEMBERED:
            self._handled.popitem(last=False)

    def _emit(self, kind: str, announcement: Announcement, reason: str | None = None, **details: Any) -> None:
        self._bus.emit(Event(kind, announcement.id, reason, MappingProxyType(details)))

    def _end(
        self,
        announcement: Announcement,
        kind: str,
        reason: str | None,
        timings: Timings | None = None,
        **details: Any,
    ) -> None:
        current = self._current
        if current is not None and current.item.announcement is announcement:
            if current.ended:
                return
            current.ended = True
        self.counters[kind] += 1
        key = (announcement.text, announcement.speaker)
        if kind != events.FINISHED and self._texts.get(key, ("", 0.0))[0] == announcement.id:
            del self._texts[key]  # it was not heard: the same text is no repetition
        timings = timings or Timings(announcement.received_at)
        self._emit(kind, announcement, reason, **details, **timings.as_json())
        level = logging.WARNING if kind == events.FAILED else logging.INFO
        _journal.log(
            level,
            "announcement",
            extra={
                "facts": {"id": announcement.id, "outcome": kind, "reason": reason, "origin": announcement.origin}
                | {"priority": announcement.priority.name.lower(), "text": announcement.text}
                | timings.as_json()
                | details
            },
        )


def _end_with(playback: Playback, feeding: asyncio.Task[None]) -> None:
    """A sentence that fails, for whatever reason, ends the playback: no more pieces will come."""
    error = None if feeding.cancelled() else feeding.exception()
    if error is not None:
        playback.fail(PlaybackError(str(error)))
