import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from engine.errors import EngineDefectError, VoiceNotAvailableError
from engine.voices.style_bert_vits2.graphs import check as graph_check
from engine.voices.style_bert_vits2.graphs import prepare as prepare_graph
from engine.voices.style_bert_vits2.graphs import split as graph_split
from engine.voices.style_bert_vits2.graphs.cache import facts_of
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.graphs.file import load_model
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.runtime.synthesizer import (
    PARTS,
    PartedSynthesizer,
    PublishedSynthesizer,
    decode_in_windows,
)

from .conftest import MARGIN, Case, GivenNoise


def prepared_folders(cache: Path) -> list[Path]:
    """Those of whole networks; a decoder in rows has a folder of its own."""
    return sorted(folder for folder in (cache / "prepared").iterdir() if "-rows" not in folder.name)


def test_the_second_time_nothing_is_prepared(graph: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    open_synthesizer(graph, cache, margin=MARGIN)
    monkeypatch.setattr(prepare_graph, "_build", None)  # would fail if it were called
    assert isinstance(open_synthesizer(graph, cache, margin=MARGIN), PartedSynthesizer)


def test_equal_noise_makes_equal_audio_and_other_noise_other(graph: Path, cache: Path):
    case = Case("s11_accent__seed")
    synthesizer = open_synthesizer(graph, cache, margin=MARGIN)
    first, again = (synthesizer.synthesize(case.input, case.controls, case.noise).samples for _ in range(2))
    assert first.tobytes() == again.tobytes()
    prior = case.stored["noise_arr"][:, ::-1]
    other = synthesizer.synthesize(case.input, case.controls, GivenNoise(case.stored["noise_w_arr"], prior)).samples
    assert np.abs(other - first).max() > 0.01


def test_what_is_prepared_leaves_no_traces_of_the_work(graph: Path, cache: Path):
    open_synthesizer(graph, cache, margin=MARGIN)
    (folder,) = prepared_folders(cache)
    parts = [f"{part}.onnx{more}" for part in ("decoder", "encoder", "flow") for more in ("", ".data")]
    assert sorted(file.name for file in folder.iterdir()) == [*parts, "prepared.json"]


@pytest.mark.parametrize("window", [1, 5, 16, 10_000])
def test_windows_are_not_heard(graph: Path, cache: Path, window: int):
    open_synthesizer(graph, cache, margin=MARGIN)
    (folder,) = prepared_folders(cache)
    case = Case("s01_short__n0")
    output = prepare_graph._opened(folder, facts_of(folder), "hash", window=window).synthesize(
        case.input, case.controls, GivenNoise()
    )
    assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


def test_windows_are_even_and_cover_each_frame_once():
    lengths: list[int] = []

    def decode(latent: np.ndarray) -> np.ndarray:
        lengths.append(latent.shape[2])
        return np.repeat(latent[0, 0], 4)

    latent = np.arange(25, dtype=np.float32).reshape(1, 1, 25)
    audio = decode_in_windows(decode, latent, margin=2, window=10)
    assert audio.tolist() == np.repeat(np.arange(25), 4).tolist()
    assert lengths == [10, 13, 10]


def test_a_cache_that_cannot_be_written_leaves_the_original(
    graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("")
    synthesizer = open_synthesizer(graph, tmp_path / "file", margin=MARGIN)
    assert isinstance(synthesizer, PublishedSynthesizer)
    assert "is used as it is, its speech is not reproducible: nothing can be kept in" in caplog.text


def test_a_full_disk_leaves_the_original_and_no_litter(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_path: Path, work: Path, _margin: int) -> None:
        (work / "half").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare_graph, "_build", full)
    assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PublishedSynthesizer)
    assert prepared_folders(tmp_path) == []


def test_a_graph_that_cannot_be_prepared_is_tried_once(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def differing(_path: Path, work: Path, _margin: int) -> None:
        (work / "half").write_text("half")
        raise graph_split.UnknownGraphError("the prepared graph differs by 0.5")

    monkeypatch.setattr(prepare_graph, "_build", differing)
    assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PublishedSynthesizer)
    assert "is used as it is, its speech is not reproducible: the prepared graph differs by 0.5." in caplog.text
    (folder,) = prepared_folders(tmp_path)
    assert [file.name for file in folder.iterdir()] == ["refused.txt"]
    caplog.clear()
    with monkeypatch.context() as patch:
        patch.setattr(prepare_graph, "_build", None)
        assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PublishedSynthesizer)
    assert f"differs by 0.5. Delete {folder} to try again." in caplog.text


