import hashlib
import logging
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2 import graph_check, graph_split, prepare_graph
from engine.voices.style_bert_vits2.content_hash import content_hash
from engine.voices.style_bert_vits2.graph_file import load_model
from engine.voices.style_bert_vits2.onnx_synthesizer import (
    PARTS,
    PartedSynthesizer,
    PublishedSynthesizer,
    decode_in_windows,
)
from engine.voices.style_bert_vits2.prepare_graph import open_synthesizer

from .conftest import MARGIN, Case, GivenNoise


def prepared_folders(cache: Path) -> list[Path]:
    return sorted((cache / "prepared").iterdir())


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


def test_a_decoder_that_looks_further_than_it_says_does_not_pass(graph: Path, tmp_path: Path):
    assert isinstance(open_synthesizer(graph, tmp_path, margin=4), PublishedSynthesizer)


@pytest.mark.parametrize("window", [1, 5, 16, 10_000])
def test_windows_are_not_heard(graph: Path, cache: Path, window: int):
    open_synthesizer(graph, cache, margin=MARGIN)
    (folder,) = prepared_folders(cache)
    case = Case("s01_short__n0")
    output = prepare_graph._prepared(folder, window=window).synthesize(case.input, case.controls, GivenNoise())
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
    assert "is used as it is: nothing can be kept in" in caplog.text


def test_a_full_disk_leaves_the_original_and_no_litter(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_path: Path, _content: str, work: Path, _margin: int) -> None:
        (work / "half").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare_graph, "_build", full)
    assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PublishedSynthesizer)
    assert prepared_folders(tmp_path) == []


def test_a_graph_that_cannot_be_prepared_is_tried_once(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def differing(_path: Path, _content: str, work: Path, _margin: int) -> None:
        (work / "half").write_text("half")
        raise graph_split.UnknownGraphError("the prepared graph differs by 0.5")

    monkeypatch.setattr(prepare_graph, "_build", differing)
    assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PublishedSynthesizer)
    assert "is used as it is, its speech is not reproducible: the prepared graph differs by 0.5." in caplog.text
    (folder,) = prepared_folders(tmp_path)
    assert [file.name for file in folder.iterdir()] == ["refused.txt"]
    monkeypatch.setattr(prepare_graph, "_build", None)
    assert isinstance(open_synthesizer(graph, tmp_path, margin=MARGIN), PublishedSynthesizer)


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


def test_two_processes_may_prepare_at_once(graph: Path, tmp_path: Path):
    code = (
        "import sys; from pathlib import Path;"
        "from engine.voices.style_bert_vits2.prepare_graph import open_synthesizer;"
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


def test_other_exporters_names_and_scalars_are_understood(graph: Path, tmp_path: Path):
    names = {"x": "x_tst", "x_lengths": "x_tst_lengths", "tone": "tones"}
    renamed = tmp_path / "synthesizer.onnx"
    onnx.save(_renamed(onnx.load(graph), names), renamed)
    case = Case("s01_short__n0")
    for synthesizer in (
        PublishedSynthesizer(renamed, "hash"),
        open_synthesizer(renamed, tmp_path / "cache", margin=MARGIN),
    ):
        output = synthesizer.synthesize(case.input, case.controls, GivenNoise())
        assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


def test_a_graph_without_durations_still_tells_them_when_prepared(graph: Path, tmp_path: Path):
    model = graph_split.with_outputs(onnx.load(graph), "audio")
    bare = tmp_path / "synthesizer.onnx"
    onnx.save(model, bare)
    case = Case("s01_short__n0")
    assert PublishedSynthesizer(bare, "hash").synthesize(case.input, case.controls, GivenNoise()).durations is None
    output = open_synthesizer(bare, tmp_path / "cache", margin=MARGIN).synthesize(
        case.input, case.controls, GivenNoise()
    )
    assert np.array_equal(output.durations, case.stored["durations"])


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


def _renamed(model: onnx.ModelProto, names: dict[str, str]) -> onnx.ModelProto:
    for item in model.graph.input:
        item.name = names.get(item.name, item.name)
    for node in model.graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = names.get(name, name)
    return model
