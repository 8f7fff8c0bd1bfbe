"""What computes: the seam between the family and its two engines (ONNX Runtime, PyTorch)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engine.audio import Samples

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """One utterance as the network takes it; P symbols, D features of BERT.

    Attributes:
        phonemes: ids, shape [P], with blanks if the model has them.
        tones: ids, shape [P].
        languages: ids, shape [P].
        features: BERT features, shape [D, P], each token's column repeated for its symbols.
        style: style vector, shape [256].
    """

    phonemes: Integers
    tones: Integers
    languages: Integers
    features: Floats
    style: Floats


@dataclass(frozen=True, slots=True)
class Controls:
    """The numbers that steer the network.

    Attributes:
        speaker_id: row of the speaker embedding.
        length_scale: all durations are multiplied by it (above 1 is slower).
        sdp_ratio: share of the stochastic duration predictor, 0 to 1.
        noise: standard deviation of the prior's noise, times the predicted one.
        noise_w: standard deviation of the stochastic duration predictor's noise.
    """

    speaker_id: int = 0
    length_scale: float = 1.0
    sdp_ratio: float = 0.2
    noise: float = 0.6
    noise_w: float = 0.8


class Noise(Protocol):
    """Standard normal noise; ``durations`` is always drawn before ``prior``."""

    def durations(self, symbols: int) -> Floats:
        """For the stochastic duration predictor, shape [2, symbols]."""

    def prior(self, channels: int, frames: int) -> Floats:
        """For the prior, shape [channels, frames]."""


class SeededNoise:
    """Noise that a seed determines; without a seed it differs every time."""

    def __init__(self, seed: int | None = None) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def durations(self, symbols: int) -> Floats:
        """See ``Noise``."""
        return self._generator.standard_normal((2, symbols), np.float32)

    def prior(self, channels: int, frames: int) -> Floats:
        """See ``Noise``."""
        return self._generator.standard_normal((channels, frames), np.float32)


@dataclass(frozen=True, slots=True)
class NetworkOutput:
    """What the network made of an utterance.

    Attributes:
        samples: float32, shape [frames × hop length], in [-1, 1].
        durations: frames of each symbol, shape [P]; None if the graph does not tell.
    """

    samples: Samples
    durations: Integers | None


class Synthesizer(Protocol):
    """The network of one voice. Not safe to share between threads."""

    @property
    def reproducible(self) -> bool:
        """Whether equal noise makes equal audio; if not, ``noise`` is ignored and drawn inside."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same input could sound otherwise."""

    @property
    def feature_size(self) -> int:
        """D, the size of the BERT features that it takes; 0 if the graph leaves it open."""

    def synthesize(self, network_input: NetworkInput, controls: Controls, noise: Noise) -> NetworkOutput:
        """Compute the audio of one utterance."""

    def memory(self) -> int:
        """Bytes of its weights."""

    def close(self) -> None:
        """Give everything back."""


class FeatureExtractor(Protocol):
    """BERT. Safe to share between threads."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the features of a text could change."""

    @property
    def feature_size(self) -> int:
        """D, numbers a token; 0 if the graph leaves it open."""

    def features(self, token_ids: Integers) -> Floats:
        """Hidden states of the third last layer, shape [T, D], for token ids of shape [T] with CLS and SEP."""

    def memory(self) -> int:
        """Bytes of its weights."""

    def close(self) -> None:
        """Give everything back."""
