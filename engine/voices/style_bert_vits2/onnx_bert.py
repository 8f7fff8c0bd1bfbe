"""BERT on ONNX Runtime: ``onnx/bert/q8`` of a published tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.backend import Floats, Integers
from engine.voices.style_bert_vits2.content_hash import content_hash
from engine.voices.style_bert_vits2.onnx_session import Graph, runtime

_FILES = ("bert_q8.onnx", "bert.onnx", "model.onnx")


class OnnxBert:
    """Features of characters; one for all speakers of a ``TTS``."""

    def __init__(self, folder: Path, cache: Path) -> None:
        path = _graph_file(folder)
        self._graph = Graph(path)
        missing = {"input_ids", "attention_mask"} - set(self._graph.inputs)
        if missing:
            message = f"{path} is not a graph of BERT: it lacks {', '.join(sorted(missing))}; fetch onnx/bert again"
            raise VoiceNotAvailableError(message)
        self.feature_size = self._graph.last_size(self._graph.outputs[0])
        self._size = sum(file.stat().st_size for file in folder.glob(f"{path.name}*"))
        self.fingerprint = f"bert {content_hash(path, cache)[:24]} {runtime().__version__}"

    def features(self, token_ids: Integers) -> Floats:
        """See ``FeatureExtractor``."""
        given = {
            "input_ids": token_ids[None],
            "attention_mask": np.ones((1, len(token_ids)), np.int64),
            "token_type_ids": np.zeros((1, len(token_ids)), np.int64),
        }
        features: Floats = self._graph.run(given)[self._graph.outputs[0]][0].astype(np.float32, copy=False)
        return features

    def memory(self) -> int:
        """Bytes of the graph's files."""
        return self._size

    def close(self) -> None:
        """Free the session."""
        self._graph.close()


def _graph_file(folder: Path) -> Path:
    for name in _FILES:
        if (folder / name).is_file():
            return folder / name
    others = sorted(folder.glob("*.onnx"))
    if len(others) == 1:
        return others[0]
    message = f"{folder} holds no graph of BERT ({_FILES[0]}); fetch onnx/bert/q8 again"
    raise VoiceNotAvailableError(message)
