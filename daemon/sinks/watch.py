"""Notices that a call to a sink does not return: a sound server that was stopped, a USB device that died."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from daemon.sinks.base import Sink

TICK = 0.1
"""Seconds between two looks at a call."""


class Abandoned(Exception):  # noqa: N818 - no error: nobody waits for this thread any more
    """The call returned after its thread was given up: the thread closes its sink and ends."""


class Watch:
    """The call to a sink in which a thread is. ``calling`` is for that thread, everything else for another one.

    Time is counted in looks, not read from a clock: while the whole machine sleeps or this process is held, nobody
    looks, and no call is taken for one that hangs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sink: Sink | None = None
        self._hung: Sink | None = None
        self._buffer = 0.0
        self._ticks = 0

    @contextmanager
    def calling(self, sink: Sink, buffer: float = 0.0) -> Iterator[None]:
        """A call that may take ``buffer`` seconds, as long as it plays what was written, without being late.

        Raises:
            Abandoned: it returned too late, and somebody else goes on.
        """
        with self._lock:
            self._check()
            self._sink, self._buffer, self._ticks = sink, buffer, 0
        try:
            yield
        finally:
            with self._lock:
                self._sink = None
                self._check()

    def look(self) -> None:
        """Count one more ``TICK``."""
        with self._lock:
            self._ticks += 1

    @property
    def late(self) -> float:
        """Seconds, in whole ticks, by which a call is late; 0 or less when there is none, or it is not late."""
        with self._lock:
            return self._late()

    def abandon(self, patience: float) -> Sink | None:
        """Give up the thread when its call is late by so many seconds; returns the sink that hangs, or None."""
        with self._lock:
            if self._sink is None or self._hung is not None or self._late() < patience:
                return None
            self._hung = self._sink
            return self._sink

    @property
    def hung(self) -> Sink | None:
        """The sink in which the thread was when it was given up, or None."""
        return self._hung

    def _late(self) -> float:
        return 0.0 if self._sink is None else self._ticks * TICK - self._buffer

    def _check(self) -> None:
        if self._hung is not None:
            raise Abandoned
