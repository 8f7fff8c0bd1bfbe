"""Models are data: what a graph may not ask for is refused before a library opens it."""

import contextlib
import re
import time

import numpy as np
import pytest

from engine import VoiceNotAvailableError
from engine.voices.style_bert_vits2.graphs.guard import check_graph
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.runtime.bert import OnnxBert

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def external(location):
    tensor = onnx.numpy_helper.from_array(np.zeros(4, np.float32), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def write(path, nodes=(), tensors=(), functions=(), domains=("",)):
    value = helper.make_tensor_value_info("x", 1, [4])
    out = helper.make_tensor_value_info("y", 1, [4])
    nodes = list(nodes) or [helper.make_node("Identity", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value], [out], list(tensors))
    opsets = [helper.make_opsetid(domain, 17 if not domain else 1) for domain in domains]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, functions=list(functions)).SerializeToString())
    return path


def branch(*nodes, tensors=()):
    return helper.make_graph(list(nodes), "branch", [], [helper.make_tensor_value_info("y", 1, [4])], list(tensors))


def test_plain_graphs_and_those_of_onnx_runtime_pass(tmp_path, graph, tree):
    check_graph(write(tmp_path / "a.onnx"))
    check_graph(write(tmp_path / "b.onnx", [helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")]))
    check_graph(write(tmp_path / "c.onnx", tensors=[external("c.onnx.data")]))
    check_graph(graph)
    check_graph(tree / "onnx" / "bert" / "q8" / "bert_q8.onnx")


def test_functions_that_the_model_brings_as_graphs_pass(tmp_path):
    node = helper.make_node("Mine", ["x"], ["y"], domain="local")
    body = helper.make_node("Identity", ["x"], ["y"])
    mine = helper.make_function("local", "Mine", ["x"], ["y"], [body], [helper.make_opsetid("", 17)])
    check_graph(write(tmp_path / "a.onnx", [node], functions=[mine]))
    evil = helper.make_node("Evil", ["x"], ["y"], domain="evil")
    mine = helper.make_function("local", "Mine", ["x"], ["y"], [evil], [helper.make_opsetid("", 17)])
    with pytest.raises(VoiceNotAvailableError, match=r"uses the operator evil\.Evil"):
        check_graph(write(tmp_path / "b.onnx", [node], functions=[mine]))


@pytest.mark.parametrize(
    ("domain", "name"),
    [("evil", "Run"), ("ai.onnx.contrib", "PyOp"), ("com.microsoft", "PythonOp"), ("org.pytorch.aten", "ATen")],
)
def test_other_operators_are_refused_wherever_they_hide(tmp_path, domain, name):
    node = helper.make_node(name, ["x"], ["y"], domain=domain)
    wanted = re.escape(f"uses the operator {domain}.{name}, which is not one of ONNX Runtime's own")
    with pytest.raises(VoiceNotAvailableError, match=wanted):
        check_graph(write(tmp_path / "a.onnx", [node]))
    inner = helper.make_node("If", ["c"], ["y"], then_branch=branch(node), else_branch=branch())
    outer = helper.make_node("If", ["c"], ["y"], then_branch=branch(inner), else_branch=branch())
    with pytest.raises(VoiceNotAvailableError, match=wanted):
        check_graph(write(tmp_path / "b.onnx", [outer]))


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "a/../../b", "a\\b", "..", "", "sub/w.bin"])
def test_weights_outside_the_folder_are_refused_wherever_they_hide(tmp_path, location):
    hidden = [
        {"tensors": [external(location)]},
        {"nodes": [helper.make_node("Constant", [], ["y"], value=external(location))]},
        {
            "nodes": [
                helper.make_node(
                    "If", ["c"], ["y"], then_branch=branch(tensors=[external(location)]), else_branch=branch()
                )
            ]
        },
    ]
    for number, parts in enumerate(hidden):
        with pytest.raises(VoiceNotAvailableError, match="has weights outside its folder"):
            check_graph(write(tmp_path / f"{number}.onnx", **parts))


def test_garbage_is_refused_and_never_crashes(tmp_path, graph):
    whole = graph.read_bytes()[:200_000]
    rng = np.random.default_rng(1)
    for data in (b"", b"\xff" * 40, b"hello", whole[:1000], b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"):
        (tmp_path / "x.onnx").write_bytes(data)
        with pytest.raises(VoiceNotAvailableError, match=r"x\.onnx is not a usable ONNX graph"):
            check_graph(tmp_path / "x.onnx")
    for _ in range(200):
        data = bytearray(whole[: rng.integers(100, 5000)])
        data[rng.integers(0, len(data))] = rng.integers(0, 256)
        (tmp_path / "x.onnx").write_bytes(data)
        with contextlib.suppress(VoiceNotAvailableError):  # no other error, and an end
            check_graph(tmp_path / "x.onnx")


def test_graphs_within_graphs_have_a_bound(tmp_path):
    inside = b""
    for _ in range(3000):  # node, attribute, graph: each one field in another
        for key in (b"\x32", b"\x2a", b"\x0a"):
            inside = key + _size(len(inside)) + inside
    (tmp_path / "deep.onnx").write_bytes(b"\x3a" + _size(len(inside)) + inside)
    with pytest.raises(VoiceNotAvailableError, match="graphs within graphs"):
        check_graph(tmp_path / "deep.onnx")


def _size(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_voices_and_bert_are_checked_before_they_are_opened(tmp_path, monkeypatch):
    def opened(*args, **kwargs):
        raise AssertionError("it was opened")

    monkeypatch.setattr("onnxruntime.InferenceSession", opened)
    node = helper.make_node("Run", ["x"], ["y"], domain="evil")
    write(tmp_path / "synthesizer.onnx", [node])
    with pytest.raises(VoiceNotAvailableError, match=r"evil\.Run"):
        open_synthesizer(tmp_path / "synthesizer.onnx", tmp_path / "cache", margin=14)
    write(tmp_path / "bert_q8.onnx", [node])
    with pytest.raises(VoiceNotAvailableError, match=r"evil\.Run"):
        OnnxBert(tmp_path, tmp_path / "cache")
    write(tmp_path / "synthesizer.onnx")
    for name in ("encoder", "flow", "decoder"):
        write(tmp_path / f"{name}.onnx", tensors=[external("../x")] if name == "flow" else ())
    with pytest.raises(VoiceNotAvailableError, match=r"flow\.onnx has weights outside"):
        open_synthesizer(tmp_path / "synthesizer.onnx", tmp_path / "cache", margin=14)


def test_a_check_is_quick(graph):
    began = time.perf_counter()
    check_graph(graph)
    assert time.perf_counter() - began < 2
