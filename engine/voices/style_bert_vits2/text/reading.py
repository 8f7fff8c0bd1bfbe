"""From normalised text to phonemes, tones, and the characters that BERT sees."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from engine.text.accents import AccentPhrase
from engine.voices.style_bert_vits2.text.phonemes import PAD, PUNCTUATION, UNREADABLE, kana_phonemes
from engine.voices.style_bert_vits2.text.prosody import HIGH, LOW, align, label_tones

if TYPE_CHECKING:
    from engine.text.openjtalk import Features

_SILENT = PUNCTUATION | {PAD}
# Open JTalk writes everything full-width; NFKC brings back all marks but these.
_SURFACE_MARKS = str.maketrans({"’": "'", "‘": "'", "”": "'", "“": "'", "−": "-", "、": ",", "。": "."})
_DIGITS = str.maketrans("0123456789", "零一二三四五六七八九")
_READ_POINT = {".": "点"}


class FrontEnd(Protocol):
    """What is needed of Open JTalk."""

    def features(self, text: str) -> Features:
        """One entry a word."""

    def labels(self, features: Features) -> list[str]:
        """HTS full-context labels."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a sentence is read.

    Attributes:
        phonemes: padding at both ends, punctuation among them.
        tones: 0 low or 1 high, one a phoneme.
        characters: what BERT sees, one token each.
        word2ph: how many phonemes belong to each token, with the padding at both ends: len(characters) + 2 numbers
            whose sum is len(phonemes).
    """

    phonemes: tuple[str, ...]
    tones: tuple[int, ...]
    characters: tuple[str, ...]
    word2ph: tuple[int, ...]

    @property
    def bert_text(self) -> str:
        """The characters in one string."""
        return "".join(self.characters)

    @property
    def has_speech(self) -> bool:
        """Whether anything but punctuation is read."""
        return any(phoneme not in _SILENT for phoneme in self.phonemes)


def read(text: str, front_end: FrontEnd) -> Reading:
    """Read normalised text.

    Any text has a reading; what the dictionary cannot read is a short break for each of its characters.
    """
    features = front_end.features(text) if text else []
    phonemes, characters, word2ph = [PAD], list[str](), [1]
    for feature in features:
        surface = _surface(feature["string"])
        if not surface:
            continue
        spoken = kana_phonemes(feature["pron"].replace("’", ""), before=phonemes[-1])
        if spoken and surface in _READ_POINT:
            surface = _READ_POINT[surface]
        elif not spoken:
            spoken = [mark if mark in PUNCTUATION else UNREADABLE for mark in surface]
        phonemes += spoken
        characters += surface
        word2ph += _spread(len(spoken), len(surface))
    phonemes.append(PAD)
    word2ph.append(1)
    tones = align(phonemes, label_tones(front_end.labels(features)) if features else [], _SILENT)
    return Reading(tuple(phonemes), tuple(tones), tuple(characters), tuple(word2ph))


def read_phrases(phrases: Sequence[AccentPhrase], words: Reading | None = None) -> Reading:
    """The reading of accent phrases.

    Args:
        phrases: of one sentence.
        words: the reading of the words that they came from, with the same moras and pauses: only its tones are
            replaced. Without it, BERT sees the katakana.
    """
    toned = [
        (phoneme, HIGH if phrase.is_high(index) else LOW)
        for phrase in phrases
        for index, mora in enumerate(phrase.moras)
        for phoneme in kana_phonemes(mora.text)
    ]
    if words is not None:
        words = _asking(words, phrases[-1].is_interrogative)
        return replace(words, tones=tuple(align(list(words.phonemes), toned, _SILENT)))
    phonemes, characters, word2ph = [PAD], list[str](), [1]
    for number, phrase in enumerate(phrases, start=1):
        for mora in phrase.moras:
            spoken = kana_phonemes(mora.text)
            phonemes += spoken
            characters += mora.text
            word2ph += _spread(len(spoken), len(mora.text))
        mark = "?" if phrase.is_interrogative else "." if number == len(phrases) else ","
        if phrase.pause is not None or number == len(phrases):
            phonemes.append(mark)
            characters.append(mark)
            word2ph.append(1)
    phonemes.append(PAD)
    word2ph.append(1)
    tones = align(phonemes, toned, _SILENT)
    return Reading(tuple(phonemes), tuple(tones), tuple(characters), tuple(word2ph))


def _asking(words: Reading, asks: bool) -> Reading:
    """The words with or without a question mark at their end."""
    end = words.phonemes[-2] if len(words.phonemes) > 2 else ""
    if asks == (end == "?"):
        return words
    mark = "?" if asks else "."
    if end not in PUNCTUATION:
        return Reading(
            (*words.phonemes[:-1], mark, PAD),
            (*words.tones[:-1], LOW, LOW),
            (*words.characters, mark),
            (*words.word2ph[:-1], 1, 1),
        )
    return replace(words, phonemes=(*words.phonemes[:-2], mark, PAD), characters=(*words.characters[:-1], mark))


def _surface(written: str) -> str:
    folded = "".join(unicodedata.normalize("NFKC", written).split())
    return folded.translate(_SURFACE_MARKS).translate(_DIGITS)


def _spread(phonemes: int, characters: int) -> list[int]:
    """Share phonemes out evenly; the first characters take what is left over."""
    each, more = divmod(phonemes, characters)
    return [each + (at < more) for at in range(characters)]
