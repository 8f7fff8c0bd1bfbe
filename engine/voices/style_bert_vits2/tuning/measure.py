"""How near a sound is to another, and how long it takes to make."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.audio import Samples
from engine.voices.style_bert_vits2.backend import Controls, NetworkInput, SeededNoise, Synthesizer

_SIZE, _HOP, _BANDS = 2048, 512, 80
_FLOOR = 1e-10  # of the power of a band: 100 dB below full scale


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence ready for the network, with the seed of its noise.

    Attributes:
        given: what the network takes.
        controls: the voice's usual ones.
        seed: of the noise, so that each candidate is given the same.
    """

    given: NetworkInput
    controls: Controls
    seed: int

    def spoken(self, synthesizer: Synthesizer) -> Samples:
        """Its sound."""
        return synthesizer.synthesize(self.given, self.controls, SeededNoise(self.seed)).samples


def noise_to_signal(reference: Samples, found: Samples) -> float:
    """Power of the difference relative to that of the reference; infinite where the lengths differ."""
    if reference.shape != found.shape:
        return float("inf")
    exact = reference.astype(np.float64)
    power = float(np.square(exact).sum())
    error = float(np.square(found.astype(np.float64) - exact).sum())
    return error / power if power > 0 else (0.0 if error == 0 else float("inf"))


def log_mel_distance(reference: Samples, found: Samples, sample_rate: int) -> float:
    """Root mean square difference of log-mel power spectra in dB: 80 bands, Hann window of 2,048, hop of 512."""
    if reference.shape != found.shape:
        return float("inf")
    one, other = (_log_mel(samples, sample_rate) for samples in (reference, found))
    return float(np.sqrt(np.square(one - other).mean()))


def _log_mel(samples: Samples, sample_rate: int) -> npt.NDArray[np.float64]:
    padded = np.pad(samples.astype(np.float64), (0, max(0, _SIZE - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, _SIZE)[::_HOP]
    spectrum = np.fft.rfft(frames * np.hanning(_SIZE), axis=1)
    power = np.square(np.abs(spectrum)) / (_SIZE / 2) ** 2
    return 10 * np.log10(power @ _filters(sample_rate).T + _FLOOR)


def _filters(sample_rate: int) -> npt.NDArray[np.float64]:
    """Triangles over the mel scale, m = 2595 · log10(1 + f / 700) (O'Shaughnessy 1987), shape [80, 1025]."""
    top = 2595 * np.log10(1 + sample_rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, _BANDS + 2) / 2595) - 1)
    frequencies = np.fft.rfftfreq(_SIZE, 1 / sample_rate)
    low, middle, high = (edges[at : at + _BANDS, None] for at in range(3))
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    result: npt.NDArray[np.float64] = np.maximum(0, np.minimum(rising, falling))
    return result


def in_turns(
    first: Callable[[], object],
    second: Callable[[], object],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, float]:
    """Shortest time in seconds of each of two things, done in turns so that other work of the machine meets both.

    It is the processor time of all threads: on a machine that does other things as well, time on the wall tells more of
    those than of what is measured. Threads of ONNX Runtime wait without spinning, so waiting does not count.
    """
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for times, act in zip(taken, (first, second), strict=True):
            begun = clock()
            act()
            times.append(clock() - begun)
    return min(taken[0]), min(taken[1])


def say_all(synthesizer: Synthesizer, utterances: Sequence[Utterance]) -> None:
    """Let a network say some sentences; for the time that it takes."""
    for utterance in utterances:
        utterance.spoken(synthesizer)
