"""Surgery on a published synthesizer graph, with the ``onnx`` package.

Published graphs draw their noise inside (RandomNormalLike), so that nothing they say can be said again. Here the
two draws become inputs, and the graph is cut where the durations are known: ``text`` computes them and the prior
of each symbol, ``audio`` expands these to frames and computes the waveform.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

NOISE_W = "duration_noise"
NOISE = "prior_noise"


class UnknownGraphError(Exception):
    """The graph is not built like the ones that are known; it can still be run as it is."""


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Tensors of a synthesizer graph.

    Attributes:
        durations: frames of each symbol (what Ceil gives).
        duration_noise: output of the draw for the stochastic duration predictor.
        prior_noise: output of the draw for the prior.
        prior_like: tensor that has the shape of the prior's draw.
        audio: the graph's output.
    """

    durations: str
    duration_noise: str
    prior_noise: str
    prior_like: str
    audio: str


def landmarks(model: ModelProto) -> Landmarks:
    """Find the tensors at which the graph is opened.

    Raises:
        UnknownGraphError: they are not all there, once each.
    """
    graph = model.graph
    ceilings = [node for node in graph.node if node.op_type == "Ceil"]
    draws = [node for node in graph.node if node.op_type.startswith("Random")]
    if len(ceilings) != 1 or len(draws) != 2 or any(node.op_type != "RandomNormalLike" for node in draws):
        message = f"{len(ceilings)} Ceil and {len(draws)} random nodes; 1 Ceil and 2 RandomNormalLike are expected"
        raise UnknownGraphError(message)
    if any(item.name in {"mean", "scale", "seed"} for node in draws for item in node.attribute):
        message = "noise of another than the standard normal distribution"
        raise UnknownGraphError(message)
    durations = ceilings[0].output[0]
    before = _ancestors(graph, durations)
    inside = [node for node in draws if node.output[0] in before]
    outside = [node for node in draws if node.output[0] not in before]
    if len(inside) != 1 or len(outside) != 1:
        message = "the two draws of noise do not stand before and after the durations"
        raise UnknownGraphError(message)
    audio = next((o.name for o in graph.output if o.name in {"audio", "output"}), graph.output[0].name)
    return Landmarks(durations, inside[0].output[0], outside[0].output[0], outside[0].input[0], audio)


def with_outputs(model: ModelProto, *names: str) -> ModelProto:
    """A copy with exactly these outputs."""
    from onnx import ModelProto, ValueInfoProto  # noqa: PLC0415

    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(ValueInfoProto(name=name) for name in names)
    return copy


def with_noise_inputs(model: ModelProto, marks: Landmarks) -> None:
    """Replace the draws by the inputs ``NOISE_W`` [1, 2, P] and ``NOISE`` [1, C, F], in place."""
    from onnx import TensorProto, helper  # noqa: PLC0415

    graph = model.graph
    names = {marks.duration_noise: NOISE_W, marks.prior_noise: NOISE}
    kept = [node for node in graph.node if node.output[0] not in names]
    for node in kept:
        for at, name in enumerate(node.input):
            node.input[at] = names.get(name, name)
    del graph.node[:]
    graph.node.extend(kept)
    for name in names.values():
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, None, None]))


def split(model: ModelProto, durations: str, audio: str) -> tuple[ModelProto, ModelProto]:
    """Cut a graph with noise inputs after the durations; the first part also gives what the second one takes."""
    graph = model.graph
    after = {durations}
    second: list[NodeProto] = []
    for node in graph.node:  # nodes stand in topological order
        if any(name in after for name in _inputs(node)):
            after.update(node.output)
            second.append(node)
    needed = _ancestors(graph, audio)
    second = [node for node in second if any(name in needed for name in node.output)]
    produced = {name for node in second for name in node.output}
    stored = {item.name for item in graph.initializer} | {
        node.output[0] for node in graph.node if node.op_type == "Constant"
    }
    taken = {name for node in second for name in _inputs(node) if name not in produced}
    given = {item.name for item in graph.input}
    crossing = sorted(name for name in taken if name and name not in stored and name not in given)
    own = sorted(name for name in taken if name in given)
    first = _extracted(model, sorted(given - {NOISE}), [durations, *(name for name in crossing if name != durations)])
    return first, _extracted(model, [*own, *crossing], [audio])


def _extracted(model: ModelProto, inputs: list[str], outputs: list[str]) -> ModelProto:
    """The part of a graph between some tensors; inputs that it does not use are left out."""
    from onnx import ModelProto, ValueInfoProto  # noqa: PLC0415

    graph = model.graph
    stop = set(inputs)
    needed = set(outputs) - stop
    kept: list[NodeProto] = []
    for node in reversed(graph.node):
        if any(name in needed for name in node.output):
            kept.append(node)
            needed.update(name for name in _inputs(node) if name not in stop)
    kept.reverse()
    used = {name for node in kept for name in _inputs(node)}
    infos = {item.name: item for item in (*graph.input, *graph.value_info)}
    part = ModelProto(ir_version=model.ir_version, producer_name="asagoe")
    part.opset_import.extend(model.opset_import)
    part.graph.name = graph.name or "part"
    part.graph.node.extend(kept)
    part.graph.initializer.extend(item for item in graph.initializer if item.name in used)
    part.graph.input.extend(_typed(infos.get(name), name) for name in inputs if name in used)
    part.graph.output.extend(ValueInfoProto(name=name) for name in outputs)
    return part


def _typed(info: object, name: str) -> object:
    from onnx import TensorProto, ValueInfoProto, helper  # noqa: PLC0415

    if isinstance(info, ValueInfoProto) and info.type.tensor_type.elem_type:
        # Sizes that were inferred hold for one moment of the export only; the rank is enough.
        return info
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def _ancestors(graph: GraphProto, name: str) -> set[str]:
    """Names of all tensors that a tensor depends on, with itself."""
    producers = {output: node for node in graph.node for output in node.output}
    found = {name}
    waiting = [name]
    while waiting:
        node = producers.get(waiting.pop())
        fresh = [item for item in _inputs(node) if item not in found] if node is not None else []
        found.update(fresh)
        waiting += fresh
    return found


def _inputs(node: NodeProto) -> Iterator[str]:
    """Names that a node reads, those that its subgraphs take from outside among them."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            inside = {item.name for item in (*graph.initializer, *graph.input)}
            for inner in graph.node:
                yield from (name for name in _inputs(inner) if name not in inside)
                inside.update(inner.output)
            yield from (item.name for item in graph.output if item.name not in inside)
