"""How long phonemes last and how high they are, as the HTS voice that comes with the package would say them.

The file of an HTS voice holds, for each state of a phoneme's model, Gaussians of its duration and its logarithmic
fundamental frequency in the leaves of decision trees, whose questions are patterns on full-context labels ("The
HMM-based Speech Synthesis Engine hts_engine API", version 1.10). The mean of a leaf is what the voice aims at.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.text.accents import AccentPhrase
from engine.text.labels import labels_of_phrases
from engine.text.openjtalk import library

_QUESTION = re.compile(r"^QS\s+(\S+)\s+\{\s*(.*?)\s*\}$", re.MULTILINE)
_TREE = re.compile(r"^\{\*\}\[(\d+)\]\s*\n(?:\{\n(.*?)\n\}|\s*(\S+))", re.MULTILINE | re.DOTALL)
_RANGE = re.compile(r"^(DURATION_PDF|DURATION_TREE|STREAM_PDF\[LF0\]|STREAM_TREE\[LF0\]):(\d+)-(\d+)$", re.MULTILINE)
_VOICED = 0.5
"""Share of the frames of a state from which on it counts as voiced."""

_Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MoraProsody:
    """How a mora would be said.

    Attributes:
        consonant: seconds; 0 without one.
        vowel: seconds.
        pitch: natural logarithm of the fundamental frequency in Hz; 0 where the vowel has none.
    """

    consonant: float
    vowel: float
    pitch: float


def predict(phrases: Sequence[AccentPhrase]) -> list[list[MoraProsody]]:
    """The prosody of accent phrases: one list a phrase, one entry a mora.

    It is that of the embedded voice, for every voice: an orientation for who edits phrases. Threads may share it.
    """
    if not phrases:
        return []
    model = _model()
    sounds = iter([model.sound(label) for label in labels_of_phrases(phrases) if not re.search(r"-(sil|pau)\+", label)])
    predicted: list[list[MoraProsody]] = []
    for phrase in phrases:
        predicted.append([])
        for mora in phrase.moras:
            consonant = next(sounds)[0] if mora.consonant else 0.0
            vowel, pitch = next(sounds)
            predicted[-1].append(MoraProsody(consonant, vowel, pitch if mora.is_voiced else 0.0))
    return predicted


class HtsModel:
    """Durations and pitch of an HTS voice.

    Args:
        path: of its ``.htsvoice`` file.
    """

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        head, _, body = data.partition(b"[DATA]\n")
        facts = head.decode("ascii", "replace")
        parts = {name: body[int(start) : int(end) + 1] for name, start, end in _RANGE.findall(facts)}
        self._states = _number(facts, "NUM_STATES")
        self._frame = _number(facts, "FRAME_PERIOD") / _number(facts, "SAMPLING_FREQUENCY")
        windows = _number(facts, r"NUM_WINDOWS\[LF0\]")
        (self._durations,) = _gaussians(parts["DURATION_PDF"], 1, 2 * self._states)
        (self._duration_tree,) = _trees(parts["DURATION_TREE"].decode("ascii"))
        self._pitches = _gaussians(parts["STREAM_PDF[LF0]"], self._states, 2 * windows + 1)
        self._pitch_trees = _trees(parts["STREAM_TREE[LF0]"].decode("ascii"))

    def sound(self, label: str) -> tuple[float, float]:
        """Duration of a phoneme in seconds, and ln of its frequency in Hz over its voiced states; 0 without any."""
        means = self._durations[self._duration_tree(label)][: self._states]
        frames = np.maximum(np.floor(means + 0.5), 1.0)
        leaves = [pitches[tree(label)] for pitches, tree in zip(self._pitches, self._pitch_trees, strict=True)]
        voiced = [
            (float(leaf[0]), float(count)) for leaf, count in zip(leaves, frames, strict=True) if leaf[-1] > _VOICED
        ]
        weight = sum(count for _, count in voiced)
        pitch = sum(mean * count for mean, count in voiced) / weight if weight else 0.0
        return float(frames.sum()) * self._frame, pitch


_lock = threading.Lock()


def _model() -> HtsModel:
    with _lock:
        return _bundled()


@cache
def _bundled() -> HtsModel:
    return HtsModel(Path(str(library().__file__)).parent / "htsvoice" / "mei_normal.htsvoice")


def _number(facts: str, name: str) -> int:
    match = re.search(rf"^{name}:(\d+)$", facts, re.MULTILINE)
    if match is None:
        message = f"the HTS voice does not tell its {name}"
        raise ValueError(message)
    return int(match[1])


def _gaussians(data: bytes, states: int, numbers: int) -> list[_Floats]:
    """Leaves of each state's tree, shape [leaves, numbers]: means, variances; for pitch the voiced share."""
    counts = np.frombuffer(data[: 4 * states], "<u4")
    values = np.frombuffer(data[4 * states :], "<f4").reshape(-1, numbers)
    ends = np.cumsum(counts)
    return [values[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _trees(text: str) -> list[Callable[[str], int]]:
    """For each state, what finds the leaf of a label, counted from 0."""
    questions = {name: _pattern(patterns) for name, patterns in _QUESTION.findall(text)}
    return [_tree(nodes, single, questions) for _, nodes, single in _TREE.findall(text)]


def _pattern(patterns: str) -> re.Pattern[str]:
    alternatives = (re.escape(p).replace(r"\*", ".*").replace(r"\?", ".") for p in re.findall(r'"([^"]*)"', patterns))
    return re.compile("|".join(f"(?:{alternative})" for alternative in alternatives), re.DOTALL)


def _tree(nodes: str, single: str, questions: dict[str, re.Pattern[str]]) -> Callable[[str], int]:
    branches: dict[str, tuple[re.Pattern[str], str, str]] = {}
    for line in nodes.splitlines():
        node, question, no, yes = line.split()
        branches[node] = (questions[question], no, yes)

    def leaf(label: str) -> int:
        node = "0" if branches else single
        while node in branches:
            question, no, yes = branches[node]
            node = yes if question.fullmatch(label) else no
        return int(node.strip('"').rpartition("_")[2]) - 1

    return leaf
