"""Static quantisation of convolutions to 8 bits, with the ``onnx`` package.

What a layer takes and gives is rounded to 256 steps between fixed bounds, its weights to 255 steps of each output
channel (https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html). A QuantizeLinear and a DequantizeLinear around
each value say so in the graph (QDQ); from them ONNX Runtime makes integer kernels when it loads it
(https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engine.voices.style_bert_vits2.tuning.layers import Layer

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_STEPS = 255


@dataclass(frozen=True, slots=True)
class Format:
    """How numbers are kept.

    Attributes:
        signed: whether activations are int8 instead of uint8.
        weight_bits: 8, or 7 where the processor adds two products of 8 bits into 16 bits and would overflow.
    """

    signed: bool
    weight_bits: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of the values of a tensor; what lies outside is clipped. 0 is between them, so that padding is exact."""

    low: float
    high: float

    @property
    def scale(self) -> np.float32:
        """The distance of two steps; that of an empty range is 1."""
        return np.float32((self.high - self.low) / _STEPS or 1.0)

    @property
    def zero(self) -> int:
        """The step that stands for 0, counted from 0."""
        return int(np.clip(np.rint(-self.low / self.scale), 0, _STEPS))


def quantised(
    model: ModelProto, layers: Collection[Layer], bounds: Mapping[str, Bounds], numbers: Format
) -> ModelProto:
    """A copy of a graph in which some layers are quantised.

    Args:
        model: without fused convolutions.
        layers: of it.
        bounds: of each tensor that a layer takes or gives.
        numbers: what they are quantised to.
    """
    from onnx import ModelProto  # noqa: PLC0415

    copy = ModelProto()
    copy.CopyFrom(model)
    writer = _Writer(copy, bounds, numbers)
    by_output = {layer.output: layer for layer in layers}
    nodes: list[NodeProto] = []
    for node in copy.graph.node:
        layer = by_output.get(node.output[0]) if node.op_type == "Conv" else None
        nodes += [node] if layer is None else writer.layer(node, layer)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    kept = [item for item in copy.graph.initializer if item.name in used]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    return copy


class _Writer:
    """Adds nodes and tensors of quantised layers to a graph."""

    def __init__(self, model: ModelProto, bounds: Mapping[str, Bounds], numbers: Format) -> None:
        from onnx import numpy_helper  # noqa: PLC0415

        self._graph = model.graph
        self._bounds = bounds
        self._numbers = numbers
        self._array = numpy_helper.to_array
        self._tensor = numpy_helper.from_array
        self._weights = {item.name: item for item in model.graph.initializer}
        self._rounded: dict[str, str] = {}

    def layer(self, node: NodeProto, layer: Layer) -> list[NodeProto]:
        """The nodes that take the place of a convolution; its output has the same name."""
        nodes: list[NodeProto] = []
        given = self._rounded.get(layer.input)
        if given is None:
            given = self._rounded[layer.input] = f"{layer.input} rounded"
            nodes += self._around(layer.input, layer.input, given)
        inputs = [given, *self._constants(layer, nodes)]
        exact = f"{layer.output} exact"
        node.input[:] = inputs
        node.output[0] = exact
        return [*nodes, node, *self._around(exact, layer.output, layer.output)]

    def _around(self, source: str, bounded: str, target: str) -> list[NodeProto]:
        """Round a tensor to its steps and back."""
        from onnx import helper  # noqa: PLC0415

        bounds = self._bounds[bounded]
        key = f"{bounded} steps"
        scale = self._add(f"{key} scale", np.asarray(bounds.scale, np.float32))
        if self._numbers.signed:
            zero = self._add(f"{key} zero", np.asarray(bounds.zero - 128, np.int8))
        else:
            zero = self._add(f"{key} zero", np.asarray(bounds.zero, np.uint8))
        steps = f"{target} steps of {source}"
        return [
            helper.make_node("QuantizeLinear", [source, scale, zero], [steps]),
            helper.make_node("DequantizeLinear", [steps, scale, zero], [target]),
        ]

    def _constants(self, layer: Layer, nodes: list[NodeProto]) -> list[str]:
        """Names of weights and bias, which their integers become when the graph is loaded."""
        from onnx import helper  # noqa: PLC0415

        weights = self._array(self._weights[layer.weight]).astype(np.float32)
        largest = np.abs(weights).max(axis=(1, 2))
        top = (1 << (self._numbers.weight_bits - 1)) - 1
        scales = np.where(largest > 0, largest / top, 1).astype(np.float32)
        integers = np.clip(np.rint(weights / scales[:, None, None]), -top, top).astype(np.int8)
        bias = self._array(self._weights[layer.bias]) if layer.bias else np.zeros(len(scales), np.float32)
        bias_scales = (scales * self._bounds[layer.input].scale).astype(np.float32)
        limit = 2**31 - 1
        parts: tuple[tuple[str, npt.NDArray[Any], npt.NDArray[np.float32]], ...] = (
            ("weight", integers, scales),
            ("bias", np.clip(np.rint(bias / bias_scales), -limit, limit).astype(np.int32), bias_scales),
        )
        names = []
        for part, values, steps in parts:
            key = f"{layer.output} {part}"
            inputs = [
                self._add(f"{key} integers", values),
                self._add(f"{key} scales", steps),
                self._add(f"{key} zero", np.zeros(len(steps), values.dtype)),
            ]
            nodes.append(helper.make_node("DequantizeLinear", inputs, [key], axis=0))
            names.append(key)
        return names

    def _add(self, name: str, value: npt.NDArray[Any]) -> str:
        if name not in self._weights:
            self._weights[name] = self._tensor(value, name)
            self._graph.initializer.append(self._weights[name])
        return name
