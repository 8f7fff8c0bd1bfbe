"""Another attempt, later: exponential backoff with jitter."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from engine.errors import SourceUnreachableError

_T = TypeVar("_T")
_SLICE = 0.25


@dataclass(frozen=True, slots=True)
class Policy:
    """How often and how long.

    Attributes:
        attempts: how many in a row may fail without any byte having come.
        base: seconds before the second attempt, at most.
        ceiling: seconds before any attempt, at most.
        patience: a source that asks for a longer pause than this, in seconds, is given up.
        sleep: waits; tests hand in another.
        draw: a random number of [0, 1).
    """

    attempts: int = 5
    base: float = 1.0
    ceiling: float = 30.0
    patience: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = field(default=random.random)

    def pause(self, failures: int, asked: float | None) -> float:
        """Seconds to wait after so many failures: what the source asked for and a little, else half to whole of
        base · 2^(failures - 1), so that many who failed together do not come back together.
        """  # noqa: D205
        whole = min(self.ceiling, self.base * 2.0 ** (failures - 1))
        if asked is not None:
            return asked + self.draw() * min(1.0, self.base)
        return whole * (0.5 + self.draw() / 2)


DEFAULT_POLICY = Policy()


class Attempts:
    """Counts the failures of one piece of work and waits between its attempts.

    Args:
        policy: how often and how long.
        waiting: told why, several times a second while it waits; what it raises ends the waiting.
    """

    def __init__(self, policy: Policy, waiting: Callable[[str], None] = lambda _: None) -> None:
        self._policy = policy
        self._waiting = waiting
        self._failures = 0

    def progress(self) -> None:
        """Something was achieved; the count begins anew."""
        self._failures = 0

    def failed(self, error: SourceUnreachableError) -> None:
        """Wait for the next attempt.

        Raises:
            SourceUnreachableError: there is none.
        """
        self._failures += 1
        asked = error.retry_after
        if self._failures >= self._policy.attempts or (asked is not None and asked > self._policy.patience):
            raise error
        for seconds in _slices(self._policy.pause(self._failures, asked)):
            self._waiting(str(error))
            self._policy.sleep(seconds)


def retrying(work: Callable[[], _T], policy: Policy, waiting: Callable[[str], None] = lambda _: None) -> _T:
    """Do it, again and again while the source is unreachable.

    Raises:
        SourceUnreachableError: all attempts failed.
    """
    attempts = Attempts(policy, waiting)
    while True:
        try:
            return work()
        except SourceUnreachableError as error:
            attempts.failed(error)


def _slices(seconds: float) -> Iterator[float]:
    while seconds > _SLICE:
        yield _SLICE
        seconds -= _SLICE
    yield seconds