@pytest.mark.parametrize("cure", ["a week passes", "the folder is deleted"])
def test_a_refusal_can_be_cured(graph: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cure: str):
    def refusing(*_: object) -> None:
        raise EngineDefectError("no memory")

    monkeypatch.setattr(prepare_graph, "_build", refusing)
    open_synthesizer(graph, tmp_path, margin=MARGIN)
    (folder,) = prepared_folders(tmp_path)
    if cure == "a week passes":
        os.utime(folder / "refused.txt", (0, 0))
    else:
        shutil.rmtree(folder)
    open_synthesizer(graph, cache, margin=MARGIN)
    (made,) = prepared_folders(cache)

    def building(_path: Path, work: Path, _margin: int) -> str:
        shutil.copytree(made, work, dirs_exist_ok=True)
        return facts_of(made)

    monkeypatch.setattr(prepare_graph, "_build", building)
    assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PartedSynthesizer)


def test_what_says_something_else_does_not_pass(graph: Path, cache: Path, tmp_path: Path):
    model = onnx.load(graph)
    names = {item.name: item.name for item in model.graph.input}
    wanted = graph_check.expected(model, graph_split.landmarks(model), names, tmp_path / "original.onnx")
    assert wanted.channels == 32
    prepared = open_synthesizer(graph, cache, margin=MARGIN)
    graph_check.verify(wanted, prepared)
    louder = [replace(output, samples=output.samples + np.float32(2e-4)) for output in wanted.outputs]
    with pytest.raises(graph_split.UnknownGraphError, match="differs by"):
        graph_check.verify(replace(wanted, outputs=louder), prepared)
    longer = [replace(output, durations=output.durations + 1) for output in wanted.outputs]
    with pytest.raises(graph_split.UnknownGraphError, match="other durations"):
        graph_check.verify(replace(wanted, outputs=longer), prepared)
    (folder,) = prepared_folders(cache)
    graph_check.verify(wanted, prepare_graph._opened(folder, facts_of(folder), "hash", window=8))
    short_sighted = json.dumps(json.loads(facts_of(folder)) | {"margin": 4})
    with pytest.raises(graph_split.UnknownGraphError, match="differs by"):
        graph_check.verify(wanted, prepare_graph._opened(folder, short_sighted, "hash", window=8))


def test_a_damaged_preparation_is_made_again(
    graph: Path, cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    open_synthesizer(graph, cache, margin=MARGIN)
    shutil.copytree(cache, tmp_path / "cache")
    (folder,) = prepared_folders(tmp_path / "cache")
    (folder / "decoder.onnx").write_bytes(b"damaged")
    assert isinstance(open_synthesizer(graph, tmp_path / "cache", margin=MARGIN), PartedSynthesizer)
    assert "is damaged" in caplog.text
    assert (folder / "decoder.onnx").stat().st_size > 10_000


def test_the_hash_follows_the_content_and_is_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    graph, cache = tmp_path / "synthesizer.onnx", tmp_path / "cache"
    graph.write_bytes(b"one")
    first = content_hash(graph, cache)
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "file_digest", None)  # would fail if it were called
        assert content_hash(graph, cache) == first
    graph.write_bytes(b"other")
    second = content_hash(graph, cache)
    graph.with_name("synthesizer.onnx.data").write_bytes(b"weights")
    assert len({first, second, content_hash(graph, cache)}) == 3


def test_what_a_killed_process_left_is_cleared_away_in_time(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    old, young = (tmp_path / "prepared" / f".{name}.part" for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    monkeypatch.setattr(prepare_graph, "_build", lambda *_: (_ for _ in ()).throw(OSError("full")))
    open_synthesizer(graph, tmp_path, margin=MARGIN)
    assert not old.exists()
    assert young.exists()


def test_two_processes_may_prepare_at_once(graph: Path, tmp_path: Path):
    code = (
        "import sys; from pathlib import Path;"
        "from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer;"
        "print(open_synthesizer(Path(sys.argv[1]), Path(sys.argv[2]), margin=14).reproducible)"
    )
    command = [sys.executable, "-c", code, str(graph), str(tmp_path)]
    root = Path(prepare_graph.__file__).parents[3]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)]
    assert [process.communicate(timeout=100)[0].strip() for process in running] == ["True", "True"]
    assert len(prepared_folders(tmp_path)) == 1


