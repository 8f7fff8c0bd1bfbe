"""A clock that a test moves, and timers that go with it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class FakeClock:
    """Wall and monotonic time that only move when the test says so."""

    def __init__(self, now: datetime) -> None:
        self._now = now.astimezone(UTC)
        self._monotonic = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), woken))
        await woken.wait()

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            heapq.heappop(self._sleepers)[2].set()

    def step(self, seconds: float) -> None:
        """The wall clock is set; no time passes."""
        self._now += timedelta(seconds=seconds)


class FakeTimers:
    """Timers on a fake clock. Like the real ones they do not notice a step of the wall clock until ``check``."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._jobs: dict[str, tuple[datetime, float, Callable[[], None]]] = {}

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self._jobs.clear()

    def at(self, key: str, moment: datetime, action: Callable[[], None]) -> None:
        self._jobs[key] = (moment, self._wait(moment), action)

    def cancel(self, key: str) -> None:
        self._jobs.pop(key, None)

    def check(self) -> None:
        self._jobs = {key: (moment, self._wait(moment), action) for key, (moment, _, action) in self._jobs.items()}

    def run_until(self, moment: datetime) -> None:
        """Let time pass up to a moment, calling back on the way."""
        while self._jobs:
            key, (_, wake, action) = min(self._jobs.items(), key=lambda item: (item[1][1], item[1][0]))
            left = wake - self._clock.monotonic()
            if self._clock.now() + timedelta(seconds=max(0.0, left)) > moment:
                break
            self._clock.advance(max(0.0, left))
            del self._jobs[key]
            action()
        self._clock.advance(max(0.0, (moment - self._clock.now()).total_seconds()))

    def _wait(self, moment: datetime) -> float:
        return self._clock.monotonic() + max(0.0, (moment - self._clock.now()).total_seconds())
