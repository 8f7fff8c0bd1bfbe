"""The layers of a graph that can be quantised, in groups that are tried one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.voices.style_bert_vits2.runtime.synthesizer import PARTS

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_STAGE = re.compile(r"s\d+k\d+")
ACTIVATIONS = {"LeakyRelu": ("alpha",), "Relu": (), "Sigmoid": (), "Tanh": ()}
"""Activations that ONNX Runtime fuses with a convolution before them, and the names of their parameters."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution with constant weights.

    Attributes:
        group: of the layers that are quantised together or not at all.
        input: tensor that it takes, [1, I, T].
        weight: its weights, [O, I, K].
        bias: what is added, [O]; empty if nothing is.
        output: tensor that it gives, [1, O, T'].
        work: multiplications for one frame (in the encoder: one symbol).
    """

    group: str
    input: str
    weight: str
    bias: str
    output: str
    work: int


def unfuse(model: ModelProto) -> None:
    """Take convolutions and the activations after them apart again, in place: quantisation has its own fusions.

    Those of other kinds stay as they are, in float32.
    """
    from onnx import helper  # noqa: PLC0415

    nodes: list[NodeProto] = []
    for node in model.graph.node:
        settings = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        activation = settings.pop("activation", b"").decode()
        values = settings.pop("activation_params", [])
        parameters = dict(zip(ACTIVATIONS.get(activation, ()), values, strict=False))
        known = activation in ACTIVATIONS and len(parameters) == len(values) == len(ACTIVATIONS[activation])
        if node.op_type != "FusedConv" or not known or len(node.input) > 3:
            nodes.append(node)
            continue
        between = f"{node.output[0]} before {activation}"
        nodes.append(helper.make_node("Conv", list(node.input), [between], node.name, **settings))
        nodes.append(helper.make_node(activation, [between], list(node.output), **parameters))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def layers_of(part: str, model: ModelProto) -> tuple[Layer, ...]:
    """The layers of one of a network's graphs, by its name in ``PARTS``; outside the decoder they are one group."""
    if part == PARTS[2]:
        return _decoder_layers(model)
    shapes = _shapes(model)
    group = part.removesuffix(".onnx")
    return tuple(_layer(node, group, shapes, 1) for node in model.graph.node if _quantisable(node, shapes))


def unit_of(group: str) -> str:
    """What a group's speed is measured with: the groups of a stage are small by themselves."""
    return group.partition("k")[0] if _STAGE.fullmatch(group) else group


def _decoder_layers(model: ModelProto) -> tuple[Layer, ...]:
    """Convolutions of a HiFi-GAN generator: ``s0k3`` are those of kernel 3 in the first stage, and so on.

    A stage begins with a transposed convolution, which raises the rate. The convolutions of a stage that keep the
    number of channels are those of its residual blocks. The first convolution is ``pre``, the last one ``post``.
    """
    from onnx import helper  # noqa: PLC0415

    begun = {item.name: (0, 1) for item in model.graph.input}  # stages so far, and the rate that they raised it to
    shapes = _shapes(model)
    layers = []
    for node in model.graph.node:
        stage, rate = max((begun.get(name, (0, 1)) for name in node.input), default=(0, 1))
        if node.op_type == "ConvTranspose":
            strides = next((helper.get_attribute_value(item) for item in node.attribute if item.name == "strides"), [1])
            stage, rate = stage + 1, rate * strides[0]
        begun |= dict.fromkeys(node.output, (stage, rate))
        if not _quantisable(node, shapes):
            continue
        channels, given, kernel = shapes[node.input[1]]
        if kernel == 1:
            continue  # of the speaker's embedding, one column an utterance
        group = "pre" if not stage else f"s{stage - 1}k{kernel}" if channels == given else "post"
        layers.append(_layer(node, group, shapes, rate))
    return tuple(layers)


def _shapes(model: ModelProto) -> Mapping[str, tuple[int, ...]]:
    return {item.name: tuple(item.dims) for item in model.graph.initializer}


def _quantisable(node: NodeProto, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether it is an ordinary convolution over time with stored weights."""
    from onnx import helper  # noqa: PLC0415

    if node.op_type != "Conv" or len(shapes.get(node.input[1], ())) != 3:
        return False
    return all(helper.get_attribute_value(item) == 1 for item in node.attribute if item.name == "group")


def _layer(node: NodeProto, group: str, shapes: Mapping[str, tuple[int, ...]], rate: int) -> Layer:
    bias = node.input[2] if len(node.input) > 2 else ""
    work = math.prod(shapes[node.input[1]]) * rate
    return Layer(group, node.input[0], node.input[1], bias, node.output[0], work)
