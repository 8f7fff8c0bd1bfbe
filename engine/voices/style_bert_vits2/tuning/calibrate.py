"""Between which bounds the tensors of a graph lie while it speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from engine.voices.style_bert_vits2.graphs.file import save_model
from engine.voices.style_bert_vits2.graphs.split import inputs_of
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.tuning.quantise import Bounds

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_STRIDE = 61
"""Of the frames that are looked at; a prime, so that it does not beat with the rates of upsampling."""
_AT_ONCE = 60  # tensors
_KEPT = 20_000  # values of a tensor
_SHARES = np.linspace(1.0, 0.5, 16)
"""Of the whole range: the narrower ones are tried as well, since steps get finer where a few values are clipped."""
_STEPS = 255


def calibrated(
    model: ModelProto, tensors: Sequence[str], inputs: Sequence[Mapping[str, np.ndarray]], file: Path
) -> dict[str, Bounds]:
    """Run a graph and find the bounds of some of its tensors.

    The graph computes extremes and a sample of the values itself, and only for some tensors in each pass, so that
    memory does not grow with their number.

    Args:
        model: the graph.
        tensors: names, in the order of computing; each has shape [1, C, T].
        inputs: of each run.
        file: where a copy of the graph may be put; removed in the end.

    Raises:
        EngineError: the graph cannot be run.
    """
    found: dict[str, Bounds] = {}
    for at in range(0, len(tensors), _AT_ONCE):
        some = tensors[at : at + _AT_ONCE]
        save_model(_observed(model, some), file)
        graph = Graph(file, level="ORT_ENABLE_BASIC")
        try:
            found |= _bounds(graph, some, inputs)
        finally:
            graph.close()
            file.unlink()
    return found


def _bounds(graph: Graph, tensors: Sequence[str], inputs: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Bounds]:
    kept: dict[str, list[np.ndarray]] = {name: [] for name in tensors}
    lows, highs = dict.fromkeys(tensors, 0.0), dict.fromkeys(tensors, 0.0)
    for given in inputs:
        results = graph.run(given)
        for at, name in enumerate(tensors):
            lows[name] = min(lows[name], float(results[f"low {at}"]))
            highs[name] = max(highs[name], float(results[f"high {at}"]))
            kept[name].append(results[f"sample {at}"].reshape(-1))
    return {name: best_bounds(_thinned(kept[name]), lows[name], highs[name]) for name in tensors}


def best_bounds(values: npt.NDArray[np.floating], low: float, high: float) -> Bounds:
    """Of the ranges that are scaled down versions of the whole one, that with the least squared error of rounding.

    Args:
        values: a sample of the tensor.
        low: least value of the whole tensor, 0 at most.
        high: largest value of it, 0 at least.
    """
    if high <= low:
        return Bounds(0.0, 0.0)
    exact = values.astype(np.float32, copy=False)
    best, least = Bounds(low, high), np.inf
    for share in _SHARES:
        bounds = Bounds(low * float(share), high * float(share))
        steps = np.clip(np.rint(exact / bounds.scale) + bounds.zero, 0, _STEPS)
        error = float(np.square((steps - bounds.zero) * bounds.scale - exact).mean())
        if error < least:
            best, least = bounds, error
    return best


def _thinned(parts: Sequence[np.ndarray]) -> np.ndarray:
    values = np.concatenate(parts)
    return values[:: max(1, len(values) // _KEPT)]


def _observed(model: ModelProto, tensors: Sequence[str]) -> ModelProto:
    """The graph as far as it is needed, with least, largest and some values of each tensor as its outputs."""
    from onnx import ModelProto, TensorProto, ValueInfoProto, helper  # noqa: PLC0415

    graph = model.graph
    needed = set(tensors)
    kept: list[NodeProto] = []
    for node in reversed(graph.node):  # nodes stand in topological order
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(inputs_of(node))
    copy = ModelProto(ir_version=model.ir_version)
    copy.opset_import.extend(model.opset_import)
    copy.graph.name = "observed"
    copy.graph.input.extend(item for item in graph.input if item.name in needed)
    copy.graph.initializer.extend(item for item in graph.initializer if item.name in needed)
    copy.graph.node.extend(reversed(kept))
    for name, value in (("from", 0), ("to", 2**62), ("axis", 2), ("stride", _STRIDE)):
        copy.graph.initializer.append(helper.make_tensor(f"sample {name}", TensorProto.INT64, [1], [value]))
    cut = [f"sample {name}" for name in ("from", "to", "axis", "stride")]
    for at, name in enumerate(tensors):
        copy.graph.node.extend(
            (
                _extreme("ReduceMin", name, f"low {at}"),
                _extreme("ReduceMax", name, f"high {at}"),
                helper.make_node("Slice", [name, *cut], [f"sample {at}"]),
            )
        )
        copy.graph.output.extend(ValueInfoProto(name=f"{word} {at}") for word in ("low", "high", "sample"))
    return copy


def _extreme(operator: str, name: str, output: str) -> NodeProto:
    from onnx import helper  # noqa: PLC0415

    return helper.make_node(operator, [name], [output], keepdims=0)
