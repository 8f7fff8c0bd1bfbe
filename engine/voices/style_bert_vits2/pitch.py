"""Pitch and intonation of finished audio, by the vocoder WORLD.

M. Morise, F. Yokomori and K. Ozawa, "WORLD: A Vocoder-Based High-Quality Speech Synthesis System for Real-Time
Applications", IEICE Trans. Inf. & Syst. E99-D(7), 2016.
"""

from __future__ import annotations

from importlib.util import find_spec
from types import ModuleType

import numpy as np

from engine.audio import Samples
from engine.errors import InvalidOptionError

_MISSING = "pitch and intonation of this voice need the vocoder WORLD; run: pip install 'asagoe[world]'"


def change_pitch(samples: Samples, sample_rate: int, *, semitones: float, intonation: float) -> Samples:
    """Move the pitch and scale its range around the mean: f0' = 2^(semitones/12) · mean + intonation · (f0 - mean).

    Audio without a voiced moment stays as it is.

    Args:
        samples: float32, shape [N].
        sample_rate: in Hz.
        semitones: 0 leaves the mean.
        intonation: 1 leaves the range, 0 is monotonous.

    Returns:
        Shape [M]: N rounded up to WORLD's frames of 5 ms.

    Raises:
        InvalidOptionError: WORLD is not installed.
    """
    if semitones == 0 and intonation == 1:
        return samples
    world = _library()
    wave = samples.astype(np.float64)
    f0, times = world.harvest(wave, sample_rate)
    voiced = f0 > 0
    if not voiced.any():
        return samples
    spectrum = world.cheaptrick(wave, f0, times, sample_rate)
    aperiodicity = world.d4c(wave, f0, times, sample_rate)
    mean = f0[voiced].mean()
    moved = 2 ** (semitones / 12) * mean + intonation * (f0 - mean)
    changed = np.where(voiced, np.maximum(moved, 0.0), 0.0)
    result: Samples = world.synthesize(changed, spectrum, aperiodicity, sample_rate).astype(np.float32)
    return result


def require_vocoder() -> None:
    """Make sure that pitch and intonation can be changed; imports nothing.

    Raises:
        InvalidOptionError: WORLD is not installed.
    """
    if find_spec("pyworld") is None:
        raise InvalidOptionError(_MISSING)


def _library() -> ModuleType:
    try:
        import pyworld  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InvalidOptionError(_MISSING) from error
    return pyworld  # type: ignore[no-any-return]
