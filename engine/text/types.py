"""The words in which the text room speaks to the others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.text.accents import AccentPhrase


class Kind(StrEnum):
    """What a stretch of text is."""

    TEXT = "text"
    """Kana and kanji that the front end reads as they stand."""
    NUMBER = "number"
    DIGITS = "digits"
    """Read digit by digit, or part by part: telephone numbers, addresses, versions."""
    TIME = "time"
    DATE = "date"
    QUANTITY = "quantity"
    MONEY = "money"
    WORD = "word"
    """Latin letters, read as a word or spelled."""
    READING = "reading"
    """A word whose reading was given: in the text, or in the user's dictionary."""
    WEB = "web"
    SIGN = "sign"
    """A symbol that has a name or a meaning that is spoken."""
    MARK = "mark"
    """Punctuation and brackets: heard as a pause, or as nothing."""
    SPACE = "space"
    SILENT = "silent"
    """Emoji, ornaments and invisible formatting: silent by design, and no loss."""
    DROPPED = "dropped"
    """Has no reading; reported in ``Script.dropped``."""


@dataclass(frozen=True, slots=True)
class Token:
    """A stretch of the text and what became of it.

    Attributes:
        kind: what it is.
        text: as it stood, after folding of compatibility forms; never empty.
        spoken: what stands for it in the normalised text; may be empty.
        rule: the name of the rule that decided.
    """

    kind: Kind
    text: str
    spoken: str
    rule: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Characters of the input that cannot be read aloud.

    Attributes:
        text: the characters, after folding of compatibility forms.
        reason: why they are silent, in a few words.
    """

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of normalised text that is synthesized in one piece.

    Attributes:
        text: never empty, at least one character of it is read. It may hold readings in the notation
            ``{surface|reading:accent}``, which ``FrontEnd.features`` understands.
        pause: seconds of silence that follow it before the next one.
        phrases: how it is read and accented, where somebody decided that; empty leaves it to the text.
    """

    text: str
    pause: float
    phrases: tuple[AccentPhrase, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """What a text became.

    Attributes:
        normalized: the whole text as it will be read.
        sentences: in order; empty when there is nothing to say.
        dropped: what could not be read.
        tokens: every character of the (folded) text is in exactly one of them.
    """

    normalized: str
    sentences: tuple[Sentence, ...]
    dropped: tuple[Dropped, ...]
    tokens: tuple[Token, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that changed something, each once, in the order in which they first did."""
        return tuple(dict.fromkeys(t.rule for t in self.tokens if t.spoken != t.text))
