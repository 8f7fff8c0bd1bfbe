"""How long a request may take."""

from __future__ import annotations

import time

from engine.errors import DeadlineExceededError


class Deadline:
    """A moment that a request must not pass, given as seconds from its beginning."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._start = time.monotonic()

    def left(self) -> float | None:
        """Seconds that are left; None without a limit.

        Raises:
            DeadlineExceededError: none are.
        """
        if self._seconds is None:
            return None
        left = self._start + self._seconds - time.monotonic()
        if left <= 0:
            message = f"the deadline of {self._seconds:g} s passed"
            raise DeadlineExceededError(message)
        return left
