"""What is kept over restarts, opened."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack

from daemon import events
from daemon.events import Event
from daemon.folders import state_folder
from daemon.house import House
from daemon.store import Database, Records

_log = logging.getLogger("asagoe.service")


async def start_store(house: House, stack: AsyncExitStack) -> None:
    """Open the database, which closes last, and read it."""
    house.notifier.status("reading what was kept")
    database = Database(state_folder() / "asagoe.db", on_problem(house, asyncio.get_running_loop()))
    await asyncio.to_thread(database.open)
    stack.callback(database.close)
    house.records = Records(database)
    await asyncio.to_thread(house.records.load)


def on_problem(house: House, loop: asyncio.AbstractEventLoop) -> Callable[[str | None], None]:
    """What tells a problem of the service itself as an event, from any thread; None is none."""

    def report(problem: str | None) -> None:
        if problem is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(house.bus.emit, Event(events.FAILED, None, problem))

    return report
