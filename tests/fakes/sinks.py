"""Sinks that remember what they were given, and fail when they are told to."""

from __future__ import annotations

import time

import numpy as np

from daemon.errors import SinkError, SinkMissingError
from daemon.sinks.base import Block


class MemorySink:
    """Keeps all samples. Paced like a device, or as quick as it can.

    Faults: ``missing`` and ``busy`` refuse to open; ``fails_after`` breaks a write
    once so many samples were taken, and with ``vanishes`` the device is missing from then on.
    """

    def __init__(
        self, name: str = "memory", *, sample_rate: int = 48_000, continuous: bool = True, paced: bool = False
    ) -> None:
        self.name = name
        self.sample_rate = sample_rate
        self.continuous = continuous
        self.audible = continuous
        self.latency = 0.0
        self.paced = paced
        self.missing = False
        self.vanishes = False
        self.busy = 0
        self.fails_after: int | None = None
        self.opened: list[str] = []
        self.closed = 0
        self.is_open = False
        self._blocks: list[Block] = []

    def open(self, title: str) -> None:
        if self.missing:
            raise SinkMissingError(f"there is no sound device {self.name!r}")
        if self.busy:
            self.busy -= 1
            raise SinkError(f"{self.name} is busy")
        self.is_open = True
        self.opened.append(title)

    def write(self, block: Block) -> None:
        assert self.is_open
        if self.fails_after is not None and len(self.samples) >= self.fails_after:
            self.fails_after = None
            self.missing = self.vanishes
            raise SinkError(f"{self.name} went away")
        self._blocks.append(block)
        time.sleep(len(block) / self.sample_rate if self.paced else 0.0005)

    def close(self) -> None:
        self.closed += self.is_open
        self.is_open = False

    def renewed(self):
        return self

    @property
    def samples(self) -> Block:
        return np.concatenate(self._blocks) if self._blocks else np.zeros(0, np.float32)

    def sound(self, threshold: float = 1e-4) -> Block:
        """What was written, from the first to the last sample that is not silent."""
        loud = np.flatnonzero(np.abs(self.samples) > threshold)
        return self.samples[loud[0] : loud[-1] + 1] if len(loud) else np.zeros(0, np.float32)
