"""A sink that nobody hears: it takes as long as a device would."""

from __future__ import annotations

import time

from daemon.sinks.base import Block


class NullSink:
    """Drops samples in real time."""

    name = "null"
    audible = False
    continuous = True
    latency = 0.0

    def __init__(self, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self._due = 0.0

    def open(self, title: str) -> None:
        """Start its clock."""
        del title
        self._due = time.monotonic()

    def write(self, block: Block) -> None:
        """Wait as long as the samples last."""
        self._due = max(self._due, time.monotonic() - 0.1) + len(block) / self.sample_rate
        ahead = self._due - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)

    def close(self) -> None:
        """Nothing to do."""

    def renewed(self) -> NullSink:
        """Another one."""
        return NullSink(self.sample_rate)
