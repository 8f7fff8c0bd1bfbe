"""Synthesizers on ONNX Runtime: a published graph as it is, or prepared in two parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from engine.audio import Samples
from engine.errors import EngineDefectError
from engine.voices.style_bert_vits2.backend import Controls, Integers, NetworkInput, NetworkOutput, Noise
from engine.voices.style_bert_vits2.graph_names import resolve_inputs
from engine.voices.style_bert_vits2.graph_split import NOISE, NOISE_W
from engine.voices.style_bert_vits2.onnx_session import Graph, runtime

TEXT_PART = "text.onnx"
AUDIO_PART = "audio.onnx"
FACTS = "prepared.json"

MAX_FRAMES = 20_000
"""Beyond four minutes of audio for one sentence something is broken; computing it would take all memory."""


class PublishedSynthesizer:
    """A graph as it was published: noise is drawn inside, so that nothing can be said twice alike."""

    reproducible = False

    def __init__(self, path: Path, content: str) -> None:
        self._graph = Graph(path)
        self._names = resolve_inputs(path, self._graph.inputs)
        self._audio = next(
            (name for name in self._graph.outputs if name in {"audio", "output"}), self._graph.outputs[0]
        )
        self._durations = [name for name in self._graph.outputs if name == "durations"]
        self._size = path.stat().st_size
        self.feature_size = feature_size(self._graph, self._names["bert"])
        self.fingerprint = f"onnx {content} {runtime().__version__}"

    def synthesize(self, network_input: NetworkInput, controls: Controls, noise: Noise) -> NetworkOutput:  # noqa: ARG002
        """See ``Synthesizer``."""
        given = {self._names[name]: value for name, value in feed(network_input, controls).items()}
        results = self._graph.run(given, [self._audio, *self._durations])
        durations = results[1].reshape(-1).astype(np.int64) if self._durations else None
        return NetworkOutput(_samples(results[0], self._graph.path), durations)

    def memory(self) -> int:
        """Bytes of the graph's file."""
        return self._size

    def close(self) -> None:
        """Free the session."""
        self._graph.close()


class PreparedSynthesizer:
    """A graph in two parts with the noise as inputs: the same noise makes the same audio."""

    reproducible = True

    def __init__(self, folder: Path) -> None:
        facts = json.loads((folder / FACTS).read_text("utf-8"))
        self._text, self._audio = Graph(folder / TEXT_PART), Graph(folder / AUDIO_PART)
        self._names: dict[str, str] = facts["names"]
        self._durations: str = facts["durations"]
        self._channels = int(facts["channels"])
        self._size = sum(file.stat().st_size for file in folder.iterdir())
        self.feature_size = feature_size(self._text, self._names["bert"])
        self.fingerprint = f"onnx {facts['content']} {runtime().__version__}"

    def synthesize(self, network_input: NetworkInput, controls: Controls, noise: Noise) -> NetworkOutput:
        """See ``Synthesizer``."""
        symbols = len(network_input.phonemes)
        given = {self._names[name]: value for name, value in feed(network_input, controls).items()}
        given[NOISE_W] = noise.durations(symbols)[None]
        crossing = self._text.outputs
        values = dict(zip(crossing, self._text.run(_only(given, self._text), crossing), strict=True))
        durations: Integers = values[self._durations].reshape(-1).astype(np.int64)
        frames = max(1, int(durations.sum()))
        if frames > MAX_FRAMES:
            message = f"{self._text.path} predicts {frames} frames for {symbols} symbols; the voice is broken"
            raise EngineDefectError(message)
        given[NOISE] = noise.prior(self._channels, frames)[None]
        (audio,) = self._audio.run(_only({**given, **values}, self._audio), self._audio.outputs)
        return NetworkOutput(_samples(audio, self._audio.path), durations)

    def memory(self) -> int:
        """Bytes of the files; the weights among them are mapped."""
        return self._size

    def close(self) -> None:
        """Free both sessions."""
        self._text.close()
        self._audio.close()


def feed(network_input: NetworkInput, controls: Controls) -> dict[str, np.ndarray]:
    """All inputs of a published graph, batch 1, under their canonical names."""
    return {
        "x": network_input.phonemes[None],
        "x_lengths": np.array([len(network_input.phonemes)]),
        "sid": np.array([controls.speaker_id]),
        "tone": network_input.tones[None],
        "language": network_input.languages[None],
        "bert": network_input.features[None],
        "style_vec": network_input.style[None],
        "noise_scale": np.array([controls.noise]),
        "length_scale": np.array([controls.length_scale]),
        "noise_scale_w": np.array([controls.noise_w]),
        "sdp_ratio": np.array([controls.sdp_ratio]),
    }


def _only(values: dict[str, np.ndarray], graph: Graph) -> dict[str, np.ndarray]:
    return {name: values[name] for name in graph.inputs}


def feature_size(graph: Graph, name: str) -> int:
    """D of the input of that name, shape [1, D, P]; 0 if the graph leaves it open."""
    size = graph.inputs[name][1][1]
    return size if isinstance(size, int) else 0


def _samples(audio: np.ndarray, path: Path) -> Samples:
    samples: Samples = audio.reshape(-1).astype(np.float32, copy=False)
    if not np.isfinite(samples).all():
        message = f"{path} made no usable sound: some samples are not finite"
        raise EngineDefectError(message)
    return samples
