"""A small voice is tuned from end to end; what loads afterwards is what was found, or float32 where that cannot be."""

import json
import logging
import multiprocessing
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from engine import TTS
from engine.errors import VoiceNotAvailableError
from engine.sources import parse_source
from engine.sources.store import open_tree
from engine.voices.style_bert_vits2.backend import Controls, SeededNoise
from engine.voices.style_bert_vits2.graphs import prepare
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.graphs.file import load_model, save_model
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.runtime.synthesizer import PARTS, PartedSynthesizer
from engine.voices.style_bert_vits2.tuning import search, store, workshop
from engine.voices.style_bert_vits2.tuning import tune as tuning
from engine.voices.style_bert_vits2.tuning.calibrate import best_bounds
from engine.voices.style_bert_vits2.tuning.layers import layers_of, unfuse, unit_of
from engine.voices.style_bert_vits2.tuning.measure import noise_to_signal
from engine.voices.style_bert_vits2.tuning.processor import Processor
from engine.voices.style_bert_vits2.tuning.quantise import Bounds, Format, quantised
from engine.voices.style_bert_vits2.tuning.report import Tuning
from tests.fakes.published import VOICE

from .conftest import MARGIN, Case

pytestmark = pytest.mark.timeout(400)  # ten seconds of processor time for all, but sixty graphs are made
THRESHOLD = 35.0
DECODER = PARTS[2]


GROUPS = ("flow", "pre", "s0k3", "s1k7", "s4k11")


def tuned(tree: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, *, groups=GROUPS[2:4], **options) -> Tuning:
    """Tune quickly: few sentences and layers, and every variant twice as fast, since in this size none really is."""
    monkeypatch.setattr(
        workshop, "layers_of", lambda *given: tuple(layer for layer in layers_of(*given) if layer.group in groups)
    )
    monkeypatch.setattr(tuning, "CALIBRATION", tuning.CALIBRATION[2:4])
    monkeypatch.setattr(tuning, "MEASURING", tuning.MEASURING[:1])
    monkeypatch.setattr(search, "in_turns", lambda *_: (2.0, 1.0))
    return tuning.tune(VOICE, source(tree, cache), cache, **options)


def source(tree: Path, cache: Path):
    return open_tree(parse_source(str(tree)), cache)


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, float]]:
    return []


@pytest.fixture(scope="module")
def made(tree: Path, tmp_path_factory: pytest.TempPathFactory, steps) -> tuple[Path, Tuning]:
    """A cache with a tuned voice, not to be changed, and its report."""
    cache = tmp_path_factory.mktemp("tuned")
    with pytest.MonkeyPatch.context() as patch:
        report = tuned(
            tree, cache, patch, groups=GROUPS, threshold=THRESHOLD, progress=lambda *step: steps.append(step)
        )
    return cache, report


@pytest.fixture
def cache(made: tuple[Path, Tuning], tmp_path: Path) -> Path:
    """A copy of that cache."""
    return Path(shutil.copytree(made[0], tmp_path / "cache"))


def opened(graph: Path, cache: Path, **options) -> PartedSynthesizer:
    found = open_synthesizer(graph, cache / "style_bert_vits2", margin=MARGIN, **options)
    assert isinstance(found, PartedSynthesizer)
    return found


def folder(cache: Path) -> Path:
    (found,) = cache.glob("style_bert_vits2/tuned/*/*/")
    return found


def said(synthesizer: PartedSynthesizer, length: float = 1.0) -> np.ndarray:
    return synthesizer.synthesize(Case("s11_accent__n0").input, Controls(length_scale=length), SeededNoise(3)).samples


def is_tuned(synthesizer: PartedSynthesizer) -> bool:
    return " tuned " in synthesizer.fingerprint


def test_the_choice_is_near_enough_and_the_report_has_its_proof(made):
    cache, report = made
    assert report.chosen
    assert report.choice.snr >= THRESHOLD
    assert 0 < report.choice.log_mel < 3
    assert report.choice.join is not None
    assert report.choice.join <= 1e-4
    assert report.candidates[0].groups == ()
    assert {group.name for group in report.groups} >= set(GROUPS[1:])  # the flow where it takes its share of the time
    stored = json.loads((folder(cache) / "tuning.json").read_text())
    assert stored["processor"]["architecture"]
    assert stored["onnxruntime"] in folder(cache).name
    assert stored["threshold"] == THRESHOLD
    assert stored["chosen"] == list(report.chosen)
    assert report.peak_memory > 50e6


