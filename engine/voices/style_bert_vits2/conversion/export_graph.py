"""Writing ONNX: a small builder for graphs that are put together by hand, and files whose weights can be mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]

INLINE_BYTES = 1024
"""Smaller tensors stay in the graph: ONNX Runtime wants shapes and scalars there when it optimises."""

RUNTIME_DOMAIN = "com.microsoft"
"""Of the operators that ONNX Runtime adds to the standard ones."""

_PAGE = 4096  # tensors begin at pages, so that a runtime can map them instead of copying


class GraphBuilder:
    """Adds nodes one by one; every value is known by its name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self._count = 0

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the name of the output."""
        return self.nodes_of(operator, *inputs, outputs=[output], **attributes)[0]

    def nodes_of(self, operator: str, *inputs: str, outputs: Sequence[str], **attributes: Any) -> list[str]:
        """Add a node with several outputs; an empty name is replaced by a new one."""
        named = [name or self._fresh(operator) for name in outputs]
        self.nodes.append(helper.make_node(operator, list(inputs), named, name=named[0], **attributes))
        return named

    def weight(self, name: str, value: Array) -> str:
        """Add a tensor under a name of its own."""
        self.initializers[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def ints(self, *values: int) -> str:
        """A constant int64 [n]; equal ones are shared."""
        name = "ints_" + "_".join(map(str, values))
        return name if name in self.initializers else self.weight(name, np.array(values, np.int64))

    def scalar(self, value: float, dtype: type[np.generic] = np.float32) -> str:
        """A constant without dimensions; equal ones are shared."""
        name = f"{np.dtype(dtype).name}_{value}"
        return name if name in self.initializers else self.weight(name, np.array(value, dtype))

    def inline(self, model: onnx.ModelProto, prefix: str, values: Mapping[str, str]) -> None:
        """Add the nodes and tensors of a model.

        Args:
            model: with a flat graph.
            prefix: put before all its names, but those of ``values``.
            values: names in this graph for inputs and outputs of the model.
        """
        names = {"": ""} | dict(values)

        def renamed(name: str) -> str:
            return names.setdefault(name, prefix + name)

        for tensor in model.graph.initializer:
            copy = onnx.TensorProto()
            copy.CopyFrom(tensor)
            copy.name = renamed(tensor.name)
            self.initializers[copy.name] = copy
        for node in model.graph.node:
            copied = helper.make_node(
                node.op_type,
                [renamed(name) for name in node.input],
                [renamed(name) for name in node.output],
                name=prefix + node.name,
                domain=node.domain,
            )
            copied.attribute.extend(node.attribute)
            self.nodes.append(copied)

    def _fresh(self, operator: str) -> str:
        self._count += 1
        return f"{operator}_{self._count}"

    def _needed(self, wanted: set[str]) -> list[onnx.NodeProto]:
        """The nodes that the wanted values depend on; nodes stand in the order of computing."""
        kept = []
        for node in reversed(self.nodes):
            if wanted.intersection(node.output):
                kept.append(node)
                wanted.update(node.input)
        return kept[::-1]

    def model(
        self,
        name: str,
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
        opset: int,
    ) -> onnx.ModelProto:
        """The finished graph: of all that was added, what the outputs need."""
        nodes = self._needed({value.name for value in outputs})
        used = {name for node in nodes for name in node.input}
        tensors = [tensor for name, tensor in self.initializers.items() if name in used]
        graph = helper.make_graph(nodes, name, list(inputs), list(outputs), tensors)
        opsets = [helper.make_opsetid("", opset)]
        if any(node.domain == RUNTIME_DOMAIN for node in nodes):
            opsets.append(helper.make_opsetid(RUNTIME_DOMAIN, 1))
        model = helper.make_model(graph, opset_imports=opsets, producer_name="asagoe")
        model.ir_version = 8  # of ONNX 1.10: every ONNX Runtime that knows the opset reads it
        return model


def floats(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    """Describe a float32 input or output."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def integers(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    """Describe an int64 input or output."""
    return helper.make_tensor_value_info(name, TensorProto.INT64, shape)


def save_models(models: Mapping[Path, onnx.ModelProto], data: Path) -> None:
    """Write models that share one file of weights.

    Tensors above ``INLINE_BYTES`` go to ``data`` once for each name, however many of the models hold them. The
    models are changed: their tensors point into the file.

    Args:
        models: by the path they are written to, all in the folder of ``data``.
        data: path of the weights.
    """
    places: dict[str, tuple[int, int]] = {}
    with data.open("wb") as file:
        for model in models.values():
            for tensor in model.graph.initializer:
                raw = numpy_helper.to_array(tensor).tobytes()
                if len(raw) <= INLINE_BYTES:
                    continue
                if tensor.name not in places:
                    file.write(b"\0" * (-file.tell() % _PAGE))
                    places[tensor.name] = (file.tell(), len(raw))
                    file.write(raw)
                _point(tensor, data.name, *places[tensor.name])
    for path, model in models.items():
        path.write_bytes(model.SerializeToString(deterministic=True))


def _point(tensor: onnx.TensorProto, location: str, offset: int, length: int) -> None:
    for field in ("raw_data", "float_data", "int32_data", "int64_data"):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
