"""Graphs of one network with this or that of its layers quantised."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.voices.style_bert_vits2.backend import SeededNoise
from engine.voices.style_bert_vits2.graphs.cache import optimize
from engine.voices.style_bert_vits2.graphs.file import load_model, save_model
from engine.voices.style_bert_vits2.graphs.rows import in_rows
from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError
from engine.voices.style_bert_vits2.runtime.synthesizer import PARTS, PartedSynthesizer
from engine.voices.style_bert_vits2.tuning.calibrate import calibrated
from engine.voices.style_bert_vits2.tuning.layers import Layer, layers_of, unfuse
from engine.voices.style_bert_vits2.tuning.measure import Utterance
from engine.voices.style_bert_vits2.tuning.quantise import Bounds, Format, quantised

if TYPE_CHECKING:
    from onnx import ModelProto

_PIECE = 128
"""Frames that the decoder is calibrated with at once; its tensors take 4 MB each then."""


class Workshop:
    """Builds variants of a network in a folder.

    Args:
        synthesizer: in float32.
        parts: of ``PARTS``, those of which anything may be quantised.
        folder: to work in.
        numbers: what is quantised to.

    Raises:
        UnknownGraphError: a graph is built in an unknown way.
    """

    def __init__(self, synthesizer: PartedSynthesizer, parts: Sequence[str], folder: Path, numbers: Format) -> None:
        self._synthesizer = synthesizer
        self._folder = folder
        self._numbers = numbers
        self._models: dict[str, ModelProto] = {}
        self._layers: dict[str, tuple[Layer, ...]] = {}
        self._bounds: dict[str, Mapping[str, Bounds]] = {}
        for part in parts:
            self._models[part] = load_model(synthesizer.portable[part])
            unfuse(self._models[part])
            self._layers[part] = layers_of(part, self._models[part])

    @property
    def groups(self) -> dict[str, tuple[str, int]]:
        """Part and work of each group of layers, in the order of computing."""
        found: dict[str, tuple[str, int]] = {}
        for part, layers in self._layers.items():
            for layer in layers:
                found[layer.group] = part, found.get(layer.group, (part, 0))[1] + layer.work
        return found

    def calibrate(self, utterances: Sequence[Utterance]) -> None:
        """Find the bounds of what all layers take and give."""
        inputs: dict[str, list[dict[str, np.ndarray]]] = {part: [] for part in self._models}
        for utterance in utterances:
            known = self._synthesizer.known(utterance.given, utterance.controls, SeededNoise(utterance.seed))
            for part, runs in inputs.items():
                names = {item.name for item in self._models[part].graph.input}
                given = {name: value for name, value in known.items() if name in names}
                runs.extend(self._pieces(given) if part == PARTS[2] else [given])
        for part, runs in inputs.items():
            tensors = dict.fromkeys(name for layer in self._layers[part] for name in (layer.input, layer.output))
            self._bounds[part] = calibrated(self._models[part], list(tensors), runs, self._folder / "observed.onnx")

    def build(self, name: str, groups: Collection[str]) -> dict[str, Path]:
        """Write the graphs in which some groups are quantised into a folder of that name, anew if it is there."""
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        graphs = {}
        for part, layers in self._layers.items():
            chosen = [layer for layer in layers if layer.group in groups]
            if chosen:
                draft = folder / "draft.onnx"
                model = quantised(self._models[part], chosen, self._bounds[part], self._numbers)
                save_model(_in_rows(model) if part == PARTS[2] else model, draft)
                # ALL lays the weights out for this very processor, and tunings hold for no other.
                optimize(draft, folder / part, "ORT_ENABLE_ALL", weights=f"{part}.data")
                draft.unlink()
                graphs[part] = folder / part
        return graphs

    def _pieces(self, given: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
        """What the decoder takes, in short pieces of the latent; every second one is enough."""
        latent = given[self._synthesizer.latent]
        return [
            {**given, self._synthesizer.latent: latent[:, :, start : start + _PIECE]}
            for start in range(0, latent.shape[2], 2 * _PIECE)
        ]


def _in_rows(model: ModelProto) -> ModelProto:
    """A decoder in rows, if it can be cut into them."""
    try:
        return in_rows(model)
    except UnknownGraphError:
        return model