def test_progress_goes_from_nothing_to_nearly_all(made, steps):
    shares = [share for _, share in steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1] <= 1) == (0, True)
    assert {"calibrating", "trying s0k3", "measuring set 1"} <= {what for what, _ in steps}


def test_the_voice_computes_with_8_bits_and_sounds_as_near_as_was_found(graph, made):
    cache, report = made
    exact, quick = opened(graph, cache, tuned=False), opened(graph, cache)
    assert not is_tuned(exact)
    assert is_tuned(quick)
    operators = {node.op_type for node in load_model(quick.paths[DECODER]).graph.node}
    assert operators & {"QLinearConv", "QuantizeLinear"}
    noise = noise_to_signal(said(exact), said(quick))
    assert 0 < noise < 10 ** (-(THRESHOLD - 3) / 10)  # another sentence than those that were measured
    assert report.graphs.keys() <= set(PARTS)


def test_windows_of_a_tuned_voice_join(graph, made):
    quick = opened(graph, made[0])
    whole, windows = quick.variant({}, window=10_000), quick.variant({}, window=256)
    long = said(whole, length=3.0)
    assert len(long) > 600 * 512
    assert np.abs(long - said(windows, length=3.0)).max() < 1e-4


def test_speech_of_a_tuned_voice_is_kept_apart_from_that_in_float32(tree, cache):
    def fingerprint() -> str:
        with TTS(cache_dir=cache).load(VOICE, source=str(tree), seed=1).prepare() as tts:
            plan = tts.speakers[VOICE].plan("はい。")
            return plan.segments[0].key

    before = fingerprint()
    assert fingerprint() == before
    assert tuning.reset(VOICE, source(tree, cache), cache)
    assert fingerprint() != before


def test_a_reset_goes_back_to_float32(tree, graph, cache):
    assert tuning.found(VOICE, source(tree, cache), cache) is not None
    assert tuning.reset(VOICE, source(tree, cache), cache)
    assert tuning.found(VOICE, source(tree, cache), cache) is None
    assert not is_tuned(opened(graph, cache))
    assert not tuning.reset(VOICE, source(tree, cache), cache)


@pytest.mark.parametrize("change", ["processor", "onnxruntime"])
def test_another_processor_or_runtime_falls_back_and_says_so(graph, cache, monkeypatch, caplog, change):
    if change == "processor":
        monkeypatch.setattr(store, "this_processor", lambda: Processor("x86_64", "another", ("avx2",)))
    else:
        where = folder(cache)
        where.rename(where.with_name(where.name.replace("onnxruntime", "onnxruntime0.")))
    with caplog.at_level(logging.INFO):
        assert not is_tuned(opened(graph, cache))
    assert "holds for another processor or release of ONNX Runtime; float32 is used" in caplog.text
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def _cut(where: Path) -> None:
    file = where / f"{DECODER}.data"
    file.write_bytes(file.read_bytes()[:-100])


def _flip(where: Path) -> None:
    file = where / DECODER
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)


def _foreign(where: Path) -> None:
    """A graph of the wrong kind and without its weights, with a report that vouches for it."""
    shutil.copy(next(where.parents[2].glob(f"prepared/*/{PARTS[1]}")), where / DECODER)
    report = json.loads((where / "tuning.json").read_text())
    report["graphs"] = {DECODER: content_hash(where / DECODER, where)}
    (where / "tuning.json").write_text(json.dumps(report))


def _of_another(where: Path) -> None:
    report = json.loads((where / "tuning.json").read_text())
    (where / "tuning.json").write_text(json.dumps(report | {"content": "0" * 64}))


