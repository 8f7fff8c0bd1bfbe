"""What happens, told to clients as it happens, by server-sent events.

Each client has a short queue. One that does not keep up is cut off and may come again: it then asks for the state anew.
Nothing is remembered for clients that are not there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from daemon.http.backend import Backend
from daemon.http.problems import BusyError

MOST_CLIENTS = 32
BACKLOG = 200
"""So many messages wait for a client at most."""
HEARTBEAT = 15.0
"""Seconds after which something is sent where nothing happens, so that a connection that is dead is found out."""
STATE_DELAY = 0.1
"""Changes within so many seconds are told as one."""

_END = b""


class Live:
    """The clients that listen. All calls are on the server's loop; the service's calls come by its ``feed``.

    Args:
        backend: the service.
        heartbeat: seconds.
    """

    def __init__(self, backend: Backend, heartbeat: float = HEARTBEAT) -> None:
        self._backend = backend
        self._heartbeat = heartbeat
        self._queues: set[asyncio.Queue[bytes]] = set()
        self._telling: asyncio.Task[None] | None = None
        self._changed = False
        self._stopped = False
        loop = asyncio.get_running_loop()

        def watch(kind: str, body: dict[str, Any] | None) -> None:  # on the service's loop
            loop.call_soon_threadsafe(self._on_feed, kind, body)

        backend.loop.call_soon_threadsafe(backend.feed.watch, watch)

    @property
    def clients(self) -> int:
        """How many listen."""
        return len(self._queues)

    async def messages(self) -> AsyncGenerator[bytes]:
        """Everything from now on, as a stream of server-sent events: first the state.

        Raises:
            BusyError: too many clients listen already.
        """
        if len(self._queues) >= MOST_CLIENTS or self._stopped:
            busy = f"{MOST_CLIENTS} clients listen already"
            raise BusyError(busy)
        queue: asyncio.Queue[bytes] = asyncio.Queue(BACKLOG + 1)
        self._queues.add(queue)
        try:
            yield b"retry: 3000\n\n" + _message("state", await self._backend.on_loop(self._backend.snapshot))
            while True:
                try:
                    message = await asyncio.wait_for(queue.get(), self._heartbeat)
                except TimeoutError:
                    message = b": still here\n\n"
                if message == _END:
                    return
                yield message
        finally:
            self._queues.discard(queue)

    def stop(self) -> None:
        """End all streams."""
        self._stopped = True
        if self._telling is not None:
            self._telling.cancel()
        for queue in list(self._queues):
            self._cut_off(queue)

    def _on_feed(self, kind: str, body: dict[str, Any] | None) -> None:
        if not self._queues:
            return
        if body is not None:
            self._tell(_message(kind, body))
            return
        self._changed = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_state(), name="tell state")

    async def _tell_state(self) -> None:
        while self._changed and self._queues:
            await asyncio.sleep(STATE_DELAY)
            self._changed = False
            self._tell(_message("state", await self._backend.on_loop(self._backend.snapshot)))

    def _tell(self, message: bytes) -> None:
        for queue in list(self._queues):
            if queue.qsize() >= BACKLOG:
                self._cut_off(queue)
            else:
                queue.put_nowait(message)

    def _cut_off(self, queue: asyncio.Queue[bytes]) -> None:
        self._queues.discard(queue)
        if not queue.full():
            queue.put_nowait(_END)


def _message(kind: str, body: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
