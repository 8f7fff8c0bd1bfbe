"""BERT on ONNX Runtime: ``onnx/bert/q8`` of a published tree.

A published graph with its weights inside is written once into the cache with the weights beside it: they are then
mapped, loading takes a tenth of the time, and the system may take their memory back when it is short.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.backend import Floats, Integers
from engine.voices.style_bert_vits2.graphs.cache import open_prepared, optimize
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.graphs.guard import check_graph
from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError
from engine.voices.style_bert_vits2.runtime.session import Graph, runtime

PREPARATION_REVISION = "bert1"
"""Raised whenever a graph would be prepared otherwise."""
SMALL = 50_000_000
"""Bytes below which a graph is not worth a copy."""

_FILES = ("bert_q8.onnx", "bert.onnx", "model.onnx")
_MAPPED = "bert.onnx"
_SAMPLE = np.array([1, 37, 57, 8, 105, 18, 53, 2])  # こんにちは.
_TOLERANCE = 1e-3


class OnnxBert:
    """Features of characters; one for all speakers of a ``TTS``."""

    def __init__(self, folder: Path, cache: Path) -> None:
        path = _graph_file(folder)
        check_graph(path)
        content = content_hash(path, cache)[:24]
        self._graph = _opened(path, content, cache)
        self.feature_size = self._graph.last_size(self._graph.outputs[0])
        self._size = sum(file.stat().st_size for file in folder.glob(f"{path.name}*"))
        self.fingerprint = f"bert {content} {runtime().__version__}"

    def features(self, token_ids: Integers) -> Floats:
        """See ``FeatureExtractor``."""
        return _features(self._graph, token_ids)

    def memory(self) -> int:
        """Bytes of the graph's files."""
        return self._size

    def close(self) -> None:
        """Free the session."""
        self._graph.close()


def _opened(path: Path, content: str, cache: Path) -> Graph:
    mapped: Graph | None = None
    if path.with_name(f"{path.name}.data").exists():
        mapped = _graph(path, mapped=True)
    elif path.stat().st_size > SMALL:
        mapped = open_prepared(
            path,
            content,
            cache,
            PREPARATION_REVISION,
            build=lambda work: _build(path, work),
            opened=lambda folder: _graph(folder / _MAPPED, mapped=True),
            loss="it needs more memory",
        )
    return mapped or _graph(path)


def _graph(path: Path, *, mapped: bool = False) -> Graph:
    # Packing the weights anew would copy them out of the mapped file, for a hundredth of a sentence's time.
    graph = Graph(path, packed=not mapped)
    missing = {"input_ids", "attention_mask"} - set(graph.inputs)
    if missing:
        message = f"{path} is not a graph of BERT: it lacks {', '.join(sorted(missing))}; fetch onnx/bert again"
        raise VoiceNotAvailableError(message)
    return graph


def _build(path: Path, work: Path) -> str:
    original = _graph(path)
    wanted = _features(original, _SAMPLE)
    original.close()
    optimize(path, work / _MAPPED, "ORT_ENABLE_EXTENDED", weights=f"{_MAPPED}.data")
    mapped = _graph(work / _MAPPED, mapped=True)
    error = float(np.abs(_features(mapped, _SAMPLE) - wanted).max() / np.abs(wanted).max())
    mapped.close()
    if not error <= _TOLERANCE:
        message = f"the prepared graph differs by {error:g}"
        raise UnknownGraphError(message)
    return "{}"


def _features(graph: Graph, token_ids: Integers) -> Floats:
    given = {
        "input_ids": token_ids[None],
        "attention_mask": np.ones((1, len(token_ids)), np.int64),
        "token_type_ids": np.zeros((1, len(token_ids)), np.int64),
    }
    features: Floats = graph.run(given)[graph.outputs[0]][0].astype(np.float32, copy=False)
    return features


def _graph_file(folder: Path) -> Path:
    for name in _FILES:
        if (folder / name).is_file():
            return folder / name
    others = sorted(folder.glob("*.onnx"))
    if len(others) == 1:
        return others[0]
    message = f"{folder} holds no graph of BERT ({_FILES[0]}); fetch onnx/bert/q8 again"
    raise VoiceNotAvailableError(message)