DAMAGE = {
    "no report": lambda where: (where / "tuning.json").unlink(),
    "report cut off": lambda where: (where / "tuning.json").write_text('{"content": '),
    "report of another network": _of_another,
    "no graph": lambda where: (where / DECODER).unlink(),
    "weights cut off": _cut,
    "a bit of the graph": _flip,
    "a graph of another kind": _foreign,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_whatever_is_damaged_is_passed_over_with_a_warning(tree, graph, cache, caplog, damage):
    DAMAGE[damage](folder(cache))
    exact = said(opened(graph, cache, tuned=False))
    caplog.clear()
    found = opened(graph, cache)
    assert not is_tuned(found)
    assert np.array_equal(said(found), exact)
    assert "is damaged" in caplog.text
    assert "float32 is used. Tune the voice again." in caplog.text
    assert "it is made again" not in caplog.text  # what was prepared stays


def test_a_damaged_tuning_and_one_for_an_older_release_are_replaced_by_the_next(tree, graph, cache, monkeypatch):
    (folder(cache) / DECODER).unlink()
    where = folder(cache)
    shutil.copytree(where, where.with_name(where.name.replace("onnxruntime", "onnxruntime0.")))
    shutil.copytree(where, where.with_name("0123456789ab-onnxruntime1.32.0-1"))  # of another machine
    tuned(tree, cache, monkeypatch, threshold=20.0)
    assert is_tuned(opened(graph, cache))
    assert {path.name for path in where.parent.iterdir()} == {where.name, "0123456789ab-onnxruntime1.32.0-1"}
    assert not list(cache.glob("style_bert_vits2/tuned/*.part"))


def test_where_nothing_is_near_enough_float32_stays(tree, graph, cache, monkeypatch):
    report = tuned(tree, cache, monkeypatch, threshold=90.0)
    assert report.chosen == ()
    assert report.summary == "float32"
    assert len(report.candidates) > 1  # they were measured, and are in the report
    assert not is_tuned(opened(graph, cache))
    assert tuning.found(VOICE, source(tree, cache), cache) == report
    assert not list(folder(cache).glob("*.onnx"))


def test_a_second_tuning_waits_and_takes_what_the_first_one_found(tree, cache, monkeypatch):
    own = cache / "style_bert_vits2"
    report = json.loads((folder(cache) / "tuning.json").read_text()) | {"threshold": 50.0}

    def waiting(what: str, share: float) -> None:
        """The other one ends."""
        if what.startswith("waiting"):
            (folder(cache) / "tuning.json").write_text(json.dumps(report))
            holding.__exit__(None, None, None)

    holding = store.tuning_alone(own, lambda: None)
    holding.__enter__()
    monkeypatch.setattr(tuning, "_utterances", None)  # would fail if it tuned
    assert tuning.tune(VOICE, source(tree, cache), cache, threshold=50.0, progress=waiting).threshold == 50.0


def _tune_in_a_process(tree: Path, cache: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        tuned(tree, cache, patch, threshold=20.0)


def test_what_a_killed_tuning_left_is_removed_and_nothing_of_it_is_used(tree, graph, cache):
    before = folder(cache).name
    process = multiprocessing.get_context("spawn").Process(target=_tune_in_a_process, args=(tree, cache))
    process.start()
    while process.is_alive() and not list(cache.glob("style_bert_vits2/tuned/*.part/*.onnx")):
        process.join(0.02)
    process.kill()
    process.join()
    assert list(cache.glob("style_bert_vits2/tuned/*.part"))
    assert folder(cache).name == before
    assert is_tuned(opened(graph, cache))
    with store.tuning_alone(cache / "style_bert_vits2", lambda: None):
        assert not list(cache.glob("style_bert_vits2/tuned/*.part"))


def test_without_the_package_onnx_tuning_names_the_remedy_and_a_tuned_voice_loads(graph, cache):
    code = (
        "import sys; from pathlib import Path; sys.modules['onnx'] = None\n"
        "from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer\n"
        "graph, cache = map(Path, sys.argv[1:])\n"
        "print(open_synthesizer(graph, cache / 'style_bert_vits2', margin=14).fingerprint)\n"
        "from engine import VoiceNotAvailableError\n"
        "from engine.voices.style_bert_vits2.tuning.tune import tune\n"
        "try: tune('x', None, cache)\n"
        "except VoiceNotAvailableError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, graph, cache], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert " tuned " in first
    assert second == "tuning a voice needs the package onnx; run: pip install onnx"


def test_a_graph_that_could_not_be_cut_cannot_be_tuned(copied_tree, tmp_path, monkeypatch):
    path = copied_tree / "onnx" / "speakers" / VOICE / "synthesizer.onnx"
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "RandomNormalLike":
            node.attribute.append(onnx.helper.make_attribute("scale", 0.5))
    onnx.save(model, path)
    with pytest.raises(VoiceNotAvailableError, match=r"cannot be tuned: it could not be cut into parts"):
        tuned(copied_tree, tmp_path, monkeypatch)


# Layers and numbers


@pytest.fixture(scope="module")
def decoder(graph, made) -> onnx.ModelProto:
    return load_model(opened(graph, made[0], tuned=False).portable[DECODER])


def test_layers_of_the_decoder_are_grouped_by_stage_and_kernel(decoder):
    unfuse(decoder)
    groups = [layer.group for layer in layers_of(DECODER, decoder)]
    assert set(groups) == {f"s{stage}k{kernel}" for stage in range(5) for kernel in (3, 7, 11)} | {"pre", "post"}
    assert groups[0] == "pre"
    assert groups[-1] == "post"
    assert {name: groups.count(name) for name in ("s0k3", "s4k11", "post")} == {"s0k3": 6, "s4k11": 6, "post": 1}
    assert [unit_of(name) for name in ("s0k3", "s12k7", "pre", "flow", "sink")] == ["s0", "s12", "pre", "flow", "sink"]


def test_work_of_a_layer_grows_with_the_rate(decoder):
    layers = {layer.group: layer for layer in layers_of(DECODER, decoder)}
    assert layers["s0k3"].work == 32 * 32 * 3 * 8  # after the first upsampling by 8
    assert layers["s1k3"].work == 16 * 16 * 3 * 64


def test_taking_fused_activations_apart_changes_nothing(graph, made, tmp_path):
    path = opened(graph, made[0], tuned=False).portable[DECODER]
    model = load_model(path)
    assert any(node.op_type == "FusedConv" for node in model.graph.node)
    unfuse(model)
    assert not any(node.op_type == "FusedConv" for node in model.graph.node)
    save_model(model, tmp_path / "apart.onnx")
    exact = opened(graph, made[0], tuned=False)
    assert np.abs(said(exact) - said(exact.variant({DECODER: tmp_path / "apart.onnx"}))).max() < 1e-5


def test_bounds_hold_zero_exactly():
    bounds = Bounds(-0.3, 1.1)
    assert 0 <= bounds.zero <= 255
    assert bounds.scale == pytest.approx(1.4 / 255)
    assert Bounds(0.0, 0.0).scale == 1


def test_bounds_leave_out_what_is_rare():
    values = np.random.default_rng(1).standard_normal(20_000).astype(np.float32)
    wide = best_bounds(values, -8.0, 8.0)  # two values of the whole tensor were so large
    assert 3 < wide.high < 5.5
    assert best_bounds(np.array([0.0, 0.5, 1.0]), 0.0, 1.0).high == pytest.approx(1.0, abs=0.05)
    assert best_bounds(np.zeros(10), 0.0, 0.0) == Bounds(0.0, 0.0)


@pytest.mark.parametrize("numbers", [Format(signed=False, weight_bits=8), Format(signed=True, weight_bits=8)])
def test_a_quantised_convolution_is_off_by_its_steps(tmp_path, numbers):
    generator = np.random.default_rng(1)
    weights = generator.standard_normal((4, 8, 3), np.float32)
    weights[1] *= 100  # each channel has its own scale
    weights[2] = 0
    bias = np.array([0.5, -1, 2, 0], np.float32)
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1])],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 8, None])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4, None])],
        [onnx.numpy_helper.from_array(value, name) for name, value in (("w", weights), ("b", bias))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    layers = layers_of(PARTS[1], model)
    x = generator.uniform(-1, 1, (1, 8, 500)).astype(np.float32)
    save_model(model, tmp_path / "exact.onnx")
    exact = Graph(tmp_path / "exact.onnx").run({"x": x})["y"]
    bounds = {"x": Bounds(-1, 1), "y": Bounds(float(exact.min()), float(exact.max()))}
    save_model(quantised(model, layers, bounds, numbers), tmp_path / "quick.onnx")
    quick = Graph(tmp_path / "quick.onnx").run({"x": x})["y"]
    step = float(bounds["y"].scale)
    assert np.abs(quick - exact).max() < 1.5 * step
    assert np.abs(quick[0, 2] - 2).max() <= step


def test_no_decoder_in_rows_is_made_where_a_tuned_one_takes_its_place(graph, cache, monkeypatch):
    for made in (cache / "style_bert_vits2" / "prepared").glob("*-rows*"):
        shutil.rmtree(made)
    monkeypatch.setattr(prepare, "quick_decoder", None)  # would fail if it were called
    assert is_tuned(opened(graph, cache))
