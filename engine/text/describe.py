"""What became of a text, for people: tokens, rules, kana, accents, and what was dropped."""

from __future__ import annotations

from dataclasses import dataclass

from engine.text.openjtalk import kana_of
from engine.text.pipeline import TextPipeline
from engine.text.types import Dropped, Sentence, Token


@dataclass(frozen=True, slots=True)
class AccentPhrase:
    """Words that share one rise and fall of the pitch.

    Attributes:
        kana: its pronunciation.
        accent: the mora after which the pitch falls, from 1; 0 when it does not fall.
    """

    kana: str
    accent: int


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence with its reading.

    Attributes:
        sentence: as a voice gets it.
        kana: its pronunciation, with punctuation.
        phrases: its accent phrases, in order.
    """

    sentence: Sentence
    kana: str
    phrases: tuple[AccentPhrase, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """All that is known about the reading of a text.

    Attributes:
        text: as it was given.
        normalized: as it will be read.
        tokens: every character of the text is in one of them.
        rules: names of the rules that changed something.
        sentences: with kana and accents.
        dropped: what has no reading.
    """

    text: str
    normalized: str
    tokens: tuple[Token, ...]
    rules: tuple[str, ...]
    sentences: tuple[SpokenSentence, ...]
    dropped: tuple[Dropped, ...]

    @property
    def kana(self) -> str:
        """The pronunciation of the whole text."""
        return "".join(sentence.kana for sentence in self.sentences)


def describe(text: str, pipeline: TextPipeline | None = None) -> Description:
    """Read a text without speaking it.

    Args:
        text: anything.
        pipeline: with the user's words; a fresh one without.
    """
    pipeline = pipeline or TextPipeline()
    script = pipeline.script(text)
    sentences = tuple(_spoken(sentence, pipeline) for sentence in script.sentences)
    return Description(text, script.normalized, script.tokens, script.rules, sentences, script.dropped)


def _spoken(sentence: Sentence, pipeline: TextPipeline) -> SpokenSentence:
    features = pipeline.front_end.features(sentence.text)
    phrases: list[AccentPhrase] = []
    for feature in features:
        if not feature["mora_size"]:
            continue
        kana = feature["pron"].replace("’", "")
        if feature["chain_flag"] == 1 and phrases:
            phrases[-1] = AccentPhrase(phrases[-1].kana + kana, phrases[-1].accent)
        else:
            phrases.append(AccentPhrase(kana, feature["acc"]))
    return SpokenSentence(sentence, kana_of(features), tuple(phrases))
