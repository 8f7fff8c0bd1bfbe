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
from engine.voices.style_bert_vits2.onnx_synthesizer import PreparedSynthesizer, PublishedSynthesizer
from engine.voices.style_bert_vits2.prepare_graph import open_synthesizer

from .conftest import Case, GivenNoise


def prepared_folders(cache: Path) -> list[Path]:
    return sorted((cache / "prepared").iterdir())


def test_the_second_time_nothing_is_prepared(graph: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    open_synthesizer(graph, cache)
    monkeypatch.setattr(prepare_graph, "_build", None)  # would fail if it were called
    assert isinstance(open_synthesizer(graph, cache), PreparedSynthesizer)


def test_equal_noise_makes_equal_audio_and_other_noise_other(graph: Path, cache: Path):
    case = Case("s11_accent__seed")
    synthesizer = open_synthesizer(graph, cache)
    first, again = (synthesizer.synthesize(case.input, case.controls, case.noise).samples for _ in range(2))
    assert first.tobytes() == again.tobytes()
    prior = case.stored["noise_arr"][:, ::-1]
    other = synthesizer.synthesize(case.input, case.controls, GivenNoise(case.stored["noise_w_arr"], prior)).samples
    assert np.abs(other - first).max() > 0.01


def test_what_is_prepared_leaves_no_traces_of_the_work(graph: Path, cache: Path):
    open_synthesizer(graph, cache)
    (folder,) = prepared_folders(cache)
    assert sorted(file.name for file in folder.iterdir()) == [
        "audio.onnx",
        "audio.onnx.data",
        "prepared.json",
        "text.onnx",
        "text.onnx.data",
    ]


def test_a_cache_that_cannot_be_written_leaves_the_original(
    graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("")
    synthesizer = open_synthesizer(graph, tmp_path / "file")
    assert isinstance(synthesizer, PublishedSynthesizer)
    assert "is used as it is: nothing can be kept in" in caplog.text


def test_a_full_disk_leaves_the_original_and_no_litter(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_path: Path, _content: str, work: Path) -> None:
        (work / "half").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepare_graph, "_build", full)
    assert isinstance(open_synthesizer(graph, tmp_path), PublishedSynthesizer)
    assert prepared_folders(tmp_path) == []


def test_a_graph_that_cannot_be_prepared_is_tried_once(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def differing(_path: Path, _content: str, work: Path) -> None:
        (work / "half").write_text("half")
        raise graph_split.UnknownGraphError("the prepared graph differs by 0.5")

    monkeypatch.setattr(prepare_graph, "_build", differing)
    assert isinstance(open_synthesizer(graph, tmp_path), PublishedSynthesizer)
    assert "is used as it is, its speech is not reproducible: the prepared graph differs by 0.5." in caplog.text
    (folder,) = prepared_folders(tmp_path)
    assert [file.name for file in folder.iterdir()] == ["refused.txt"]
    monkeypatch.setattr(prepare_graph, "_build", None)
    assert isinstance(open_synthesizer(graph, tmp_path), PublishedSynthesizer)


def test_what_says_something_else_does_not_pass(graph: Path, cache: Path, tmp_path: Path):
    model = onnx.load(graph)
    names = {item.name: item.name for item in model.graph.input}
    wanted = graph_check.expected(model, graph_split.landmarks(model), names, tmp_path / "original.onnx")
    assert wanted.channels == 32
    prepared = open_synthesizer(graph, cache)
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
    open_synthesizer(graph, cache)
    shutil.copytree(cache, tmp_path / "cache")
    (folder,) = prepared_folders(tmp_path / "cache")
    (folder / "audio.onnx").write_bytes(b"damaged")
    assert isinstance(open_synthesizer(graph, tmp_path / "cache"), PreparedSynthesizer)
    assert "is damaged" in caplog.text
    assert (folder / "audio.onnx").stat().st_size > 100_000


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
        "print(open_synthesizer(Path(sys.argv[1]), Path(sys.argv[2])).reproducible)"
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
        open_synthesizer(graph, tmp_path / "cache")


def test_a_truncated_graph_is_told_in_a_sentence(graph: Path, tmp_path: Path):
    cut = tmp_path / "synthesizer.onnx"
    cut.write_bytes(graph.read_bytes()[:3_000_000])
    with pytest.raises(VoiceNotAvailableError, match=r"synthesizer\.onnx is not a usable ONNX graph .*; fetch"):
        open_synthesizer(cut, tmp_path / "cache")


def test_other_exporters_names_and_scalars_are_understood(graph: Path, tmp_path: Path):
    names = {"x": "x_tst", "x_lengths": "x_tst_lengths", "tone": "tones"}
    renamed = tmp_path / "synthesizer.onnx"
    onnx.save(_renamed(onnx.load(graph), names), renamed)
    case = Case("s01_short__n0")
    for synthesizer in (PublishedSynthesizer(renamed, "hash"), open_synthesizer(renamed, tmp_path / "cache")):
        output = synthesizer.synthesize(case.input, case.controls, GivenNoise())
        assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


def test_a_graph_without_durations_still_tells_them_when_prepared(graph: Path, tmp_path: Path):
    model = graph_split.with_outputs(onnx.load(graph), "audio")
    bare = tmp_path / "synthesizer.onnx"
    onnx.save(model, bare)
    case = Case("s01_short__n0")
    assert PublishedSynthesizer(bare, "hash").synthesize(case.input, case.controls, GivenNoise()).durations is None
    output = open_synthesizer(bare, tmp_path / "cache").synthesize(case.input, case.controls, GivenNoise())
    assert np.array_equal(output.durations, case.stored["durations"])


def test_a_graph_of_another_kind_is_refused_with_its_inputs(graph: Path, tmp_path: Path):
    foreign = tmp_path / "synthesizer.onnx"
    onnx.save(_renamed(onnx.load(graph), {"style_vec": "en_bert"}), foreign)
    with pytest.raises(
        VoiceNotAvailableError, match="it lacks style_vec and takes en_bert, which no JP-Extra graph does"
    ):
        open_synthesizer(foreign, tmp_path / "cache")


def test_a_graph_that_is_built_otherwise_is_run_as_it_is(graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    model = onnx.load(graph)
    for node in model.graph.node:
        if node.op_type == "RandomNormalLike":
            node.attribute.append(onnx.helper.make_attribute("scale", 0.5))
    odd = tmp_path / "synthesizer.onnx"
    onnx.save(model, odd)
    with caplog.at_level(logging.WARNING):
        assert isinstance(open_synthesizer(odd, tmp_path / "cache"), PublishedSynthesizer)
    assert "not reproducible: noise of another than the standard normal distribution" in caplog.text


def _renamed(model: onnx.ModelProto, names: dict[str, str]) -> onnx.ModelProto:
    for item in model.graph.input:
        item.name = names.get(item.name, item.name)
    for node in model.graph.node:
        for at, name in enumerate(node.input):
            node.input[at] = names.get(name, name)
    return model
