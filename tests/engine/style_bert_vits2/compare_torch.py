"""What a comparison with reference results drives: reading, tokens, BERT and speech of JP-Extra voices in PyTorch.

``load`` gets the folders of a trained model and of its BERT, which are computed in float32 on the processor.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import torch

from engine.voices.style_bert_vits2.backend import Controls, NetworkInput
from engine.voices.style_bert_vits2.pytorch.bert import TorchBert, read_bert
from engine.voices.style_bert_vits2.pytorch.model import read_model
from engine.voices.style_bert_vits2.pytorch.voice import TorchSynthesizer
from tests.engine.style_bert_vits2 import compare_onnx

_loaded: dict = {}

text, tokenize = compare_onnx.text, compare_onnx.tokenize


def load(model_dir: str, bert_dir: str) -> None:
    config, _, network, _ = read_model(Path(model_dir))
    _loaded["synthesizer"] = TorchSynthesizer(network, torch.device("cpu"), margin=config.margin)
    _loaded["bert"] = TorchBert(read_bert(Path(bert_dir)))
    compare_onnx.load_text(bert_dir)


def bert(ids: list[int]) -> np.ndarray:
    return _loaded["bert"].features(np.asarray(ids, np.int64))


def synth(phones, tones, languages, bert, style, speaker, noise, length, noise_w, sdp_ratio, noise_w_arr, noise_arr):
    controls = Controls(speaker, length, sdp_ratio, noise, noise_w)
    network_input = NetworkInput(phones, tones, languages, bert, style)
    given = compare_onnx.Given(noise_w_arr, noise_arr)
    output = _loaded["synthesizer"].synthesize(network_input, controls, given)
    return output.samples, output.durations
