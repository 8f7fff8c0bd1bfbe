"""Synthesizers on ONNX Runtime: a published graph as it is, or a network in three parts.

Of the three, the encoder gives durations and prior, the flow the latent, the decoder the waveform. All noise is an
input, and the decoder, which has most of the work and memory, runs in windows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.audio import Samples
from engine.errors import EngineDefectError
from engine.voices.style_bert_vits2.backend import Controls, Integers, NetworkInput, NetworkOutput, Noise
from engine.voices.style_bert_vits2.graphs.names import CANONICAL_INPUTS, resolve_inputs
from engine.voices.style_bert_vits2.graphs.rows import ROWS
from engine.voices.style_bert_vits2.runtime.session import Graph, runtime, session_options, thread_budget

PARTS = ("encoder.onnx", "flow.onnx", "decoder.onnx")

WINDOW = 512
"""Frames that are decoded at once: 6 seconds, of which the decoder's memory is 200 MB."""
ROW = 24
"""Frames of a row of the decoder at least (see ``decoder_rows``): what rows overlap is computed twice."""
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
        self._size = path.stat().st_size
        self.feature_size = feature_size(self._graph, self._names["bert"])
        self.fingerprint = f"onnx {content} {runtime().__version__}"

    def synthesize(self, network_input: NetworkInput, controls: Controls, noise: Noise) -> NetworkOutput:  # noqa: ARG002
        """See ``Synthesizer``."""
        given = {self._names[name]: value for name, value in feed(network_input, controls).items()}
        results = self._graph.run(given)
        durations = results["durations"].reshape(-1).astype(np.int64) if "durations" in results else None
        return NetworkOutput(_samples(results[self._audio], self._graph.path), durations)

    def memory(self) -> int:
        """Bytes of the graph's file."""
        return self._size

    def close(self) -> None:
        """Free the session."""
        self._graph.close()


@dataclass(frozen=True, slots=True)
class PartNames:
    """What tensors are called in the graphs of a network in parts.

    Attributes:
        inputs: the graphs' name for each input of a published graph.
        duration_noise: for the stochastic duration predictor, [1, 2, P].
        prior_noise: for the prior, [1, C, F].
        durations: frames of each symbol.
        latent: what the flow gives the decoder, [1, C, F].
    """

    inputs: Mapping[str, str]
    duration_noise: str
    prior_noise: str
    durations: str
    latent: str


CONVERTED_NAMES = PartNames(
    {name: name for name in CANONICAL_INPUTS}, "noise_w", "noise", durations="durations", latent="z"
)
"""Those of voices that Asagoe converted."""


@dataclass(frozen=True, slots=True)
class Substitutes:
    """Graphs that take the place of some of a network's.

    Attributes:
        graphs: path by the name in ``PARTS``; their tensors are called like those of the originals.
        variant: what they are; changes whenever they could sound otherwise.
    """

    graphs: Mapping[str, Path]
    variant: str


