"""Waiting for moments of the wall clock, by APScheduler."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.date import DateTrigger


class Timers(Protocol):
    """Calls back at moments of the wall clock. All calls are on the event loop."""

    def start(self) -> None:
        """Begin to wait."""

    def stop(self) -> None:
        """Forget everything."""

    def at(self, key: str, moment: datetime, action: Callable[[], None]) -> None:
        """Call ``action`` at a moment, or soon if it has passed; a key that is set again is moved."""

    def cancel(self, key: str) -> None:
        """Forget a key; one that is not set is fine."""

    def check(self) -> None:
        """The wall clock stepped: look again at what is due."""


class APSchedulerTimers:
    """``Timers`` by APScheduler 3.11: one date trigger a key, nothing persistent.

    Misfires are ours to judge (``misfire_grace_time`` None): APScheduler's default would drop, without a word, an
    occurrence that is more than a second late.
    """

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(
            jobstores={"default": MemoryJobStore()},
            executors={"default": AsyncIOExecutor()},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
            timezone=UTC,
        )

    def start(self) -> None:
        """Start APScheduler on the running loop."""
        self._scheduler.start()

    def stop(self) -> None:
        """Shut APScheduler down."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def at(self, key: str, moment: datetime, action: Callable[[], None]) -> None:
        """Add or move a job."""

        async def call() -> None:  # a coroutine runs on the loop; a plain function would go to a thread
            action()

        self._scheduler.add_job(
            call, DateTrigger(run_date=moment, timezone=UTC), id=key, name=key, replace_existing=True
        )

    def cancel(self, key: str) -> None:
        """Remove a job."""
        if self._scheduler.get_job(key) is not None:
            self._scheduler.remove_job(key)

    def check(self) -> None:
        """Let APScheduler compute its next wake-up anew: it waits on the monotonic clock and cannot see a step."""
        self._scheduler.wakeup()
