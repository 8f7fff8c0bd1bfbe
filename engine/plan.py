"""What the engine's callers hold in their hands between a text and its sound."""

from __future__ import annotations

from dataclasses import dataclass

from engine.audio import Audio
from engine.options import SpeechOptions
from engine.text import Dropped, Sentence


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence with everything that decides how it sounds.

    Attributes:
        sentence: what is spoken.
        options: complete: the request's over the speaker's defaults.
        key: equal for equal sound; hexadecimal, fit for a file name.
        last: whether the text ends with it.
    """

    sentence: Sentence
    options: SpeechOptions
    key: str
    last: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How a text will be spoken.

    Attributes:
        segments: in order, never empty.
        normalized: the text as it will be read.
        dropped: what of it cannot be read.
    """

    segments: tuple[Segment, ...]
    normalized: str
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A segment's sound.

    Attributes:
        audio: trimmed and at the even loudness.
        pause: seconds of silence before the next segment.
    """

    audio: Audio
    pause: float
