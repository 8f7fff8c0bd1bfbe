"""Surgery on a published synthesizer graph, with the ``onnx`` package.

Published graphs draw their noise inside (RandomNormalLike), so that nothing they say can be said again. Here the
two draws become inputs, and the graph is cut in three: ``encoder`` computes the durations and the prior of each
symbol, ``flow`` expands these to frames and computes the latent, ``decoder`` the waveform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        latent: what the decoder makes audio of, shape [1, C, F].
        audio: the graph's output.
    """

    durations: str
    duration_noise: str
    prior_noise: str
    prior_like: str
    latent: str
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
    noise = outside[0]
    if noise.input[0] not in _descendants(graph, durations):
        message = "the noise of the prior is drawn for symbols, before the durations spread it over frames"
        raise UnknownGraphError(message)
    outputs = [item.name for item in graph.output]
    if not outputs:
        message = "it has no output"
        raise UnknownGraphError(message)
    audio = next((name for name in outputs if name in {"audio", "output"}), outputs[0])
    latent = _latent(graph, noise.output[0])
    return Landmarks(durations, inside[0].output[0], noise.output[0], noise.input[0], latent, audio)


def _latent(graph: GraphProto, noise: str) -> str:
    """The decoder's input: what its first convolution takes, the one before the first upsampling."""
    producers = {output: node for node in graph.node for output in node.output}
    noisy = _descendants(graph, noise)
    name = next((node.input[0] for node in graph.node if node.op_type == "ConvTranspose"), "")
    while name in noisy:
        node = producers[name]
        if node.op_type == "Conv":
            return str(node.input[0])
        name = next((item for item in node.input if item in noisy), "")
    message = "no convolution stands before the first upsampling"
    raise UnknownGraphError(message)


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


def split(model: ModelProto, marks: Landmarks) -> tuple[ModelProto, ModelProto, ModelProto]:
    """Cut a graph with noise inputs into encoder, flow and decoder.

    Each part also gives what a later one takes of it, under the names that the tensors have.

    Raises:
        UnknownGraphError: the decoder takes more than the latent and what does not change from frame to frame.
    """
    graph = model.graph
    framed = _descendants(graph, marks.durations) | _descendants(graph, NOISE)
    given = {item.name for item in graph.input}
    decoder_inputs = _crossing(graph, marks.audio, lambda name: name == marks.latent or name not in framed)
    more = [name for name in decoder_inputs if name in framed and name != marks.latent]
    if more:
        message = f"the decoder takes {', '.join(more)} besides the latent"
        raise UnknownGraphError(message)
    borders = {marks.durations, NOISE}
    flow_inputs = _crossing(graph, marks.latent, lambda name: name in borders or name not in framed)
    own = given | {marks.latent, marks.durations}
    crossing = sorted(name for name in {*decoder_inputs, *flow_inputs} if name not in own)
    return (
        _extracted(model, sorted(given - {NOISE}), [marks.durations, *crossing]),
        _extracted(model, flow_inputs, [marks.latent]),
        _extracted(model, decoder_inputs, [marks.audio]),
    )


def _crossing(graph: GraphProto, output: str, stop: Callable[[str], bool]) -> list[str]:
    """What a part of the graph takes from before it: going back from its output, where ``stop`` says so.

    Constants are no inputs, whatever ``stop`` says: each part has its own copy.
    """
    producers = {name: node for node in graph.node for name in node.output}
    stored = {item.name for item in graph.initializer}
    found: set[str] = set()
    seen = {output}
    waiting = [output]
    while waiting:
        node = producers.get(waiting.pop())
        for name in inputs_of(node) if node is not None else ():
            if name in seen or name in stored or (name in producers and producers[name].op_type == "Constant"):
                continue
            seen.add(name)
            if stop(name) or name not in producers:
                found.add(name)
            else:
                waiting.append(name)
    return sorted(found)


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
            needed.update(name for name in inputs_of(node) if name not in stop)
    kept.reverse()
    used = {name for node in kept for name in inputs_of(node)}
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


def _descendants(graph: GraphProto, name: str) -> set[str]:
    """Names of all tensors that depend on a tensor, with itself."""
    found = {name}
    for node in graph.node:  # nodes stand in topological order
        if any(item in found for item in inputs_of(node)):
            found.update(node.output)
    return found


def _ancestors(graph: GraphProto, name: str) -> set[str]:
    """Names of all tensors that a tensor depends on, with itself."""
    producers = {output: node for node in graph.node for output in node.output}
    found = {name}
    waiting = [name]
    while waiting:
        node = producers.get(waiting.pop())
        fresh = [item for item in inputs_of(node) if item not in found] if node is not None else []
        found.update(fresh)
        waiting += fresh
    return found


def inputs_of(node: NodeProto) -> Iterator[str]:
    """Names that a node reads, those that its subgraphs take from outside among them."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            inside = {item.name for item in (*graph.initializer, *graph.input)}
            for inner in graph.node:
                yield from (name for name in inputs_of(inner) if name not in inside)
                inside.update(inner.output)
            yield from (item.name for item in graph.output if item.name not in inside)
