"""The one way of everything that is said: accepted, queued, rendered, played, and reported."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from daemon import events
from daemon.admission import Admission, Admitted, Deferred, Refused
from daemon.announcement import Announcement, Priority, new_id
from daemon.clock import Clock
from daemon.errors import DaemonError
from daemon.events import Event, Events
from daemon.journal import write_end
from daemon.mix import Mix
from daemon.player import Player
from daemon.queue import AnnouncementQueue, Item
from daemon.quiet_keeper import QuietKeeper
from daemon.renderer import Renderer
from daemon.saying import Saying
from daemon.substitution import render_ahead
from daemon.timings import Timings
from daemon.waiting import Waiting
from engine import Audio, EngineError

_log = logging.getLogger("asagoe.announcer")

WAKE = 2.0
"""Seconds for which the device is held open for an announcement that is being rendered."""


SKIPPED = "skipped"
"""The reason in the event of what was skipped."""

MAKE_WAY = 0.25
"""Seconds before the start of an announcement at which what it interrupts fades out."""


class Announcer:
    """Takes announcements and says them one after another. All calls belong on its event loop.

    Args:
        quiet: keeps the quiet hours; None for none.
        kept: keeps what was accepted over a restart, or None.
        on_change: called after every change of what ``state`` says.

    Attributes:
        on_sound: called with an announcement and each stretch of its sound, when that is handed to the player.
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
        quiet: QuietKeeper | None = None,
        kept: Waiting | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._renderer = renderer
        self._player = player
        self._bus = bus
        self.mix = Mix(volume)
        self._admission = Admission(clock, quiet)
        self._kept = kept
        self.on_change = on_change
        self.on_sound: Callable[[Announcement, Audio], None] = lambda _announcement, _audio: None
        self._current: Saying | None = None
        self._last: Announcement | None = None
        self._held: Item | None = None
        self._ahead: asyncio.Task[None] | None = None
        self.counters = {"accepted": 0, "finished": 0, "failed": 0, "dropped": 0, "expired": 0, "duplicates": 0}

    # What others ask for.

    @property
    def state(self) -> str:
        """``idle``, ``synthesizing`` or ``playing``."""
        if self._current is None:
            return "idle"
        return "playing" if self._current.audible else "synthesizing"

    @property
    def current_id(self) -> str | None:
        """The id of what is being said."""
        return self._current.announcement.id if self._current else None

    @property
    def waiting(self) -> int:
        """How many announcements wait."""
        return len(self._queue)

    def waits(self, announcement_id: str) -> bool:
        """Whether an announcement waits for its turn."""
        return self._queue.holds(announcement_id)

    def submit(self, announcement: Announcement) -> bool:
        """Accept an announcement, or say in an event why not.

        Returns:
            Whether it will be said, if nothing comes between.
        """
        if not self._admission.is_new(announcement):
            self.counters["duplicates"] += 1
            _log.info("the id %s was handled before; this copy is ignored", announcement.id)
            return False
        refusal = self._admission.refusal(announcement, self.mix)
        self.counters["accepted"] += 1
        self._emit(events.ACCEPTED, announcement, text=announcement.text, origin=announcement.origin)
        if refusal is not None:
            self._end(announcement, events.DROPPED, refusal)
            return False
        if self._kept is not None:
            self._kept.add(announcement)
        return self._admit(announcement)

    def restore(self, announcement: Announcement, resume_at: int) -> bool:
        """Queue an announcement that an earlier run accepted, to be gone on with at one of its sentences."""
        self._admission.is_new(announcement)
        return self._admit(announcement, resume_at)

    def _admit(self, announcement: Announcement, resume_at: int = 0) -> bool:
        match self._admission.judge(announcement):
            case Admitted(as_it_is_said):
                return self._enqueue(as_it_is_said, resume_at)
            case Deferred(until):
                self._emit(events.DEFERRED, announcement, "quiet hours", until=until)
                return True
            case Refused(reason):
                self._end(announcement, events.DROPPED, reason)
                return False

    def readmit(self, announcement: Announcement) -> bool:
        """Queue an announcement that was accepted before and had to wait; returns whether it will be said."""
        if self.mix.silences(announcement):
            self._end(announcement, events.DROPPED, "muted")
            return False
        return self._enqueue(announcement)

    def give_up(self, announcement: Announcement, kind: str, reason: str) -> None:
        """End an announcement that was accepted before and had to wait, with a terminal event."""
        self._end(announcement, kind, reason)

    def _enqueue(self, announcement: Announcement, resume_at: int = 0) -> bool:
        evicted = self._queue.put(announcement, cut_in=self._cuts_in(announcement), resume_at=resume_at)
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
        return self._stop_current(SKIPPED)

    def cancel(self, announcement_id: str, reason: str) -> bool:
        """End one announcement, whether it is being said, waits or is held; says whether there was one."""
        item = self._queue.take(announcement_id)
        if item is None and self._held is not None and self._held.announcement.id == announcement_id:
            item, self._held = self._held, None
        if item is not None:
            self._end(item.announcement, events.DROPPED, reason, item.timings)
            self.on_change()
        elif self.current_id == announcement_id:
            self._stop_current(reason)
        else:
            return False
        return True

    @property
    def current(self) -> Announcement | None:
        """What is being said."""
        return self._current.announcement if self._current else None

    @property
    def held(self) -> Announcement | None:
        """What waits for ``resume``."""
        return self._held.announcement if self._held else None

    def pause(self) -> str | None:
        """Hold what is being said until ``resume``; returns its id. What was held before ends."""
        if self._current is None or self._current.halted:
            return None
        self._current.hold()
        return self._current.announcement.id

    def resume(self) -> str | None:
        """Go on with what is held, at its sentence; returns its id, or None when nothing is."""
        item, self._held = self._held, None
        if item is None:
            return None
        self._queue.put_back(item)
        self.on_change()
        return item.announcement.id

    def next_section(self) -> str | None:
        """Go on with the next section of what is being said, or end it after its last; returns its id."""
        if self._current is None or self._current.halted:
            return None
        if not self._current.leave_section():
            self._current.stop("there is no next section")
        return self._current.announcement.id

    def stop(self) -> list[str]:
        """End what is being said and empty the queue; returns the ids."""
        cleared = self.clear()
        current = self._stop_current("stopped")
        return [*([current] if current else []), *cleared]

    def clear(self, reason: str = "the queue was cleared") -> list[str]:
        """Empty the queue; what is being said goes on. Returns the ids."""
        items = self._queue.clear()
        if self._held is not None:
            items.append(self._held)
            self._held = None
        for item in items:
            self._end(item.announcement, events.DROPPED, reason, item.timings)
        self.on_change()
        return [item.announcement.id for item in items]

    def shut_down(self) -> None:
        """Fall silent. What is kept goes on at the next start; of the rest whoever waits is told that it will not."""
        reason = "the service stops"
        current = self._current
        left = [*self._queue.clear(), *([self._held] if self._held else [])]
        self._held = None
        if current is not None:
            left.insert(0, replace(current.item, resume_at=current.position))
            current.stop(reason)
        for item in left:
            if self._kept is not None and self._kept.leave(item.announcement, item.resume_at):
                if current is not None and item.announcement is current.announcement:
                    current.ended = True
            else:
                self._end(item.announcement, events.DROPPED, reason, item.timings)
        self.on_change()

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

    def set_volume_by_priority(self, volumes: Mapping[Priority, int]) -> None:
        """Volumes of announcements that name none, where their priority has one of its own."""
        self.mix = replace(self.mix, by_priority=MappingProxyType(dict(volumes)))

    def set_queue_limit(self, limit: int) -> None:
        """How many may wait from now on; what waits already stays."""
        self._queue.limit = limit

    def set_mute(self, muted: bool) -> None:
        """Silence everything but alarms and critical announcements, also what is being said."""
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
            self._current = self._saying(item)
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

    def _saying(self, item: Item) -> Saying:
        announcement = item.announcement

        def started(details: dict[str, Any]) -> None:
            self._emit(events.STARTED, announcement, **details)
            self.on_change()

        return Saying(
            item,
            clock=self._clock,
            renderer=self._renderer,
            player=self._player,
            gain=lambda: self.mix.gain_of(announcement, self._clock.monotonic()),
            on_started=started,
            on_fed=self._look_ahead,
            on_sound=lambda audio: self.on_sound(announcement, audio),
        )

    async def _say(self, current: Saying) -> None:
        announcement = current.announcement
        if current.item.resume_at == 0 and announcement.expired(self._clock.now(), self._clock.monotonic()):
            self._end(announcement, events.EXPIRED, "it waited longer than it is good for", current.timings)
            return
        if self._kept is not None:
            self._kept.begin(announcement, current.item.resume_at)
        self.on_change()
        said = await current.run()
        if said.finished:
            self._last = announcement
            self._end(announcement, events.FINISHED, None, current.timings, **said.details)
        elif current.stopped_by is None and (current.held or current.interrupted_by or current.leaving_section):
            self._leave(current, Item(announcement, said.resume_at, current.item.interruptions + 1, current.timings))
        else:
            self._end(announcement, events.DROPPED, current.stopped_by or "stopped", current.timings)

    def _leave(self, current: Saying, item: Item) -> None:
        """Keep what is to be gone on with: at once, after what cut in, or when somebody resumes it."""
        if current.held:
            if self._held is not None:
                self._end(self._held.announcement, events.DROPPED, "another one was paused", self._held.timings)
            self._held = item
            self._emit(events.INTERRUPTED, item.announcement, "paused", sentence=item.resume_at)
            return
        self._queue.put_back(item)
        if current.interrupted_by is not None:
            reason = f"{current.interrupted_by} cut in"
            self._emit(events.INTERRUPTED, item.announcement, reason, sentence=item.resume_at)

    def _look_ahead(self) -> None:
        """Render what will be said next while something else is being said."""
        following = self._queue.peek()
        if following is None or (self._ahead is not None and not self._ahead.done()):
            return

        async def render() -> None:
            with contextlib.suppress(EngineError):  # it is reported when its turn comes
                await render_ahead(following.announcement, self._renderer)

        self._ahead = asyncio.create_task(render(), name="look ahead")

    # Details.

    def _cuts_in(self, announcement: Announcement) -> bool:
        if self._current is None or not announcement.interrupt or self._current.stopped_by is not None:
            return False
        playing = self._current.announcement
        if announcement.priority == playing.priority:
            return not playing.interrupt
        return announcement.priority > playing.priority

    def _interrupt(self, announcement: Announcement) -> None:
        """Make way for an announcement, now or shortly before it is to start."""
        assert self._current is not None  # noqa: S101
        current = self._current
        wait = 0.0 if announcement.start_at is None else announcement.start_at - MAKE_WAY - self._clock.monotonic()
        if wait <= 0:
            current.interrupt(announcement.id)
            return

        def make_way() -> None:
            if self._current is current and self._queue.holds(announcement.id):
                current.interrupt(announcement.id)

        asyncio.get_running_loop().call_later(wait, make_way)

    def _stop_current(self, reason: str) -> str | None:
        if self._current is None:
            return None
        self._current.stop(reason)
        return self._current.announcement.id

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
        if current is not None and current.announcement is announcement:
            if current.ended:
                return
            current.ended = True
        self.counters[kind] += 1
        if kind != events.FINISHED:
            self._admission.not_heard(announcement)
        timings = timings or Timings(announcement.received_at)
        self._emit(kind, announcement, reason, **details, **timings.as_json())
        write_end(announcement, kind, reason, timings, details)