def test_a_damaged_graph_is_told_in_a_sentence(tmp_path: Path):
    graph = tmp_path / "synthesizer.onnx"
    graph.write_bytes(b"\x08\x07damaged" * 100)
    with pytest.raises(VoiceNotAvailableError, match=r"synthesizer\.onnx is not a usable ONNX graph .*; fetch"):
        open_synthesizer(graph, tmp_path / "cache", margin=MARGIN)


def test_a_truncated_graph_is_told_in_a_sentence(graph: Path, tmp_path: Path):
    cut = tmp_path / "synthesizer.onnx"
    cut.write_bytes(graph.read_bytes()[:3_000_000])
    with pytest.raises(VoiceNotAvailableError, match=r"synthesizer\.onnx is not a usable ONNX graph .*; fetch"):
        open_synthesizer(cut, tmp_path / "cache", margin=MARGIN)


def test_other_exporters_graphs_without_durations_are_understood(graph: Path, tmp_path: Path):
    model = graph_split.with_outputs(onnx.load(graph), "audio")
    other = tmp_path / "synthesizer.onnx"
    onnx.save(_renamed(model, {"x": "x_tst", "x_lengths": "x_tst_lengths", "tone": "tones"}), other)
    case = Case("s01_short__n0")
    published = PublishedSynthesizer(other, "hash").synthesize(case.input, case.controls, GivenNoise())
    prepared = open_synthesizer(other, tmp_path / "cache", margin=MARGIN)
    output = prepared.synthesize(case.input, case.controls, GivenNoise())
    for made in (published, output):
        assert np.abs(made.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4
    assert published.durations is None
    assert np.array_equal(output.durations, case.stored["durations"])


def test_numbers_may_be_scalars(graph: Path, tmp_path: Path):
    model = onnx.load(graph)
    unsqueezed = {"length_scale": "length_scale_1", "noise_scale": "noise_scale_1"}
    for item in model.graph.input:
        if item.name in unsqueezed:
            del item.type.tensor_type.shape.dim[:]
    _renamed(model, dict(unsqueezed.items()), inputs=False)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1], np.int64), "one"))
    for name, new in unsqueezed.items():
        model.graph.node.insert(0, onnx.helper.make_node("Reshape", [name, "one"], [new]))
    scalar = tmp_path / "synthesizer.onnx"
    onnx.save(model, scalar)
    case = Case("s01_short__n0")
    output = PublishedSynthesizer(scalar, "hash").synthesize(case.input, case.controls, GivenNoise())
    assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


