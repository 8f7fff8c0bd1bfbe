"""The ONNX path against what the reference implementation makes of the same weights."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.voices.style_bert_vits2.graphs.check import Silence
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.model_folder import StyleVectors
from engine.voices.style_bert_vits2.pitch import change_pitch
from engine.voices.style_bert_vits2.runtime.bert import OnnxBert
from engine.voices.style_bert_vits2.runtime.synthesizer import PartedSynthesizer, PublishedSynthesizer
from engine.voices.style_bert_vits2.text.model_input import spread_features

from .conftest import CASES, DATA, MARGIN, STYLES, Case

TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def prepared(graph: Path, cache: Path) -> PartedSynthesizer:
    synthesizer = open_synthesizer(graph, cache, margin=MARGIN)
    assert isinstance(synthesizer, PartedSynthesizer)
    return synthesizer


@pytest.mark.parametrize("name", CASES)
def test_audio_and_durations_are_those_of_the_reference(name: str, prepared: PartedSynthesizer):
    case = Case(name)
    output = prepared.synthesize(case.input, case.controls, case.noise)
    assert np.array_equal(output.durations, case.stored["durations"])
    assert len(output.samples) == case.stored["audio_length"] == 512 * output.durations.sum()
    error = np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max()
    assert error < TOLERANCE


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("__n0")])
def test_the_published_graph_itself_says_the_same(name: str, graph: Path):
    case = Case(name)
    output = PublishedSynthesizer(graph, "hash").synthesize(case.input, case.controls, Silence())
    assert np.array_equal(output.durations, case.stored["durations"])
    assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < TOLERANCE


@pytest.mark.parametrize("name", ["s11_accent__pitch12", "s11_accent__all"])
def test_pitch_and_intonation_are_those_of_the_reference(name: str, prepared: PartedSynthesizer):
    pytest.importorskip("pyworld")
    case = Case(name)
    samples = prepared.synthesize(case.input, case.controls, case.noise).samples
    semitones = 12 * np.log2(case.settings["pitch"])
    moved = change_pitch(samples, 44100, semitones=semitones, intonation=case.settings["intonation"])
    assert len(moved) == case.stored["audio_world_length"]
    assert np.abs(moved[::16] - case.stored["audio_world_every_16th"]).max() < TOLERANCE


@pytest.mark.parametrize("name", CASES)
def test_style_vectors_are_those_of_the_reference(name: str, graph: Path):
    case = Case(name)
    vector = StyleVectors(graph.parent, STYLES).vector(case.settings["style"], case.settings["style_weight"])
    assert np.abs(vector - case.stored["style_vec"]).max() < 1e-6


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("__n0")])
def test_features_of_the_int8_bert_point_the_way_of_the_reference(name: str, tree: Path, cache: Path):
    sentence = json.loads((DATA / "sentences.json").read_text("utf-8"))[name.removesuffix("__n0")]
    features = OnnxBert(tree / "onnx" / "bert" / "q8", cache).features(np.array(sentence["bert_input_ids"]))
    wanted = np.load(DATA / f"{name}.npz")["bert_char"]
    assert features.shape == wanted.shape
    cosine = (features * wanted).sum(1) / np.linalg.norm(features, axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosine.min() > 0.995


def test_each_symbol_has_the_feature_of_its_token():
    features = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    spread = spread_features(features, [1, 0, 2])
    assert spread.tolist() == [[1, 5, 5], [2, 6, 6]]
    mixed = spread_features(features, [1, 1, 1], assist=np.array([[0, 10], [10, 0]], np.float32))
    assert np.allclose(mixed, 0.3 * features.T + 0.7 * 5)
