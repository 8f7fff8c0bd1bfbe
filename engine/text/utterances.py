"""Texts become accent phrases, and accent phrases become what a voice speaks in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.text.accents import PAUSE_COMMA, AccentPhrase, reading_of
from engine.text.labels import labels_of_phrases, phrases_of_labels
from engine.text.openjtalk import FrontEnd
from engine.text.sentences import PAUSE_FORCED
from engine.text.types import Sentence

MAX_MORAS = 120
"""No piece is longer, about 17 seconds of speech: what bounds the memory that a voice takes."""

_SAME = 1e-3  # seconds by which two pauses may differ and still be the same


def phrases_of_sentences(sentences: Sequence[Sentence], front_end: FrontEnd) -> tuple[AccentPhrase, ...]:
    """Accent phrases of sentences in order; the pauses between sentences are theirs, the last has none."""
    phrases: list[AccentPhrase] = []
    for sentence in sentences:
        own = phrases_of_sentence(sentence.text, front_end)
        if own:
            phrases += [*own[:-1], replace(own[-1], pause=sentence.pause)]
    if phrases:
        phrases[-1] = replace(phrases[-1], pause=None)
    return tuple(phrases)


def phrases_of_sentence(text: str, front_end: FrontEnd) -> tuple[AccentPhrase, ...]:
    """Accent phrases of one sentence, as Open JTalk finds them; empty when nothing in it is read."""
    return phrases_of_labels(front_end.labels(front_end.features(text)))


def sentences_of_phrases(
    phrases: Sequence[AccentPhrase], written: Sequence[Sentence], front_end: FrontEnd
) -> tuple[Sentence, ...]:
    """Cut accent phrases into pieces that are spoken one after another.

    A pause of ``PAUSE_COMMA`` is left to the voice; every other one is silence of its very length between two pieces.

    Args:
        phrases: at least one.
        written: sentences of the text that the phrases came from, as far as that is known. Where their words have the
            piece's moras, the piece keeps them: a language model and labels with parts of speech need to see them.
            Otherwise its text is the katakana.
        front_end: reads what is written.
    """
    words = _Words(written, front_end)
    sentences = []
    for piece in _pieces(phrases):
        last = piece[-1]
        pause = 0.0 if last.pause is None else last.pause
        spoken = (*piece[:-1], replace(last, pause=None))
        text = words.take(spoken) or "、".join(group for group in _kana(spoken))
        sentences.append(Sentence(text, pause, spoken))
    return tuple(sentences)


def labels_of_sentence(sentence: Sentence, front_end: FrontEnd) -> list[str]:
    """Labels of a sentence, with the accents of its phrases where it has any; empty when nothing is spoken."""
    labels = front_end.labels(front_end.features(sentence.text))
    return labels_of_phrases(sentence.phrases, labels) if sentence.phrases else labels


def fits(sentence: Sentence, front_end: FrontEnd) -> bool:
    """Whether the text of a sentence has the moras and pauses of its phrases, so that only accents may differ."""
    return reading_of(phrases_of_sentence(sentence.text, front_end)) == reading_of(sentence.phrases)


def _pieces(phrases: Sequence[AccentPhrase]) -> list[tuple[AccentPhrase, ...]]:
    pieces: list[list[AccentPhrase]] = [[]]
    for phrase in phrases:
        size = sum(len(other.moras) for other in pieces[-1])
        if pieces[-1] and size + len(phrase.moras) > MAX_MORAS:
            before = pieces[-1][-1]
            pieces[-1][-1] = replace(before, pause=PAUSE_FORCED if before.pause is None else before.pause)
            pieces.append([])
        pieces[-1].append(phrase)
        if phrase.pause is not None and abs(phrase.pause - PAUSE_COMMA) > _SAME:
            pieces.append([])
    return [tuple(piece) for piece in pieces if piece]


def _kana(phrases: Sequence[AccentPhrase]) -> list[str]:
    groups = [""]
    for phrase in phrases:
        groups[-1] += phrase.kana
        if phrase.pause is not None:
            groups.append("")
    return [group for group in groups if group]


class _Words:
    """The written text, handed out in stretches that have the moras which are asked for."""

    def __init__(self, written: Sequence[Sentence], front_end: FrontEnd) -> None:
        self._rest = [part for sentence in written for part in _parts(sentence.text)]
        self._front_end = front_end

    def take(self, phrases: Sequence[AccentPhrase]) -> str:
        """The text of the phrases; empty when it is not what comes next."""
        wanted, _ = reading_of(phrases)
        text = ""
        for count, part in enumerate(self._rest, start=1):
            text += part
            found, _ = reading_of(phrases_of_sentence(text, self._front_end))
            if found == wanted:
                del self._rest[:count]
                return text
            if len(found) > len(wanted):
                break
        return ""


def _parts(text: str) -> list[str]:
    """A sentence, cut after each comma."""
    parts = text.split("、")
    return [f"{part}、" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
