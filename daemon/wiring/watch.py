"""Reports and the watchdog, wired."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from daemon.health import PERIOD
from daemon.house import House
from daemon.service.tasks import running
from daemon.service.watchdog import feed_watchdog

OVERDUE = 120.0
"""Seconds after which a moment of the schedule that nobody acted on means that its timers do not run."""


async def start_reports(house: House, stack: AsyncExitStack) -> None:
    """Publish the health, again and again."""

    async def report() -> None:
        while True:
            house.gateway.publish_health()
            await house.clock.sleep(PERIOD)

    await stack.enter_async_context(running(report(), "health"))


async def start_watchdog(house: House, stack: AsyncExitStack) -> None:
    """Feed the watchdog, as long as every part moves."""
    parts: dict[str, Callable[[], bool]] = {
        "player": lambda: house.player.alive,
        "renderer": lambda: house.renderer.alive,
        "announcer": lambda: not house.announcing.done(),
        "clock guard": lambda: not house.guarding.done(),
        "schedule": partial(_is_schedule_kept, house),
    }
    await stack.enter_async_context(running(feed_watchdog(house.notifier, house.clock, parts), "watchdog"))


def _is_schedule_kept(house: House) -> bool:
    """Whether nothing has been due for long without being said or reported as missed."""
    following = house.scheduler.next
    return following is None or (house.clock.now() - following.due).total_seconds() < OVERDUE
