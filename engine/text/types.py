"""The words in which the text room speaks to the others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dropped:
    """Characters of the input that cannot be read aloud.

    Attributes:
        text: the characters, as they stood.
        reason: why they are silent, in a few words.
    """

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of normalised text that is synthesized in one piece.

    Attributes:
        text: never empty, at least one character of it is read.
        pause: seconds of silence that follow it before the next one.
    """

    text: str
    pause: float


@dataclass(frozen=True, slots=True)
class Script:
    """What a text became.

    Attributes:
        normalized: the whole text as it will be read.
        sentences: in order; empty when there is nothing to say.
        dropped: what could not be read.
    """

    normalized: str
    sentences: tuple[Sentence, ...]
    dropped: tuple[Dropped, ...]
