"""What a comparison with reference results drives: reading, tokens and speech of JP-Extra voices on ONNX Runtime.

A comparison calls ``load`` with the folder of a trained model; the published graph of the same voice is looked for in
``published`` beside its parent, else the model is converted first (extra ``torch``). BERT is int8 here and has no
exact results to compare.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from engine.text.openjtalk import has_mora, library
from engine.voices.style_bert_vits2.backend import Controls, NetworkInput
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.model_folder import read_config
from engine.voices.style_bert_vits2.text.normalize import normalize
from engine.voices.style_bert_vits2.text.reading import read
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer

_loaded: dict = {}
_work = tempfile.TemporaryDirectory(prefix="compare-onnx-")


class _PlainFrontEnd:
    """Open JTalk as the reference results know it, without what the text pipeline does better."""

    def features(self, text):
        return library().run_frontend(text, predict_nani=False)

    def labels(self, features):
        return library().make_label(features) if has_mora(features) else []


class Given:
    def __init__(self, durations, prior):
        self._durations, self._prior = durations, prior

    def durations(self, symbols):
        return np.zeros((2, symbols), np.float32) if self._durations is None else self._durations

    def prior(self, channels, frames):
        return np.zeros((channels, frames), np.float32) if self._prior is None else self._prior


def load(model_dir: str, bert_dir: str) -> None:
    model = Path(model_dir)
    name = json.loads((model / "config.json").read_text("utf-8")).get("model_name", model.name)
    folder = model.parent.parent / "published" / "onnx" / "speakers" / name
    if not folder.is_dir():
        from engine.voices.style_bert_vits2.conversion.convert import convert

        convert(model, Path(_work.name) / "tree")
        folder = Path(_work.name) / "tree" / "onnx" / "speakers" / model.name
    margin = read_config(folder).margin
    _loaded["synthesizer"] = open_synthesizer(folder / "synthesizer.onnx", Path(_work.name) / "cache", margin=margin)
    load_text(bert_dir)


def load_text(bert_dir: str) -> None:
    _loaded["tokenizer"] = CharacterTokenizer.load(Path(bert_dir))
    _loaded["front_end"] = _PlainFrontEnd()


def text(written: str) -> dict:
    normalized = normalize(written)
    reading = read(normalized, _loaded["front_end"])
    return {
        "normalized": normalized,
        "phones": list(reading.phonemes),
        "tones": list(reading.tones),
        "word2ph": list(reading.word2ph),
    }


def tokenize(bert_text: str) -> list[int]:
    return _loaded["tokenizer"].encode_text(bert_text)


def synth(phones, tones, languages, bert, style, speaker, noise, length, noise_w, sdp_ratio, noise_w_arr, noise_arr):
    controls = Controls(speaker, length, sdp_ratio, noise, noise_w)
    network_input = NetworkInput(phones, tones, languages, bert, style)
    output = _loaded["synthesizer"].synthesize(network_input, controls, Given(noise_w_arr, noise_arr))
    return output.samples, output.durations
