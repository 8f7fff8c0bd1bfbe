"""What a sink has to offer. All calls come from one thread, the player's.

A call may never return, where a device hangs. Its thread and its sink are then left alone: nobody else calls that sink,
and the thread closes it when the call returns after all.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Block = npt.NDArray[np.float32]


class Sink(Protocol):
    """Takes mono samples. Only ``open`` may be called while it is closed; ``close`` may always be called."""

    @property
    def name(self) -> str:
        """For people: which device, which folder."""

    @property
    def audible(self) -> bool:
        """Whether somebody could hear it: a device, not a file."""

    @property
    def continuous(self) -> bool:
        """Whether it runs in real time and stays open between sounds; else each sound is opened and closed."""

    @property
    def sample_rate(self) -> int:
        """In Hz; certain only while it is open."""

    @property
    def latency(self) -> float:
        """Seconds from a write to its sound, while it is open."""

    def open(self, title: str) -> None:
        """Make ready for a sound.

        Args:
            title: of the sound, fit for a file name.

        Raises:
            SinkError: the device is missing, busy or refuses; the message says which and what to do.
        """

    def write(self, block: Block) -> None:
        """Take float32 samples in [-1, 1], shape [N]; waits while its buffer is full.

        Raises:
            SinkError: the device is gone.
        """

    def close(self) -> None:
        """Play what was written, then let go of the device. Never raises."""

    def renewed(self) -> Sink:
        """Another one of the same settings, closed, for when this one hangs; may be called from another thread."""
