"""Keeps the quiet hours: holds back what they defer, lets it go in order, and turns the volume with the time of day."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from daemon.announcement import Announcement, new_id
from daemon.clock import Clock
from daemon.commands import Commands
from daemon.errors import RequestError
from daemon.mix import Mix
from daemon.quiet import (
    Action,
    Mode,
    QuietPlan,
    Verdict,
    active,
    judge,
    next_boundary,
    softened,
    volume_at,
)

_log = logging.getLogger("asagoe.quiet")

CHECK = 20.0
"""Seconds between two looks at the clock, at most: it may step, and deferred announcements expire."""

COUNT = "{count}"
"""Stands in the summary for the number of announcements."""


class Speaking(Protocol):
    """What the keeper needs of the announcer."""

    @property
    def mix(self) -> Mix:
        """How loud things are."""

    def submit(self, announcement: Announcement) -> bool:
        """Accept a new announcement."""

    def readmit(self, announcement: Announcement) -> bool:
        """Queue one that was accepted and deferred."""

    def give_up(self, announcement: Announcement, kind: str, reason: str) -> None:
        """End one that was accepted and deferred."""

    def set_volume(self, volume: int) -> None:
        """Set the node's volume."""


class QuietKeeper:
    """Judges announcements for the announcer and holds what is to wait; the announcer keeps that over a restart.

    Args:
        clock: of the hours.
        plan: see there; may be replaced at run time.
        on_change: called when what ``snapshot`` says has changed.
    """

    def __init__(self, clock: Clock, plan: QuietPlan, on_change: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._plan = plan
        self.on_change = on_change
        self.mode = Mode.AUTO
        self._announcer: Speaking | None = None
        self._held: list[Announcement] = []
        self._volume: int | None = None
        self._volume_outside = 0
        self._was_quiet = False

    def attach(self, announcer: Speaking) -> None:
        """Let go to this announcer what was held, from now on."""
        self._announcer = announcer

    def configure(self, plan: QuietPlan) -> None:
        """Take over a changed configuration."""
        self._plan = plan
        self.check()

    # For the announcer.

    def judge(self, announcement: Announcement) -> Verdict:
        """What happens to an announcement now."""
        return judge(announcement, self._plan.ranges, self.mode, self._clock.now(), self._plan.calendar)

    def hold(self, announcement: Announcement) -> bool:
        """Keep an announcement until its time; False when there are too many."""
        if len(self._held) >= self._plan.limit:
            return False
        self._held.append(announcement)
        self.on_change()
        return True

    # For everybody.

    @property
    def held(self) -> tuple[Announcement, ...]:
        """What is held back, in order of arrival."""
        return tuple(self._held)

    def snapshot(self) -> dict[str, Any]:
        """For the state of the node, fit for JSON."""
        now = self._clock.now()
        holding = active(self._plan.ranges, self.mode, now, self._plan.calendar)
        ends = [end for _, end in holding if end is not None]
        until = max(ends).isoformat(timespec="seconds") if ends else None
        return {
            "quiet": bool(holding),
            "quiet_mode": str(self.mode),
            "quiet_until": until,
            "deferred": len(self._held),
        }

    def set_mode(self, mode: Mode) -> None:
        """Quiet by hand, not quiet by hand, or by the clock."""
        self.mode = mode
        self.check()
        self.on_change()

    def release(self) -> list[str]:
        """Say now what was deferred; returns the ids."""
        return self._let_go(lambda _: True)

    def forget(self) -> list[str]:
        """Drop what was deferred; returns the ids."""
        held, self._held = self._held, []
        for announcement in held:
            self._give_up(announcement, "dropped", "what was deferred was cleared")
        self.on_change()
        return [announcement.id for announcement in held]

    def shut_down(self, kept: Callable[[Announcement], bool] = lambda _: False) -> None:
        """Let go of what is deferred: what is ``kept`` goes on at the next start, of the rest whoever waits is told."""
        held, self._held = self._held, []
        for announcement in held:
            if not kept(announcement):
                self._give_up(announcement, "dropped", "the service stops")

    async def run(self) -> None:
        """Watch the clock, until cancelled."""
        while True:
            self.check()
            now = self._clock.now()
            boundary = next_boundary(self._plan.spans, now, self._plan.calendar)
            # A little late rather than early: before the boundary nothing has changed yet.
            left = CHECK if boundary is None else (boundary - now).total_seconds() + 0.005
            await self._clock.sleep(min(CHECK, left))

    def check(self) -> None:
        """Do what the time of day asks for."""
        self._turn_volume()
        now, monotonic = self._clock.now(), self._clock.monotonic()
        for announcement in [a for a in self._held if not a.default_wait and a.expired(now, monotonic)]:
            self._held.remove(announcement)
            self._give_up(announcement, "expired", "it waited longer than it is good for")
            self.on_change()
        self._let_go(lambda announcement: self.judge(announcement).action is not Action.DEFER)
        quiet = bool(active(self._plan.ranges, self.mode, now, self._plan.calendar))
        if quiet != self._was_quiet:
            self._was_quiet = quiet
            _log.info("quiet hours %s", "begin" if quiet else "are over")
            self.on_change()

    # Details.

    def _let_go(self, chosen: Callable[[Announcement], bool]) -> list[str]:
        if self._announcer is None:
            return []
        going = [announcement for announcement in self._held if chosen(announcement)]
        if not going:
            return []
        self._held = [announcement for announcement in self._held if announcement not in going]
        now, monotonic = self._clock.now(), self._clock.monotonic()
        self._sum_up(going, now, monotonic)
        for announcement in going:
            verdict = self.judge(announcement)
            if verdict.action is Action.DROP:
                self._give_up(announcement, "dropped", "quiet hours")
            else:
                self._announcer.readmit(_fresh(softened(announcement, verdict), monotonic))
        self.on_change()
        return [announcement.id for announcement in going]

    def _sum_up(self, going: list[Announcement], now: datetime, monotonic: float) -> None:
        assert self._announcer is not None  # noqa: S101
        if self._plan.summary:
            text = self._plan.summary.replace(COUNT, str(len(going)))
            priority = max(announcement.priority for announcement in going)
            self._announcer.submit(
                Announcement(new_id(), text, "quiet", now, monotonic, priority=priority, chime=self._plan.chime)
            )

    def _give_up(self, announcement: Announcement, kind: str, reason: str) -> None:
        if self._announcer is not None:
            self._announcer.give_up(announcement, kind, reason)

    def _turn_volume(self) -> None:
        volume = volume_at(self._plan.volumes, self._clock.now(), self._plan.calendar)
        if volume == self._volume or self._announcer is None:
            return
        if self._volume is None:
            self._volume_outside = self._announcer.mix.volume
        self._volume = volume
        self._announcer.set_volume(self._volume_outside if volume is None else volume)


def add_quiet_commands(commands: Commands, keeper: QuietKeeper) -> None:
    """Add ``set/quiet``, ``do/release`` and ``do/forget``."""

    def quiet(text: str) -> None:
        word = text.strip().lower()
        modes = {"on": Mode.ON, "off": Mode.OFF, "auto": Mode.AUTO}
        if word not in modes:
            message = f"quiet: ON, OFF or auto is expected, got {text[:40]!r}"
            raise RequestError(message)
        keeper.set_mode(modes[word])

    commands.add("set/quiet", quiet)
    commands.add("do/release", lambda _: keeper.release())
    commands.add("do/forget", lambda _: keeper.forget())


def _fresh(announcement: Announcement, monotonic: float) -> Announcement:
    """As it is queued: it does not cut in any more, and a default expiry begins now."""
    wait = announcement.max_wait
    if announcement.default_wait and wait is not None:
        wait += monotonic - announcement.received_at
    return replace(announcement, interrupt=False, max_wait=wait)
