"""The sound of last resort: made from sines, so that no file, voice or network can keep it from being heard."""

from __future__ import annotations

import numpy as np

from engine import Audio

_NOTES = ((0.00, 880.0), (0.28, 1108.73), (0.56, 1318.51), (1.30, 880.0), (1.58, 1108.73), (1.86, 1318.51))
"""When which note begins: A5, C♯6, E6, twice. Seconds and Hz."""
_LENGTH = 3.0
_DECAY = 5.0
_ATTACK = 0.008
_PEAK = 0.5


def bell(sample_rate: int) -> Audio:
    """Three rising notes, twice, in three seconds; its peak is 0.5.

    Args:
        sample_rate: in Hz.
    """
    t = np.arange(round(_LENGTH * sample_rate)) / sample_rate
    sound = np.zeros_like(t)
    for start, pitch in _NOTES:
        since = np.maximum(t - start, 0.0)
        envelope = np.minimum(since / _ATTACK, 1.0) * np.exp(-_DECAY * since)
        for harmonic, level in ((1, 1.0), (2, 0.35), (3, 0.12)):
            sound += envelope * level * np.sin(2 * np.pi * pitch * harmonic * since)
    end = np.minimum((_LENGTH - t) / 0.05, 1.0)
    return Audio((sound * end * (_PEAK / np.abs(sound).max())).astype(np.float32), sample_rate)
