"""The published tree: which folders a voice needs on a device, and which of their files."""

from __future__ import annotations

import re
from collections.abc import Sequence

TOKENIZER = "bert/tokenizer"
ONNX_BERT = "onnx/bert/q8"
ONNX_SPEAKERS = "onnx/speakers"
TORCH_BERT = "pytorch/bert/fp32"
TORCH_SPEAKERS = "pytorch/speakers"

_PARTS = ("encoder.onnx", "flow.onnx", "decoder.onnx")
_SYNTHESIZERS = ("synthesizer.onnx", "synthesizer_q8.onnx")
_BERTS = ("bert_q8.onnx", "bert.onnx", "model.onnx")
_VOICE = ("config.json", "style_vectors.npy")
_LICENCES = re.compile(r"(LICEN[CS]E|NOTICE|README)(\.\w+)?", re.IGNORECASE)


def prefixes(voice: str, device: str) -> tuple[str, ...]:
    """The folders that a voice needs, those that it shares with others first."""
    if device == "cpu":
        return TOKENIZER, ONNX_BERT, f"{ONNX_SPEAKERS}/{voice}"
    return TOKENIZER, TORCH_BERT, f"{TORCH_SPEAKERS}/{voice}"


def needed(prefix: str, paths: Sequence[str]) -> Sequence[str]:
    """Of the files below a prefix those that are read; where what is needed is missing, all that could tell why.

    Of several graphs or weights only the one that is used is taken: each is some hundred megabytes.
    """
    licences = [path for path in paths if _LICENCES.fullmatch(path)]
    if prefix == TOKENIZER:
        found = [path for path in paths if path == "vocab.txt"]
    elif prefix == ONNX_BERT:
        found = _graph(paths, _BERTS)
    elif prefix == TORCH_BERT:
        found = _all(paths, ("config.json", "model.safetensors"))
    elif prefix.startswith(f"{ONNX_SPEAKERS}/"):
        graph = _graph(paths, _SYNTHESIZERS)
        parts = [file for name in _PARTS for file in _graph(paths, (name,))]
        voice = _all(paths, _VOICE)
        found = [*voice, *graph, *(parts if set(_PARTS) <= set(parts) else ())] if voice and graph else []
    elif prefix.startswith(f"{TORCH_SPEAKERS}/"):
        weights = sorted((path for path in paths if path.endswith(".safetensors")), key=_by_number)
        voice = _all(paths, _VOICE)
        found = [*voice, *weights[-1:]] if voice and weights else []
    else:
        return paths
    return [*found, *licences] if found else paths


def _all(paths: Sequence[str], names: Sequence[str]) -> list[str]:
    return list(names) if set(names) <= set(paths) else []


def _graph(paths: Sequence[str], names: Sequence[str]) -> list[str]:
    """The first graph that is there, with its weights beside it, which begin with its name."""
    for name in names:
        if name in paths:
            stem = name.removesuffix(".onnx")
            beside = [
                path
                for path in paths
                if re.fullmatch(rf"{re.escape(stem)}(\.onnx)?[._-]?(data|weights?)(\.bin)?", path)
            ]
            return [name, *beside]
    return []


def _by_number(path: str) -> list[tuple[int, str]]:
    """Sorts step numbers as numbers: training leaves ``voice_e10_s2000`` after ``voice_e9_s1800``."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path)]