def test_parts_beside_a_graph_are_used_as_they_are(
    graph: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    open_synthesizer(graph, cache, margin=MARGIN)
    (folder,) = prepared_folders(cache)
    marks = graph_split.landmarks(onnx.load(graph))
    names = {
        graph_split.NOISE_W: "noise_w",
        graph_split.NOISE: "noise",
        marks.durations: "durations",
        marks.latent: "z",
    }
    for name in PARTS:
        part = load_model(folder / name)
        for item in (*part.graph.input, *part.graph.output):
            if item.name == graph_split.NOISE:
                item.type.tensor_type.shape.dim[1].dim_value = 32
            item.name = names.get(item.name, item.name)
        renamed = _renamed(part, names)
        for node in renamed.graph.node:
            node.output[:] = [names.get(output, output) for output in node.output]
        onnx.save(renamed, tmp_path / name)
    shutil.copy(graph, tmp_path)
    monkeypatch.setattr(prepare_graph, "_build", None)
    synthesizer = open_synthesizer(tmp_path / graph.name, tmp_path / "cache", margin=MARGIN)
    case = Case("s11_accent__seed")
    output = synthesizer.synthesize(case.input, case.controls, case.noise)
    assert np.array_equal(output.durations, case.stored["durations"])
    assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


def test_weights_beside_a_graph_may_be_behind_links_but_not_elsewhere(graph: Path, tmp_path: Path):
    folder, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    folder.mkdir()
    blobs.mkdir()
    model = onnx.load(graph)
    onnx.save(model, blobs / "synthesizer.onnx", save_as_external_data=True, location="synthesizer.onnx.data")
    for file in blobs.iterdir():
        (folder / file.name).symlink_to(file)
    loaded = load_model(folder / "synthesizer.onnx")
    assert [tensor.raw_data for tensor in loaded.graph.initializer] == [
        tensor.raw_data for tensor in onnx.load(graph).graph.initializer
    ]
    (blobs / "synthesizer.onnx.data").write_bytes(b"short")
    with pytest.raises(graph_split.UnknownGraphError, match="is shorter than it says"):
        load_model(folder / "synthesizer.onnx")
    outside = onnx.load(blobs / "synthesizer.onnx", load_external_data=False)
    for tensor in outside.graph.initializer:
        for item in tensor.external_data:
            if item.key == "location":
                item.value = "../secret"
    onnx.save(outside, folder / "other.onnx")
    with pytest.raises(graph_split.UnknownGraphError, match=r"outside its folder \('\.\./secret'\)"):
        load_model(folder / "other.onnx")


def test_a_graph_of_another_kind_is_refused_with_its_inputs(graph: Path, tmp_path: Path):
    foreign = tmp_path / "synthesizer.onnx"
    onnx.save(_renamed(onnx.load(graph), {"style_vec": "en_bert"}), foreign)
    with pytest.raises(
        VoiceNotAvailableError, match="it lacks style_vec and takes en_bert, which no JP-Extra graph does"
    ):
        open_synthesizer(foreign, tmp_path / "cache", margin=MARGIN)


def test_a_graph_that_is_built_otherwise_is_run_as_it_is(graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    model = onnx.load(graph)
    for node in model.graph.node:
        if node.op_type == "RandomNormalLike":
            node.attribute.append(onnx.helper.make_attribute("scale", 0.5))
    odd = tmp_path / "synthesizer.onnx"
    onnx.save(model, odd)
    with caplog.at_level(logging.WARNING):
        assert isinstance(open_synthesizer(odd, tmp_path / "cache", margin=MARGIN), PublishedSynthesizer)
    assert "not reproducible: noise of another than the standard normal distribution" in caplog.text


def test_a_graph_whose_prior_noise_is_scaled_for_symbols_is_run_as_it_is(
    graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """Noise that is drawn and scaled before the durations spread it over frames."""
    model = onnx.load(graph)
    marks = graph_split.landmarks(model)
    producers = {name: node for node in model.graph.node for name in node.output}
    spread = producers[producers[marks.prior_like].input[0]].input[1]  # mean, transposed, before the alignment
    mean = producers[spread].input[0]
    nodes = []
    for node in model.graph.node:
        if spread in node.output:
            nodes.append(onnx.helper.make_node("RandomNormalLike", [mean], ["drawn"]))
            nodes.append(onnx.helper.make_node("Mul", ["drawn", "noise_scale"], ["scaled"]))
            nodes.append(onnx.helper.make_node("Add", [mean, "scaled"], ["noisy"]))
            node.input[0] = "noisy"
        if marks.prior_noise in node.output:
            nodes.append(onnx.helper.make_node("Sub", [marks.prior_like] * 2, [marks.prior_noise]))
        else:
            nodes.append(node)
    _published_as_it_is(_with_nodes(model, nodes), tmp_path, caplog, "is drawn for symbols")


def test_prior_noise_that_is_scaled_at_once_is_the_same_noise(graph: Path, tmp_path: Path):
    model = onnx.load(graph)
    marks = graph_split.landmarks(model)
    (use,) = (node for node in model.graph.node if marks.prior_noise in node.input)
    (scaling,) = (node for node in model.graph.node if use.output[0] in node.input and "noise_scale" in node.input)
    scale, *deviations = "noise_scale", *(name for name in use.input if name != marks.prior_noise)
    use.input[:] = [marks.prior_noise, scale]
    scaling.input[:] = [use.output[0], *deviations]
    other = tmp_path / "synthesizer.onnx"
    onnx.save(model, other)
    case = Case("s11_accent__seed")
    prepared = open_synthesizer(other, tmp_path / "cache", margin=MARGIN)
    assert isinstance(prepared, PartedSynthesizer)
    output = prepared.synthesize(case.input, case.controls, case.noise)
    assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


def test_noise_without_the_shape_of_a_prior_is_left_where_it_is(
    graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    model = onnx.load(graph)
    marks = graph_split.landmarks(model)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1], np.int64), "all"))
    nodes = []
    for node in model.graph.node:
        if marks.prior_noise in node.output:
            nodes.append(onnx.helper.make_node("Reshape", [marks.prior_like, "all"], ["flat"]))
            nodes.append(onnx.helper.make_node("RandomNormalLike", ["flat"], ["flat noise"]))
            nodes.append(onnx.helper.make_node("Shape", [marks.prior_like], ["shape"]))
            nodes.append(onnx.helper.make_node("Reshape", ["flat noise", "shape"], [marks.prior_noise]))
        else:
            nodes.append(node)
    _published_as_it_is(_with_nodes(model, nodes), tmp_path, caplog, "has 1 dimensions; 3 are expected")


