"""Whatever asks for the time asks a clock object, so that a test can be a year long or a clock can step."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall clock, monotonic clock, and waiting."""

    def now(self) -> datetime:
        """The wall clock: aware, in UTC. It can step."""

    def monotonic(self) -> float:
        """Seconds that never step; only differences mean something."""

    async def sleep(self, seconds: float) -> None:
        """Wait on the monotonic clock."""


class SystemClock:
    """The clocks of the operating system."""

    def now(self) -> datetime:
        """The system's wall clock."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """The system's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the event loop."""
        await asyncio.sleep(seconds)
