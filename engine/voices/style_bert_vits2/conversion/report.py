"""What a conversion has to tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

AUDIO_TOLERANCE = 1e-4
"""Largest difference of a sample from the original's, full scale being 1; the float32 noise floor is about 4e-6."""

COSINE = 0.995
"""Least cosine between the features of a sentence and the original's."""


@dataclass(frozen=True, slots=True)
class VoiceReport:
    """How near the graphs of a voice are to the network in PyTorch.

    Attributes:
        weights: name of the file that was converted.
        audio_error: largest difference of a sample, all noise being equal.
        durations_equal: whether all symbols have the same frames.
        audio_seconds: length of what was compared.
    """

    weights: str
    audio_error: float
    durations_equal: bool
    audio_seconds: float

    @property
    def good(self) -> bool:
        """Whether the graphs may be used."""
        return self.durations_equal and self.audio_error <= AUDIO_TOLERANCE

    def __str__(self) -> str:
        durations = "equal" if self.durations_equal else "different"
        return (
            f"{self.weights}: durations {durations}, audio within {self.audio_error:.1e} of the original "
            f"(limit {AUDIO_TOLERANCE:.0e}) over {self.audio_seconds:.1f} s"
        )


@dataclass(frozen=True, slots=True)
class BertReport:
    """How near the quantised BERT is to the float32 one.

    Attributes:
        precision: how it is quantised.
        cosine: least cosine of the features of a whole sentence.
        token_cosine: least cosine of the feature of one token.
        sentences: how many were compared.
    """

    precision: str
    cosine: float
    token_cosine: float
    sentences: int

    @property
    def good(self) -> bool:
        """Whether the graph may be used."""
        return self.cosine >= COSINE

    def __str__(self) -> str:
        return (
            f"BERT in {self.precision}: features of {self.sentences} sentences at a cosine of {self.cosine:.5f} or "
            f"more (limit {COSINE}), of single tokens {self.token_cosine:.5f} or more"
        )


@dataclass(frozen=True, slots=True)
class ConversionReport:
    """What was written, and how near it is to the original.

    Attributes:
        speaker: name of the voice in the tree.
        root: of the tree.
        files: path below the root, and bytes, of all that was written.
        voice: of the voice.
        bert: of the BERT, if it was converted as well.
        seconds: that it took.
    """

    speaker: str
    root: Path
    files: tuple[tuple[str, int], ...]
    voice: VoiceReport
    bert: BertReport | None
    seconds: float

    def __str__(self) -> str:
        lines = [f"{self.root}: voice {self.speaker} in {self.seconds:.0f} s", f"  {self.voice}"]
        if self.bert is not None:
            lines.append(f"  {self.bert}")
        lines += [f"  {size / 1e6:9.1f} MB  {path}" for path, size in self.files]
        return "\n".join(lines)


def file_sizes(folder: Path, root: Path) -> list[tuple[str, int]]:
    """Paths below the root, and bytes, of the files of a folder, by name."""
    return [(path.relative_to(root).as_posix(), path.stat().st_size) for path in sorted(folder.iterdir())]
