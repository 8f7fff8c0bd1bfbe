"""Threads for the asynchronous calls of a speaker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from engine.errors import VoiceNotAvailableError
from engine.forking import renewed_after_fork

_T = TypeVar("_T")


class SpeakerThreads:
    """The threads in which a speaker's asynchronous calls run: one for what is waited for, one for the background."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._renew()
        renewed_after_fork(self, SpeakerThreads._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._pools: dict[bool, ThreadPoolExecutor] = {}
        self._closed = False

    async def run(self, work: Callable[[], _T], *, background: bool) -> _T:
        """Run something in the thread of its kind.

        Raises:
            VoiceNotAvailableError: the speaker was closed.
        """
        with self._lock:
            if self._closed:
                message = f"speaker {self._name} was unloaded; load and prepare it again"
                raise VoiceNotAvailableError(message)
            pool = self._pools.get(background)
            if pool is None:
                pool = ThreadPoolExecutor(1, thread_name_prefix=f"speaker-{self._name}")
                self._pools[background] = pool
            future = asyncio.get_running_loop().run_in_executor(pool, work)
        return await future

    def close(self) -> None:
        """What waits in the pools still runs, and finds that the voice is gone."""
        with self._lock:
            self._closed = True
            for pool in self._pools.values():
                pool.shutdown(wait=False)
