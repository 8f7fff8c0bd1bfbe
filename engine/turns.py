"""Whose turn it is: locks that let urgent work pass what is rendered ahead.

Speech that somebody waits for is *urgent*, speech that is rendered for later is *background*. Whatever is held is held
to the end of one sentence or one run of a network; whoever is urgent then goes first, however many wait in the
background.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from engine.forking import renewed_after_fork

_background: ContextVar[Callable[[], bool]] = ContextVar("background", default=lambda: False)
_GLANCE = 0.05  # seconds between two looks at what cancels a wait


def in_background() -> bool:
    """Whether the calling thread or task renders ahead."""
    return _background.get()()


@contextmanager
def working(*, background: Callable[[], bool]) -> Iterator[None]:
    """Say what the work in this block is; whatever takes turns within it asks ``in_background``.

    Args:
        background: asked at each turn: what was rendered ahead becomes urgent when somebody waits for its end.
    """
    token = _background.set(background)
    try:
        yield
    finally:
        _background.reset(token)


class Turns:
    """A lock for one holder at a time: urgent ones first, in order of arrival among equals. Not reentrant."""

    def __init__(self) -> None:
        self._renew()
        renewed_after_fork(self, Turns._renew)

    def _renew(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._urgent: deque[threading.Event] = deque()
        self._later: deque[threading.Event] = deque()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._urgent) + len(self._later)

    @property
    def urgently_wanted(self) -> bool:
        """Whether somebody waits who does not wait in the background."""
        return bool(self._urgent)

    def take(
        self, *, background: bool = False, timeout: float | None = None, cancel: threading.Event | None = None
    ) -> bool:
        """Wait for the turn.

        Args:
            background: let everything that is urgent go first.
            timeout: seconds to wait at most; None for as long as it takes.
            cancel: ends the wait when it is set.

        Returns:
            Whether the turn has come; if so, ``give`` must follow.
        """
        limit = None if timeout is None else time.monotonic() + timeout
        with self._guard:
            if not self._held:  # then nobody waits
                self._held = True
                return True
            mine = threading.Event()
            queue = self._later if background else self._urgent
            queue.append(mine)
        try:
            while not mine.is_set():
                left = None if limit is None else limit - time.monotonic()
                if (left is not None and left <= 0) or (cancel is not None and cancel.is_set()):
                    return self._stepped_back(queue, mine)
                mine.wait(left if cancel is None else min(_GLANCE, _GLANCE if left is None else left))
        except BaseException:  # an interrupt from the keyboard: the turn must not come to nobody
            if self._stepped_back(queue, mine):
                self.give()
            raise
        return True

    def _stepped_back(self, queue: deque[threading.Event], mine: threading.Event) -> bool:
        """Wait no longer; returns whether the turn came at the last moment."""
        with self._guard:
            if mine.is_set():
                return True
            queue.remove(mine)
            return False

    def give(self) -> None:
        """Pass the turn on to whoever is next."""
        with self._guard:
            for queue in (self._urgent, self._later):
                if queue:
                    queue.popleft().set()
                    return
            self._held = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn; whether it is urgent is what ``working`` says."""
        self.take(background=in_background())
        try:
            yield
        finally:
            self.give()
