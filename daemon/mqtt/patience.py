"""How long to wait before the next attempt to connect: longer each time, never for ever, and nodes not in step."""

from __future__ import annotations

import random

MOMENT = 5.0
"""Seconds; a connection that lasts no longer is a sign of trouble."""
SUSPICIOUS = 3
"""So many of them in a row point to another client with the same id."""
FLAPPING = 8.0
"""Seconds between two attempts, at most, where connections come about and do not last: it may be the network."""
LONGEST = 30.0
"""Seconds between two attempts, at most, where none comes about, or another client has our id."""


class Patience:
    """Counts connections that did not last: two clients with one id would else end each other all day."""

    def __init__(self) -> None:
        self._short = 0
        self._twin = False

    def ended(self, lasted: float, *, taken_over: bool) -> bool:
        """A connection ended after so many seconds; returns whether another client with our id is suspected."""
        self._short = self._short + 1 if lasted < MOMENT or taken_over else 0
        self._twin = taken_over or (self._twin and self._short > 0)
        return self._short == SUSPICIOUS

    def failed(self) -> None:
        """Not even an attempt to connect was possible."""
        self._short += 1

    def pauses(self) -> tuple[float, float]:
        """Seconds before the first attempt, and how far they grow by doubling; with a quarter of jitter."""
        longest = LONGEST if self._twin else FLAPPING
        first = min(2.0 ** min(max(self._short - SUSPICIOUS + 1, 0), 10), longest) * _jitter()
        return first, max(first, LONGEST * _jitter())


def _jitter() -> float:
    return random.uniform(0.75, 1.25)  # noqa: S311