class PartedSynthesizer:
    """A network in three graphs: the same noise makes the same audio.

    Args:
        folder: has the graphs in it.
        content: hash of what the network is.
        names: of the tensors.
        margin: frames on each side that a frame of the decoder depends on.
        channels: C, of the prior; 0 to take what the flow declares.
        window: frames that are decoded at once, at most.
        instead: graphs that take the place of some in the folder, and what makes them different.
        shared: graphs that another network has opened and will close, by the name in ``PARTS``.

    Attributes:
        portable: path of each graph in the folder, by the name in ``PARTS``, whatever takes its place.
        paths: of those that are computed with.
    """

    reproducible = True

    def __init__(
        self,
        folder: Path,
        content: str,
        names: PartNames,
        *,
        margin: int,
        channels: int = 0,
        window: int = WINDOW,
        instead: Substitutes | None = None,
        shared: Mapping[str, Graph] | None = None,
    ) -> None:
        self._replaced = instead.graphs if instead is not None else {}
        self.portable = {name: folder / name for name in PARTS}
        self.paths = {**self.portable, **self._replaced}
        self._own = {name: _opened(name, path) for name, path in self.paths.items() if name not in (shared or {})}
        self._graphs = {**(shared or {}), **self._own}
        self._encoder, self._flow, self._decoder = (self._graphs[name] for name in PARTS)
        self._folder, self._content = folder, content
        self._names = names
        self._channels = channels or int(self._flow.inputs[names.prior_noise][1][1])
        self._margin, self._window = margin, window
        files = _graph_files(folder, set(PARTS) - set(self._replaced))
        self._size = sum(file.stat().st_size for file in {*files, *_graph_files_of(self._replaced.values())})
        self.feature_size = feature_size(self._encoder, names.inputs["bert"])
        self.fingerprint = f"onnx {content} {runtime().__version__}" + (f" {instead.variant}" if instead else "")

    def variant(self, graphs: Mapping[str, Path], *, window: int | None = None) -> PartedSynthesizer:
        """The same network with other graphs in the place of some, for a comparison.

        It shares all others with this one: closing it closes only its own, and it must be closed first.
        """
        return PartedSynthesizer(
            self._folder,
            self._content,
            self._names,
            margin=self._margin,
            channels=self._channels,
            window=window or self._window,
            instead=Substitutes({**self._replaced, **graphs}, "variant"),
            shared={name: graph for name, graph in self._graphs.items() if name not in graphs},
        )

    def synthesize(self, network_input: NetworkInput, controls: Controls, noise: Noise) -> NetworkOutput:
        """See ``Synthesizer``."""
        known = self.known(network_input, controls, noise)
        latent = known[self._names.latent]
        audio = decode_in_windows(self._decode(known), latent, margin=self._margin, window=self._window)
        durations: Integers = known[self._names.durations].reshape(-1).astype(np.int64)
        return NetworkOutput(_samples(audio, self._decoder.path), durations)

    @property
    def latent(self) -> str:
        """Name of the tensor that the decoder makes audio of, [1, C, F]."""
        return self._names.latent

    def known(self, network_input: NetworkInput, controls: Controls, noise: Noise) -> dict[str, np.ndarray]:
        """All that the three graphs take for an utterance, by name; the latent is computed last."""
        names, symbols = self._names, len(network_input.phonemes)
        known = {names.inputs[name]: value for name, value in feed(network_input, controls).items()}
        known[names.duration_noise] = noise.durations(symbols)[None]
        known |= self._encoder.run(known)
        durations: Integers = known[names.durations].reshape(-1).astype(np.int64)
        frames = max(1, int(durations.sum()))
        if frames > MAX_FRAMES:
            message = f"{self._encoder.path} predicts {frames} frames for {symbols} symbols; the voice is broken"
            raise EngineDefectError(message)
        known[names.prior_noise] = noise.prior(self._channels, frames)[None]
        return known | self._flow.run(known)

    def memory(self) -> int:
        """Bytes of the files; the weights among them are mapped."""
        return self._size

    def close(self) -> None:
        """Free the sessions."""
        for graph in self._own.values():
            graph.close()

    def _decode(self, known: Mapping[str, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        def decode(latent: np.ndarray) -> np.ndarray:
            rows = np.array([max(1, min(thread_budget(), latent.shape[2] // ROW))])
            (audio,) = self._decoder.run({**known, self._names.latent: latent, ROWS: rows}).values()
            return audio.reshape(-1)

        return decode


def _opened(name: str, path: Path) -> Graph:
    """A part; the encoder has no threads of its own: with two it is as quick as with one (10 ms of 670)."""
    return Graph(path, options=session_options(threads=1)) if name == PARTS[0] else Graph(path)


def decode_in_windows(
    decode: Callable[[np.ndarray], np.ndarray], latent: np.ndarray, *, margin: int, window: int
) -> np.ndarray:
    """Decode a latent, long ones piece by piece; the pieces overlap so far that nothing of it is heard.

    Args:
        decode: latent of shape [1, C, f] to samples of shape [f · hop length].
        latent: shape [1, C, F].
        margin: frames on each side that a frame depends on.
        window: frames of a piece without its margins, at most.
    """
    frames = latent.shape[2]
    pieces = -(-frames // window)
    if pieces <= 1:
        return decode(latent)
    parts: list[np.ndarray] = []
    edges = [round(frames * at / pieces) for at in range(pieces + 1)]
    for start, end in itertools.pairwise(edges):
        first, last = max(0, start - margin), min(frames, end + margin)
        audio = decode(np.ascontiguousarray(latent[:, :, first:last]))
        hop = len(audio) // (last - first)
        parts.append(audio[(start - first) * hop : (end - first) * hop])
    return np.concatenate(parts)


def _graph_files(folder: Path, names: Collection[str]) -> set[Path]:
    """The graphs of that name and the weights beside them, whether each has its own or they share one file."""
    weights = {file for file in folder.iterdir() if file.name.endswith(".onnx.data")}
    others = {folder / f"{name}.data" for name in set(PARTS) - set(names)}
    return (weights - others) | {folder / name for name in names}


def _graph_files_of(graphs: Iterable[Path]) -> set[Path]:
    """Graphs with their own weights beside them."""
    return {file for graph in graphs for file in (graph, graph.with_name(f"{graph.name}.data")) if file.exists()}


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


def feature_size(graph: Graph, name: str) -> int:
    """D of the input of that name, shape [1, D, P]; 0 if the graph leaves it open."""
    shape = graph.inputs[name][1]
    size = shape[1] if len(shape) > 1 else 0
    return size if isinstance(size, int) else 0


def _samples(audio: np.ndarray, path: Path) -> Samples:
    samples: Samples = audio.reshape(-1).astype(np.float32, copy=False)
    if not np.isfinite(samples).all():
        message = f"{path} made no usable sound: some samples are not finite"
        raise EngineDefectError(message)
    return samples
