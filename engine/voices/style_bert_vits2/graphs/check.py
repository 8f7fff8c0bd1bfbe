"""Whether a prepared graph says the same as the published one: a short utterance without noise, through both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.voices.style_bert_vits2.backend import Controls, Floats, NetworkInput, NetworkOutput, Synthesizer
from engine.voices.style_bert_vits2.graphs import split as graph_split
from engine.voices.style_bert_vits2.graphs.file import save_model
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.runtime.synthesizer import feature_size, feed

if TYPE_CHECKING:
    from onnx import ModelProto

TOLERANCE = 1e-4
"""How far a sample may be from the original's; float32 noise is about 4e-6."""

_PHONEMES = (0, 57, 65, 5, 62, 40, 22, 40, 97, 8, 107, 0)  # _ k o N n i ch i w a . _
_CONTROLS = tuple(
    Controls(length_scale=scale, sdp_ratio=ratio, noise=0.0, noise_w=0.0) for scale, ratio in ((1.0, 0.2), (1.13, 0.7))
)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the published graph made of the sample.

    Attributes:
        outputs: one for each set of controls.
        channels: of the prior's noise.
    """

    outputs: tuple[NetworkOutput, ...]
    channels: int


class Silence:
    """Noise of no amplitude."""

    def durations(self, symbols: int) -> Floats:
        """See ``Noise``."""
        return np.zeros((2, symbols), np.float32)

    def prior(self, channels: int, frames: int) -> Floats:
        """See ``Noise``."""
        return np.zeros((channels, frames), np.float32)


def expected(model: ModelProto, marks: graph_split.Landmarks, names: Mapping[str, str], file: Path) -> Expected:
    """Run the published graph; ``file`` is where a copy that shows its insides may be put."""
    outputs = (marks.audio, marks.durations, marks.prior_like)
    save_model(graph_split.with_outputs(model, *outputs), file)
    graph = Graph(file, level="ORT_ENABLE_BASIC")
    sample = _sample(feature_size(graph, names["bert"]))
    made: list[NetworkOutput] = []
    channels = 0
    for controls in _CONTROLS:
        results = graph.run({names[name]: value for name, value in feed(sample, controls).items()})
        audio, durations, like = (results[name] for name in outputs)
        if like.ndim != 3:
            message = f"the noise of the prior has {like.ndim} dimensions; 3 are expected"
            raise graph_split.UnknownGraphError(message)
        channels = like.shape[1]
        made.append(NetworkOutput(audio.reshape(-1).astype(np.float32), durations.reshape(-1).astype(np.int64)))
    graph.close()
    file.unlink()
    return Expected(tuple(made), channels)


def verify(wanted: Expected, prepared: Synthesizer) -> None:
    """Compare.

    Raises:
        UnknownGraphError: the prepared graph says something else.
    """
    for controls, want in zip(_CONTROLS, wanted.outputs, strict=True):
        got = prepared.synthesize(_sample(prepared.feature_size), controls, Silence())
        if want.durations is None or got.durations is None or not np.array_equal(got.durations, want.durations):
            message = "the prepared graph predicts other durations"
            raise graph_split.UnknownGraphError(message)
        error = float(np.abs(got.samples - want.samples).max()) if got.samples.shape == want.samples.shape else np.inf
        if not error <= TOLERANCE:
            message = f"the prepared graph differs by {error:g}"
            raise graph_split.UnknownGraphError(message)


def _sample(features: int) -> NetworkInput:
    """The sample's symbols with blanks; its features and style are noise that does not change."""
    generator = np.random.Generator(np.random.PCG64(1))
    symbols = 2 * len(_PHONEMES) + 1
    ids = np.zeros((3, symbols), np.int64)
    ids[:, 1::2] = np.array([_PHONEMES, [6 + (at % 3 > 0) for at in range(len(_PHONEMES))], [1] * len(_PHONEMES)])
    phonemes, tones, languages = ids
    return NetworkInput(
        phonemes,
        tones,
        languages,
        generator.standard_normal((features or 1024, symbols), np.float32) * np.float32(0.3),
        generator.standard_normal(256, np.float32) * np.float32(0.1),
    )
