"""The decoder in a form that ONNX Runtime computes quicker: two dimensions, and time cut into rows.

ONNX Runtime has direct convolutions for images, in blocks of channels that fit the processor's vectors, but for sounds
it copies every value once for each tap of a kernel and multiplies matrices. So time becomes the width of an image
of height 1. The direct convolutions share the work among threads by image, by 64 channels and by line, so
from the second stage on, where channels are few, time is cut into as many images as there are threads: rows, which
overlap so far that nothing of their edges is heard.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

ROWS = "rows"
"""Input of the graph: into how many rows time is cut, int64 of shape [1]."""

_CONVOLUTIONS = {"Conv", "ConvTranspose"}
_ROUNDING = {"QuantizeLinear", "DequantizeLinear"}
_POINTWISE = {"Add", "Sub", "Mul", "Div", "LeakyRelu", "Relu", "Tanh", "Identity"}
_TIME = 2  # the axis of tensors of shape [1, C, T], before which the height is put in


def in_rows(model: ModelProto) -> ModelProto:
    """A copy of a decoder that computes the same in rows; it has the input ``ROWS`` besides those of the original.

    Args:
        model: [1, C, F] to [1, 1, samples], of convolutions and what is done value by value; without fused ones.

    Raises:
        UnknownGraphError: it is built in another way.
    """
    from onnx import ModelProto  # noqa: PLC0415

    copy = ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    _check(copy)
    cut, reach, hop = _cut(graph)
    names = _Names(graph)
    before, after = _around(graph, cut, sizes_of_inputs(model))
    audio = graph.output[0].name
    nodes = [
        *_raised(graph, names),
        *before,
        *_into_rows(names, cut, reach),
        *after,
        *_out_of_rows(names, f"{audio} {ROWS}", audio, hop),
    ]
    for node in after:
        _rename(node.input, {cut: f"{cut} {ROWS}"})
        _rename(node.output, {audio: f"{audio} {ROWS}"})
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]  # what was known of shapes holds no more
    graph.output[0].ClearField("type")
    return copy


def sizes_of_inputs(model: ModelProto) -> dict[str, tuple[int, bool]]:
    """Channels of each input of a decoder, and whether it changes with time.

    That which a kernel is slid over does; what is added to the output of a convolution is one value for each channel.

    Raises:
        UnknownGraphError: an input is used in another way.
    """
    graph = model.graph
    shapes = {item.name: tuple(item.dims) for item in graph.initializer}
    producers = _producers(graph)
    inputs = {item.name for item in graph.input}
    channels: dict[str, int] = {}
    sizes: dict[str, tuple[int, bool]] = {}
    for node in graph.node:
        names = [_exact(producers, name) for name in node.input]
        if node.op_type in _CONVOLUTIONS:
            shape = shapes.get(names[1], ())
            if len(shape) != _TIME + 1:
                continue
            given, made = (shape[1], shape[0]) if node.op_type == "Conv" else (shape[0], shape[1])
            if names[0] in inputs:
                sizes.setdefault(names[0], (given, shape[_TIME] > 1))
            channels |= dict.fromkeys(node.output, made)
        else:
            known = max((channels.get(name, 0) for name in names), default=0)
            sizes |= {name: (known, False) for name in names if name in inputs and name not in sizes and known}
            channels |= dict.fromkeys(node.output, known)
    missing = sorted(inputs - sizes.keys())
    if missing:
        message = f"the decoder takes {missing[0]!r}, whose size is not known"
        raise UnknownGraphError(message)
    return sizes


def _producers(graph: GraphProto) -> dict[str, NodeProto]:
    return {name: node for node in graph.node for name in node.output}


def _exact(producers: Mapping[str, NodeProto], name: str) -> str:
    """The tensor that was rounded to this one, where it was."""
    while name in producers and producers[name].op_type in _ROUNDING:
        name = producers[name].input[0]
    return name


def _check(model: ModelProto) -> None:
    graph = model.graph
    if any(item.version < 13 for item in model.opset_import if item.domain in {"", "ai.onnx"}):
        message = "the decoder is of an old version of ONNX"
        raise UnknownGraphError(message)
    kinds = sorted({node.op_type for node in graph.node} - _CONVOLUTIONS - _POINTWISE - _ROUNDING)
    if kinds:
        message = f"the decoder has {', '.join(kinds)} in it"
        raise UnknownGraphError(message)
    if len(graph.output) != 1:
        message = f"the decoder has {len(graph.output)} outputs"
        raise UnknownGraphError(message)


def _cut(graph: GraphProto) -> tuple[str, int, int]:
    """The tensor from which on time is cut, the steps to each side that a sample depends on, and samples of a step."""
    from onnx import helper  # noqa: PLC0415

    upsampling = [node for node in graph.node if node.op_type == "ConvTranspose"]
    if len(upsampling) < 2:
        message = f"the decoder has {len(upsampling)} stages"
        raise UnknownGraphError(message)
    cut = upsampling[1].input[0]
    reaches: dict[str, tuple[float, int]] = {cut: (0.0, 1)}  # of what depends on it: reach, and the rate so far
    for node in graph.node:
        known = [reaches[name] for name in node.input if name in reaches]
        if not known or cut in node.output:
            continue
        reach, rate = max(item[0] for item in known), known[0][1]
        if any(item[1] != rate for item in known):
            message = f"{node.op_type} joins what has different rates"
            raise UnknownGraphError(message)
        if node.op_type in _CONVOLUTIONS:
            settings = {item.name: helper.get_attribute_value(item) for item in node.attribute}
            own, stride = _reach(node, settings)
            reach, rate = reach + own / rate, rate * stride
        reaches |= dict.fromkeys(node.output, (reach, rate))
    if graph.output[0].name not in reaches:
        message = "its output does not depend on the second stage"
        raise UnknownGraphError(message)
    reach, rate = reaches[graph.output[0].name]
    return cut, math.ceil(reach), rate


def _reach(node: NodeProto, settings: Mapping[str, Any]) -> tuple[float, int]:
    """Steps of its input to each side that an output depends on, and how many outputs a step has.

    Raises:
        UnknownGraphError: it does not keep time in its place: a step must have as many outputs as the stride says.
    """
    (kernel,) = settings["kernel_shape"]
    (stride,), (dilation,) = settings.get("strides", [1]), settings.get("dilations", [1])
    left, right = settings.get("pads", [0, 0])
    extent = dilation * (kernel - 1)
    if node.op_type == "Conv":
        in_place = stride == 1 and left + right == extent
        reach = float(max(left, right))
    else:
        in_place = dilation == 1 and settings.get("output_padding", [0]) == [0] and left + right == kernel - stride
        reach = (max(left, right) + stride - 1) / stride
    if not in_place or settings.get("auto_pad", b"NOTSET") != b"NOTSET":
        message = f"{node.op_type} {node.name!r} does not keep time in its place"
        raise UnknownGraphError(message)
    return reach, stride


def _around(
    graph: GraphProto, cut: str, sizes: Mapping[str, tuple[int, bool]]
) -> tuple[list[NodeProto], list[NodeProto]]:
    """The nodes before and after a tensor.

    Raises:
        UnknownGraphError: something goes past it.
    """
    moving = _moving(graph, {name for name, (_, moves) in sizes.items() if moves})
    behind = {cut}
    before: list[NodeProto] = []
    after: list[NodeProto] = []
    for node in graph.node:
        if any(name in behind for name in node.input):
            past = [name for name in node.input if name in moving and name not in behind]
            if past:
                message = f"{past[0]!r} goes past the second stage"
                raise UnknownGraphError(message)
            behind.update(node.output)
            after.append(node)
        else:
            before.append(node)
    return before, after


def _moving(graph: GraphProto, names: set[str]) -> set[str]:
    """All tensors that depend on some."""
    found = set(names)
    for node in graph.node:
        if any(name in found for name in node.input):
            found.update(node.output)
    return found


class _Names:
    """Constants of a graph by their values, added once each."""

    def __init__(self, graph: GraphProto) -> None:
        self._graph = graph

    def __call__(self, *values: int, scalar: bool = False) -> str:
        import numpy as np  # noqa: PLC0415
        from onnx import numpy_helper  # noqa: PLC0415

        name = f"{ROWS} {'scalar ' * scalar}{' '.join(map(str, values))}"
        if all(item.name != name for item in self._graph.initializer):
            value = np.array(values[0] if scalar else values, np.int64)
            self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name


def _raised(graph: GraphProto, names: _Names) -> list[NodeProto]:
    """Give all convolutions and constants a height of 1, in place; the nodes that do so with the inputs."""
    from onnx import TensorProto, helper  # noqa: PLC0415

    inputs = [item.name for item in graph.input]
    renamed = {name: f"{name} {ROWS}" for name in inputs}
    constants = {item.name: item for item in graph.initializer}
    producers = _producers(graph)
    for node in graph.node:
        _rename(node.input, renamed)
        if node.op_type in _CONVOLUTIONS:
            weight = _exact(producers, node.input[1])
            if weight not in constants:
                message = f"the weights of {node.op_type} {node.name!r} are computed"
                raise UnknownGraphError(message)
            _raise(constants[weight].dims)
            _raise_settings(node)
        elif node.op_type in _POINTWISE:
            for name in node.input:
                if name in constants and math.prod(constants[name].dims) > 1:
                    _raise(constants[name].dims)
    graph.input.append(helper.make_tensor_value_info(ROWS, TensorProto.INT64, [1]))
    return [helper.make_node("Unsqueeze", [name, names(_TIME)], [renamed[name]]) for name in inputs]


def _raise_settings(node: NodeProto) -> None:
    for item in node.attribute:
        if item.name in {"kernel_shape", "strides", "dilations"}:
            item.ints[:] = [1, *item.ints]
        elif item.name == "pads":
            item.ints[:] = [0, item.ints[0], 0, item.ints[1]]
        elif item.name == "output_padding":
            item.ints[:] = [0, *item.ints]


def _raise(dims: Any) -> None:
    """Shape [.., C, T] becomes [.., C, 1, T]; a shape that is so already stays."""
    if len(dims) == 3:
        dims[:] = [*dims[:_TIME], 1, *dims[_TIME:]]
    elif len(dims) != 4 or dims[_TIME] != 1:
        message = f"a constant of shape {list(dims)}"
        raise UnknownGraphError(message)


def _into_rows(names: _Names, cut: str, reach: int) -> list[NodeProto]:
    """[1, C, 1, T] to [rows, C, 1, L].

    Row r has the steps r · S to (r + 1) · S, S = ⌈T / rows⌉, and ``reach`` more on each side, as far as there are any;
    at the ends of time more on the other side, so that all are equally long.
    """
    p = ROWS  # prefix of the new tensors
    return list(
        _nodes(
            ("Shape", [cut], f"{p} shape", {}),
            ("Gather", [f"{p} shape", names(3)], f"{p} T", {}),
            ("Add", [f"{p} T", ROWS], f"{p} T + rows", {}),
            ("Sub", [f"{p} T + rows", names(1)], f"{p} T + rows - 1", {}),
            ("Div", [f"{p} T + rows - 1", ROWS], f"{p} S", {}),
            ("Add", [f"{p} S", names(2 * reach)], f"{p} S + 2 reach", {}),
            ("Min", [f"{p} T", f"{p} S + 2 reach"], f"{p} L", {}),
            ("Sub", [f"{p} T", f"{p} L"], f"{p} T - L", {}),
            *_range(names, ROWS, f"{p} r"),
            *_range(names, f"{p} L", f"{p} within"),
            ("Mul", [f"{p} r", f"{p} S"], f"{p} r S", {}),
            ("Sub", [f"{p} r S", names(reach)], f"{p} r S - reach", {}),
            ("Max", [f"{p} r S - reach", names(0)], f"{p} from", {}),
            ("Min", [f"{p} from", f"{p} T - L"], f"{p} start", {}),
            ("Unsqueeze", [f"{p} start", names(1)], f"{p} starts", {}),
            ("Add", [f"{p} starts", f"{p} within"], f"{p} steps", {}),
            ("Squeeze", [cut, names(0, _TIME)], f"{p} C T", {}),
            ("Transpose", [f"{p} C T"], f"{p} T C", {"perm": [1, 0]}),
            ("Gather", [f"{p} T C", f"{p} steps"], f"{p} r L C", {}),
            ("Transpose", [f"{p} r L C"], f"{p} r C L", {"perm": [0, 2, 1]}),
            ("Unsqueeze", [f"{p} r C L", names(_TIME)], f"{cut} {ROWS}", {}),
        )
    )


def _out_of_rows(names: _Names, given: str, audio: str, hop: int) -> list[NodeProto]:
    """[rows, 1, 1, L · hop] to [1, 1, T · hop]: of each step what its row made of it."""
    p = ROWS
    return list(
        _nodes(
            *_range(names, f"{p} T", f"{p} t"),
            ("Div", [f"{p} t", f"{p} S"], f"{p} row of t", {}),
            ("Mul", [f"{p} row of t", f"{p} L"], f"{p} before the row", {}),
            ("Gather", [f"{p} start", f"{p} row of t"], f"{p} start of the row", {}),
            ("Sub", [f"{p} t", f"{p} start of the row"], f"{p} in the row", {}),
            ("Add", [f"{p} before the row", f"{p} in the row"], f"{p} place", {}),
            ("Reshape", [given, names(-1, hop)], f"{p} by step", {}),
            ("Gather", [f"{p} by step", f"{p} place"], f"{p} in order", {}),
            ("Reshape", [f"{p} in order", names(1, 1, -1)], audio, {}),
        )
    )


_Description = tuple[str, list[str], str, dict[str, Any]]


def _range(names: _Names, count: str, target: str) -> Iterator[_Description]:
    """0, 1, … to below the one number in ``count``."""
    yield "Squeeze", [count], f"{target} count", {}
    yield "Range", [names(0, scalar=True), f"{target} count", names(1, scalar=True)], target, {}


def _nodes(*descriptions: _Description) -> Iterator[NodeProto]:
    from onnx import helper  # noqa: PLC0415

    for kind, inputs, output, settings in descriptions:
        yield helper.make_node(kind, inputs, [output], output, **settings)


def _rename(names: Any, new: Mapping[str, str]) -> None:
    for at, name in enumerate(names):
        names[at] = new.get(name, name)
