"""A decoder in rows gives the samples of the whole, is taken where it is quicker, and is never in the way."""

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from engine.voices.style_bert_vits2.graphs import quick_decoder
from engine.voices.style_bert_vits2.graphs import rows as decoder_rows
from engine.voices.style_bert_vits2.graphs.file import load_model, save_model
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.graphs.rows import ROWS, in_rows, sizes_of_inputs
from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError
from engine.voices.style_bert_vits2.model_folder import decoder_margin
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.runtime.synthesizer import PARTS, PartedSynthesizer
from engine.voices.style_bert_vits2.tuning.layers import layers_of, unfuse
from engine.voices.style_bert_vits2.tuning.quantise import Bounds, Format, quantised

from .conftest import MARGIN, Case

DECODER = PARTS[2]
HOP = 512


@pytest.fixture(scope="module")
def portable(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> onnx.ModelProto:
    """The decoder of the small voice, without fused convolutions."""
    synthesizer = open_synthesizer(graph, tmp_path_factory.mktemp("cache"), margin=MARGIN)
    model = load_model(synthesizer.portable[DECODER])
    unfuse(model)
    return model


def noise(model: onnx.ModelProto, frames: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(frames)
    return {
        name: generator.standard_normal((1, channels, frames if moves else 1)).astype(np.float32)
        for name, (channels, moves) in sizes_of_inputs(model).items()
    }


def samples(model: onnx.ModelProto, folder: Path, *given: dict[str, np.ndarray], level: str = "ORT_ENABLE_ALL"):
    save_model(model, folder / "graph.onnx")
    graph = Graph(folder / "graph.onnx", level=level)
    return [next(iter(graph.run(values).values())) for values in given]


@pytest.mark.parametrize("frames", [1, 2, 3, 7, 24, 49, 100])
def test_rows_of_any_number_give_the_samples_of_the_whole(portable, tmp_path, frames):
    given = noise(portable, frames)
    (whole,) = samples(portable, tmp_path, given)
    assert whole.shape == (1, 1, frames * HOP)
    assert np.abs(whole).max() > 0.01
    counts = (1, 2, 3, 4, 7, 16)
    found = samples(in_rows(portable), tmp_path, *(given | {ROWS: np.array([count])} for count in counts))
    for rows in found:
        assert rows.shape == whole.shape
        assert np.abs(rows - whole).max() < 1e-5


def test_a_shorter_reach_would_be_heard(portable, tmp_path, monkeypatch):
    cut = decoder_rows._cut
    given = noise(portable, 48) | {ROWS: np.array([4])}
    (whole,) = samples(portable, tmp_path, given)
    for shorter, heard in ((0, False), (1, False), (12, True)):  # the last steps of the reach weigh little

        def less(graph, shorter=shorter):
            name, reach, hop = cut(graph)
            return name, reach - shorter, hop

        monkeypatch.setattr(decoder_rows, "_cut", less)
        (found,) = samples(in_rows(portable), tmp_path, given)
        assert bool(np.abs(found - whole).max() > 1e-5) is heard, shorter


def test_the_reach_is_that_of_the_stages_from_the_second_on(portable):
    whole = {"residual_kernels": (3, 7, 11), "dilations": ((1, 3, 5),) * 3}
    rest = decoder_margin(rates=(8, 2, 2, 2), kernels=(16, 8, 2, 2), **whole)
    _, reach, hop = decoder_rows._cut(portable.graph)
    assert hop == 8 * 2 * 2 * 2
    assert rest - 3 <= reach <= rest  # the formula counts the first convolution too, which reaches 3 frames


@pytest.mark.parametrize("groups", [{"pre", "s0k3"}, {"s1k7", "s4k11", "post"}])
def test_a_quantised_decoder_can_be_cut_into_rows(portable, tmp_path, groups):
    layers = [layer for layer in layers_of(DECODER, portable) if layer.group in groups]
    bounds = {name: Bounds(-3.0, 3.0) for layer in layers for name in (layer.input, layer.output)}
    model = quantised(portable, layers, bounds, Format(signed=False, weight_bits=7))
    given = noise(portable, 48) | {ROWS: np.array([3])}
    # BASIC computes the rounded values as they are told; the kernels of integers round otherwise here and there.
    (whole,), (rows,) = (samples(each, tmp_path, given, level="ORT_ENABLE_BASIC") for each in (model, in_rows(model)))
    power = np.square(whole).mean()
    assert np.square(rows - whole).mean() < 1e-3 * power


def changed(model: onnx.ModelProto, how) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    how(copy.graph)
    return copy


def one_stage(graph):
    for node in graph.node:
        if node.op_type == "ConvTranspose":
            node.op_type = "Conv"
    next(node for node in graph.node if node.op_type == "Conv").op_type = "ConvTranspose"


def unknown_operator(graph):
    next(node for node in graph.node if node.op_type == "Tanh").op_type = "Softmax"


def goes_past(graph):
    """The first stage is added once more at the second one's end."""
    first, second = [node for node in graph.node if node.op_type == "ConvTranspose"][:2]
    late = next(node for node in graph.node if node.op_type == "Add" and second.output[0] in node.input)
    late.input[1] = first.input[0]


def two_outputs(graph):
    graph.output.append(helper.make_tensor_value_info("second", onnx.TensorProto.FLOAT, None))


def uneven(graph):
    node = [node for node in graph.node if node.op_type == "ConvTranspose"][1]
    next(item for item in node.attribute if item.name == "pads").ints[:] = [0, 0]


def computed_weights(graph):
    node = [node for node in graph.node if node.op_type == "Conv"][5]
    graph.node.insert(0, helper.make_node("Identity", [node.input[1]], ["computed"]))
    node.input[1] = "computed"


def input_of_another_kind(graph):
    graph.input.append(helper.make_tensor_value_info("more", onnx.TensorProto.FLOAT, None))


def vector_is_added(graph):
    graph.initializer.append(numpy_helper.from_array(np.zeros(5, np.float32), "vector"))
    next(node for node in graph.node if node.op_type == "Add").input[1] = "vector"


@pytest.mark.parametrize(
    "how",
    [
        one_stage,
        unknown_operator,
        goes_past,
        two_outputs,
        uneven,
        computed_weights,
        input_of_another_kind,
        vector_is_added,
    ],
)
def test_what_is_built_in_another_way_is_refused(portable, how):
    with pytest.raises(UnknownGraphError):
        in_rows(changed(portable, how))


def test_a_graph_of_an_old_version_is_refused(portable):
    copy = changed(portable, lambda _: None)
    copy.opset_import[0].version = 12
    with pytest.raises(UnknownGraphError, match="old version"):
        in_rows(copy)


# The choice


def opened(graph: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, times: tuple[float, float]) -> PartedSynthesizer:
    monkeypatch.setattr(quick_decoder, "in_turns", lambda *_: times)
    synthesizer = open_synthesizer(graph, cache, margin=MARGIN)
    assert isinstance(synthesizer, PartedSynthesizer)
    return synthesizer


def rows_folder(cache: Path) -> Path:
    (found,) = (cache / "prepared").glob(f"*-{ROWS}*")
    return found


def said(synthesizer: PartedSynthesizer) -> np.ndarray:
    case = Case("s11_accent__seed")
    return synthesizer.synthesize(case.input, case.controls, case.noise).samples


def test_rows_are_taken_where_they_are_quicker(graph, tmp_path, monkeypatch):
    quick = opened(graph, tmp_path / "quick", monkeypatch, (1.0, 0.8))
    plain = opened(graph, tmp_path / "plain", monkeypatch, (1.0, 0.97))
    assert quick.fingerprint == f"{plain.fingerprint} {ROWS}"
    assert quick.paths[DECODER] == rows_folder(tmp_path / "quick") / DECODER
    assert plain.paths == plain.portable
    assert np.abs(said(quick) - said(plain)).max() < 1e-4
    assert [file.name for file in rows_folder(tmp_path / "plain").iterdir()] == ["prepared.json"]
    monkeypatch.setattr(quick_decoder, "_build", None)  # would fail if it were called: the choice is kept
    for cache, chosen in (("quick", True), ("plain", False)):
        assert opened(graph, tmp_path / cache, monkeypatch, (0, 0)).fingerprint.endswith(ROWS) is chosen


@pytest.mark.parametrize(("threads", "frames", "rows"), [(2, 100, 2), (4, 100, 4), (4, 60, 2), (4, 10, 1), (1, 100, 1)])
def test_as_many_rows_as_threads_but_no_short_ones(graph, tmp_path, monkeypatch, threads, frames, rows):
    monkeypatch.setenv("ASAGOE_THREADS", str(threads))
    synthesizer = opened(graph, tmp_path, monkeypatch, (1.0, 0.5))
    seen = []
    run = Graph.run
    monkeypatch.setattr(Graph, "run", lambda self, values: seen.append(values.get(ROWS)) or run(self, values))
    model = load_model(synthesizer.portable[DECODER])
    unfuse(model)
    given = noise(model, frames)
    latent = next(value for value in given.values() if value.shape[2] == frames)
    synthesizer._decode(given)(latent)
    assert seen == [np.array([rows])]


def test_rows_that_sound_otherwise_are_not_taken(graph, tmp_path, monkeypatch):
    def other(model):
        made = in_rows(model)
        bias = next(item for item in made.graph.initializer if len(item.dims) == 1)
        bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) + np.float32(0.5), bias.name))
        return made

    monkeypatch.setattr(quick_decoder, "in_rows", other)
    synthesizer = opened(graph, tmp_path, monkeypatch, (1.0, 0.5))
    assert synthesizer.paths == synthesizer.portable
    assert json.loads((rows_folder(tmp_path) / "prepared.json").read_text())["reason"] == "its samples differ"