def test_a_graph_that_does_not_tell_the_size_of_its_features_speaks(
    graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    model = onnx.load(graph)
    next(item for item in model.graph.input if item.name == "bert").type.tensor_type.ClearField("shape")
    _published_as_it_is(model, tmp_path, caplog, "failed")


@pytest.mark.parametrize("error", [KeyError("x"), IndexError("x"), TypeError("x"), ValueError("x")])
def test_whatever_surgery_stumbles_over_leaves_the_original(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
):
    def stumbling(*_: object) -> None:
        raise error

    monkeypatch.setattr(graph_split, "landmarks", stumbling)
    assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PublishedSynthesizer)
    assert f"it is built in an unknown way ({error!r})" in caplog.text


def test_parts_of_other_making_beside_a_graph_are_told(graph: Path, tmp_path: Path):
    for name in (graph.name, *PARTS):
        shutil.copy(graph, tmp_path / name)
    with pytest.raises(VoiceNotAvailableError, match=r"decoder\.onnx in .* are not of Asagoe's making"):
        open_synthesizer(tmp_path / graph.name, tmp_path / "cache", margin=MARGIN)


def _with_nodes(model: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    copies = [onnx.NodeProto() for _ in nodes]
    for copy, node in zip(copies, nodes):
        copy.CopyFrom(node)
    del model.graph.node[:]
    model.graph.node.extend(copies)
    return model


def _published_as_it_is(model: onnx.ModelProto, folder: Path, caplog: pytest.LogCaptureFixture, reason: str) -> None:
    """The graph is not prepared, for that reason, and speaks all the same."""
    odd = folder / "synthesizer.onnx"
    onnx.save(model, odd)
    synthesizer = open_synthesizer(odd, folder / "cache", margin=MARGIN)
    assert isinstance(synthesizer, PublishedSynthesizer)
    assert "its speech is not reproducible: " in caplog.text
    assert reason in caplog.text
    case = Case("s01_short__n0")
    output = synthesizer.synthesize(case.input, case.controls, GivenNoise())
    assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


def _renamed(model: onnx.ModelProto, names: dict[str, str], *, inputs: bool = True) -> onnx.ModelProto:
    if inputs:
        for item in model.graph.input:
            item.name = names.get(item.name, item.name)
    for node in model.graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = names.get(name, name)
    return model


def test_what_was_prepared_for_releases_that_nobody_uses_any_more_goes(graph: Path, cache: Path):
    open_synthesizer(graph, cache, margin=MARGIN)
    (folder,) = prepared_folders(cache)
    month = 31 * 86400
    ages = {"1.30.0-1": month, "1.31.0-1": 86400, "1.29.0-rows1-ab": month}
    others = {folder.parent / f"{folder.name.partition('-')[0]}-onnxruntime{name}": age for name, age in ages.items()}
    others[folder.parent / f"{'0' * 24}-onnxruntime1.30.0-1"] = month  # of another voice
    for other, age in others.items():
        other.mkdir()
        note = other / ("refused.txt" if "rows" in other.name else "prepared.json")
        note.write_text("{}")
        os.utime(note, (time.time() - age, time.time() - age))
    os.utime(folder / "prepared.json", (0, 0))  # what is in use stays, however old it is
    open_synthesizer(graph, cache, margin=MARGIN)
    left = {other.name.partition("onnxruntime")[2] for other in others if other.exists()}
    assert left == {"1.31.0-1", "1.30.0-1"}
    assert (folder.parent / f"{'0' * 24}-onnxruntime1.30.0-1").exists()
    assert time.time() - (folder / "prepared.json").stat().st_mtime < 60
