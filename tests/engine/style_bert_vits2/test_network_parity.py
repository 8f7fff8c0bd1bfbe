"""The network in PyTorch against what the reference implementation makes of the same weights."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from engine.voices.style_bert_vits2.pytorch.bert import TorchBert, read_bert
from engine.voices.style_bert_vits2.pytorch.voice import TorchSynthesizer

from .conftest import CASES, DATA, Case, torch_synthesizer

QUIET = [name for name in CASES if name.endswith("__n0")]


@pytest.fixture(scope="module")
def synthesizer(trained_voice: Path) -> TorchSynthesizer:
    return torch_synthesizer(trained_voice)


@pytest.fixture(scope="module")
def bert(trained_bert: Path) -> TorchBert:
    return TorchBert(read_bert(trained_bert))


@pytest.mark.parametrize("name", CASES)
def test_audio_and_durations_are_those_of_the_reference(name: str, synthesizer: TorchSynthesizer):
    case = Case(name)
    output = synthesizer.synthesize(case.input, case.controls, case.noise)
    assert np.array_equal(output.durations, case.stored["durations"])
    assert len(output.samples) == case.stored["audio_length"] == 512 * output.durations.sum()
    assert np.abs(output.samples[::16] - case.stored["audio_every_16th"]).max() < 1e-4


@pytest.mark.parametrize("name", QUIET)
def test_features_are_those_of_the_reference(name: str, bert: TorchBert):
    ids = json.loads((DATA / "sentences.json").read_text("utf-8"))[name.split("__")[0]]["bert_input_ids"]
    features = bert.features(np.array(ids))
    assert features.dtype == np.float32
    assert np.abs(features - np.load(DATA / f"{name}.npz")["bert_char"]).max() < 2e-4


def test_features_of_a_text_beyond_the_512_positions_of_training(bert: TorchBert):
    assert bert.features(np.arange(700) % 3000 + 5).shape == (700, 64)