def test_a_decoder_of_another_kind_is_used_as_it_is(graph, tmp_path, monkeypatch, caplog):
    def refuses(_model):
        message = "the decoder has Softmax in it"
        raise UnknownGraphError(message)

    monkeypatch.setattr(quick_decoder, "in_rows", refuses)
    caplog.set_level(logging.WARNING)
    synthesizer = opened(graph, tmp_path, monkeypatch, (1.0, 0.5))
    assert synthesizer.paths == synthesizer.portable
    assert not caplog.records
    assert json.loads((rows_folder(tmp_path) / "prepared.json").read_text())["reason"].endswith("Softmax in it")


@pytest.mark.parametrize("damage", ["weights are cut", "weights are gone", "graph is gone", "choice is cut"])
def test_damaged_rows_are_made_again(graph, tmp_path, monkeypatch, caplog, damage):
    reference = said(opened(graph, tmp_path, monkeypatch, (1.0, 0.5)))
    folder = rows_folder(tmp_path)
    weights = folder / f"{DECODER}.data"
    if damage == "weights are cut":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif damage == "weights are gone":
        weights.unlink()
    elif damage == "graph is gone":
        (folder / DECODER).unlink()
    else:
        (folder / "prepared.json").write_text("{")
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        found = opened(graph, tmp_path, monkeypatch, (1.0, 0.5))
        assert np.abs(said(found) - reference).max() < 1e-4
    assert found.fingerprint.endswith(ROWS)
    (record,) = caplog.records
    assert str(folder) in record.getMessage()
    assert "made again" in record.getMessage()


def test_where_nothing_can_be_kept_the_voice_speaks_all_the_same(graph, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    whole = opened(graph, cache, monkeypatch, (1.0, 0.5))
    shutil.rmtree(rows_folder(cache))
    monkeypatch.setattr(Path, "mkdir", lambda *_arguments, **_options: (_ for _ in ()).throw(OSError(28, "full")))
    found = opened(graph, cache, monkeypatch, (1.0, 0.5))
    assert found.paths == found.portable
    assert np.abs(said(found) - said(whole)).max() < 1e-4
