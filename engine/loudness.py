"""Even loudness: measured as ITU-R BS.1770-4 does, with a ceiling for true peaks.

The K weighting is applied in the frequency domain (one FFT over the whole sentence): the same magnitude response
as the two biquad filters of the recommendation, without a sample-by-sample loop.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.audio import Samples

TARGET_LUFS = -18.0
"""Where every sentence of every voice is put."""
CEILING = 10 ** (-1.0 / 20)
"""True-peak ceiling, -1 dBTP: room for the converter's reconstruction filter."""
MAX_GAIN = 10 ** (30 / 20)
"""A sentence that is quieter than this gain can mend is noise, not speech."""

_BLOCK = 0.400
_STEP = 0.100
_ABSOLUTE_GATE = -70.0
_RELATIVE_GATE = -10.0
_STRETCH = 4096


def loudness(samples: Samples, sample_rate: int) -> float:
    """Integrated loudness in LUFS, gated (BS.1770-4, annex 1); -inf for silence.

    Audio shorter than one block of 400 ms is measured as a single block.
    """
    if not len(samples):
        return -np.inf
    weighted = _k_weighted(samples, sample_rate)
    energy = np.concatenate(([0.0], np.cumsum(weighted**2, dtype=np.float64)))
    block, step = round(_BLOCK * sample_rate), round(_STEP * sample_rate)
    starts = np.arange(0, max(len(samples) - block, 0) + 1, step)
    ends = np.minimum(starts + block, len(samples))
    power = (energy[ends] - energy[starts]) / (ends - starts)
    loud = power[_lufs(power) > _ABSOLUTE_GATE]
    if not len(loud):
        return -np.inf
    gate = _lufs(loud.mean(keepdims=True))[0] + _RELATIVE_GATE
    return float(_lufs(loud[_lufs(loud) > gate].mean(keepdims=True))[0])


def even_out(samples: Samples, sample_rate: int, *, target: float = TARGET_LUFS, volume: float = 1.0) -> Samples:
    """Bring audio to the target loudness times ``volume``, with true peaks held under the ceiling.

    Args:
        samples: float32, shape [N].
        sample_rate: in Hz.
        target: in LUFS.
        volume: amplitude relative to the target, 0 or more.
    """
    measured = loudness(samples, sample_rate)
    if not np.isfinite(measured) or volume == 0.0:
        return np.zeros_like(samples)
    gain = min(10 ** ((target - measured) / 20), MAX_GAIN) * volume
    return limit((samples * np.float32(gain)).astype(np.float32), sample_rate)


def true_peak(samples: Samples) -> float:
    """The highest magnitude between samples too: four times oversampled (BS.1770-4, annex 2)."""
    return float(_envelope(samples).max(initial=0.0))


def limit(samples: Samples, sample_rate: int, *, ceiling: float = CEILING, window: float = 0.005) -> Samples:
    """Hold true peaks under the ceiling by a gain that moves smoothly, ``window`` seconds ahead of each peak."""
    envelope = _envelope(samples)
    if envelope.max(initial=0.0) <= ceiling:
        return samples
    needed = np.minimum(1.0, ceiling / np.maximum(envelope, 1e-9))
    reach = max(1, round(window * sample_rate))
    lowest = _running_minimum(needed, reach)
    kernel = np.hanning(2 * reach + 3)[1:-1]
    gain = np.convolve(np.pad(lowest, reach, mode="edge"), kernel / kernel.sum(), mode="valid")
    held: Samples = (samples * np.minimum(gain, 1.0)).astype(np.float32)
    return held


def _lufs(power: np.ndarray) -> np.ndarray:
    level: np.ndarray = -0.691 + 10 * np.log10(np.maximum(power, 1e-20))
    return level


def _k_weighted(samples: Samples, sample_rate: int) -> np.ndarray:
    padded = len(samples) + sample_rate // 2  # the filters ring for less than half a second
    size = 1 << (padded - 1).bit_length()
    response = _known_response if size <= _LONGEST_KNOWN else _k_response
    spectrum = np.fft.rfft(samples, size)
    spectrum *= response(size, sample_rate)
    return np.fft.irfft(spectrum, size)[: len(samples)]


def _k_response(size: int, sample_rate: int) -> np.ndarray:
    """Complex response of K weighting at the frequencies of a real FFT of that size, complex64."""
    frequency = np.fft.rfftfreq(size)
    response = np.empty(len(frequency), np.complex64)
    for start in range(0, len(frequency), _STRETCH):  # at once it would need a hundred bytes a frequency
        response[start : start + _STRETCH] = _k_weight(frequency[start : start + _STRETCH], sample_rate)
    return response


def _k_weight(frequency: np.ndarray, sample_rate: int) -> np.ndarray:
    """Complex response of the shelf and the high-pass of BS.1770-4, redesigned for the sample rate.

    The analogue prototypes behind the coefficients that the recommendation tabulates for 48 kHz: a high shelf of
    4.0 dB at 1682 Hz (Q 0.7072) and a high-pass at 38.1 Hz (Q 0.5003), by the bilinear transform.

    Args:
        frequency: in cycles a sample.
        sample_rate: in Hz.
    """
    z = np.exp(-2j * np.pi * frequency)

    k = np.tan(np.pi * 1681.974450955533 / sample_rate)
    q, vh = 0.7071752369554196, 10 ** (3.999843853973347 / 20)
    vb = vh**0.4996667741545416
    shelf = ((vh + vb * k / q + k * k) + 2 * (k * k - vh) * z + (vh - vb * k / q + k * k) * z**2) / (
        (1 + k / q + k * k) + 2 * (k * k - 1) * z + (1 - k / q + k * k) * z**2
    )

    k = np.tan(np.pi * 38.13547087602444 / sample_rate)
    q = 0.5003270373238773
    norm = 1 + k / q + k * k
    high_pass = (1 - 2 * z + z**2) / (1 + 2 * (k * k - 1) / norm * z + (1 - k / q + k * k) / norm * z**2)
    weight: np.ndarray = shelf * high_pass
    return weight


_known_response = lru_cache(maxsize=2)(_k_response)  # a third of the time of a measurement
_LONGEST_KNOWN = 1 << 18
"""Samples; the response takes 1 MB then. Sentences are seldom longer."""


def _envelope(samples: Samples) -> np.ndarray:
    """Magnitude at each sample and in the three places to the next one, shape [N]."""
    if not len(samples):
        return np.zeros(0, np.float32)
    import soxr  # noqa: PLC0415

    fine = np.abs(soxr.resample(samples, 1, 4, quality="MQ"))
    fine = np.pad(fine, (0, max(0, 4 * len(samples) - len(fine))))[: 4 * len(samples)]
    between: np.ndarray = np.maximum(fine.reshape(-1, 4).max(axis=1), np.abs(samples))
    return between


def _running_minimum(values: np.ndarray, reach: int) -> np.ndarray:
    """Minimum over ``reach`` places to both sides (van Herk and Gil-Werman: three passes for any width)."""
    width = 2 * reach + 1
    length = len(values)
    blocks = -(-(length + 2 * reach) // width)
    padded = np.full(blocks * width, np.inf)
    padded[reach : reach + length] = values
    rows = padded.reshape(blocks, width)
    forward = np.minimum.accumulate(rows, axis=1).ravel()
    backward = np.minimum.accumulate(rows[:, ::-1], axis=1)[:, ::-1].ravel()
    return np.minimum(backward[:length], forward[2 * reach : 2 * reach + length])
