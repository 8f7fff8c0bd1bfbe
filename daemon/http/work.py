"""Speech for clients: so many at once, in turns of one sentence, and only for those who still listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from fastapi import Request

from daemon.http.problems import BusyError, ClientGoneError
from daemon.renderer import Renderer
from engine.memory import trim

_T = TypeVar("_T")


class Work:
    """The queue of work of the HTTP server. All calls are on its loop.

    Who waits gets one turn after another, a sentence each: a short text does not wait for the end of a long one, and
    the renderer never holds more than one sentence for clients.

    Args:
        renderer: of the service.
        limit: so many jobs at once; one more is refused.
    """

    def __init__(self, renderer: Renderer, limit: int) -> None:
        self._renderer = renderer
        self._limit = limit
        self._turn = asyncio.Lock()  # hands over in the order in which it was asked for
        self._reading = asyncio.Lock()
        self.editing = asyncio.Lock()
        """Held by who changes the dictionary."""
        self.jobs = 0
        self._stopping = False

    @asynccontextmanager
    async def job(self) -> AsyncIterator[None]:
        """Take a place; memory goes back to the system when it is given up.

        Raises:
            BusyError: all places are taken.
        """
        if self.jobs >= self._limit:
            message = f"{self._limit} requests for speech are being worked on; try again in a moment"
            raise BusyError(message)
        self.jobs += 1
        try:
            yield
        finally:
            self.jobs -= 1
            asyncio.get_running_loop().run_in_executor(None, trim)

    async def turn(self, work: Callable[[], _T]) -> _T:
        """Do something with a speaker when it is this job's turn; a caller who is cancelled meanwhile loses it.

        Raises:
            BusyError: the service stops.
        """
        async with self._turn:
            if self._stopping:
                message = "the service stops"
                raise BusyError(message)
            return await self._renderer.behind(work)

    def stop(self) -> None:
        """Give nobody another turn."""
        self._stopping = True

    async def read(self, work: Callable[[], _T]) -> _T:
        """Do something with texts, which takes milliseconds and no voice: off the loop, one thing at a time."""
        async with self._reading:
            return await asyncio.to_thread(work)


async def unless_gone(request: Request, work: Awaitable[_T]) -> _T:
    """The result of some work, which ends at the next sentence when the client goes away.

    Raises:
        ClientGoneError: it did.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGoneError
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.wait({task, gone})


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
