import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.runtime import bert as onnx_bert
from engine.voices.style_bert_vits2.runtime.bert import OnnxBert

from .conftest import DATA

TOKENS = np.array(json.loads((DATA / "sentences.json").read_text("utf-8"))["s01_short"]["bert_input_ids"])


@pytest.fixture
def folder(tree: Path) -> Path:
    return tree / "onnx" / "bert" / "q8"


def test_a_large_graph_is_prepared_once_and_says_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    plain = OnnxBert(folder, tmp_path)
    assert not (tmp_path / "prepared").exists()
    monkeypatch.setattr(onnx_bert, "SMALL", 1000)
    mapped = OnnxBert(folder, tmp_path)
    (prepared,) = (tmp_path / "prepared").iterdir()
    assert sorted(file.name for file in prepared.iterdir()) == ["bert.onnx", "bert.onnx.data", "prepared.json"]
    assert np.abs(mapped.features(TOKENS) - plain.features(TOKENS)).max() < 1e-3
    assert mapped.fingerprint == plain.fingerprint
    monkeypatch.setattr(onnx_bert, "_build", None)  # would fail if it were called
    assert np.array_equal(OnnxBert(folder, tmp_path).features(TOKENS), mapped.features(TOKENS))


def test_a_graph_that_cannot_be_prepared_is_used_as_it_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(onnx_bert, "SMALL", 1000)
    monkeypatch.setattr(onnx_bert, "_TOLERANCE", -1.0)
    assert OnnxBert(folder, tmp_path).features(TOKENS).shape == (len(TOKENS), 64)
    assert "is used as it is, it needs more memory: the prepared graph differs by" in caplog.text


def test_weights_beside_the_graph_are_used_in_place(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onnx_bert, "SMALL", 1000)
    model = onnx.load(folder / "bert_q8.onnx")
    other = tmp_path / "q8"
    other.mkdir()
    onnx.save(model, other / "bert_q8.onnx", save_as_external_data=True, location="bert_q8.onnx.data")
    bert = OnnxBert(other, tmp_path / "cache")
    assert not (tmp_path / "cache" / "prepared").exists()
    assert np.abs(bert.features(TOKENS) - OnnxBert(folder, tmp_path / "cache").features(TOKENS)).max() < 1e-3
    assert bert.memory() > 1_000_000


def test_a_graph_of_another_kind_is_refused(graph: Path, tmp_path: Path):
    (tmp_path / "bert_q8.onnx").write_bytes(graph.read_bytes())
    with pytest.raises(VoiceNotAvailableError, match="not a graph of BERT: it lacks attention_mask, input_ids; fetch"):
        OnnxBert(tmp_path, tmp_path / "cache")
