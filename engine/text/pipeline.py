"""From a text to a script: what is spoken, sentence by sentence, and what is not."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.forking import renewed_after_fork
from engine.text.accents import AccentPhrase
from engine.text.blocks import blocks
from engine.text.characters import clean, fold, rare_kanji
from engine.text.dictionary import Dictionary
from engine.text.lexicon import Lexicon, lexicon_of
from engine.text.openjtalk import FrontEnd
from engine.text.scanner import restore, scan
from engine.text.sentences import PAUSE_LINE, split_sentences
from engine.text.types import Dropped, Kind, Script, Sentence, Token
from engine.text.utterances import phrases_of_sentences, sentences_of_phrases

__all__ = ["Dropped", "Script", "Sentence", "TextPipeline", "normalize"]

RULES_REVISION = "4"
"""Raised whenever a rule changes what is read, so that no cached phrase outlives its rule."""

_MAX_PASSES = 4


def normalize(
    text: str, lexicon: Lexicon | None = None, unread: frozenset[str] = frozenset()
) -> tuple[str, tuple[Token, ...]]:
    """From characters as people type them to natural Japanese that the front end reads right.

    Normalising the result again changes nothing. The time is linear in the length of the text.

    Args:
        text: anything.
        lexicon: words that come before every rule; those of the house without it.
        unread: kanji that the front end does not know.

    Returns:
        The normalised text, and the tokens that led to it; every character of the folded text is in one of them.
    """
    lexicon = lexicon_of(None) if lexicon is None else lexicon
    cleaned = clean(fold(text), unread, lexicon.characters)
    tokens = restore(cleaned, scan(cleaned.text, lexicon))
    normalized = _tidy("".join(token.spoken for token in tokens))
    # What one rule writes may stand beside what another one wrote as if it were a notation (Ⅱ before 時): settle it
    # here, so that nobody who normalises again hears another reading.
    for _ in range(_MAX_PASSES):
        again = _tidy("".join(token.spoken for _, token in scan(fold(normalized), lexicon)))
        if again == normalized:
            break
        normalized = again
    return normalized, tokens


@dataclass(frozen=True, slots=True)
class _Words:
    """The user's words as the pipeline uses them; replaced as a whole."""

    dictionary: Dictionary | None
    lexicon: Lexicon
    front_end: FrontEnd | None = None


class TextPipeline:
    """All that turns text into readings; one for all speakers of a ``TTS``. Safe to share between threads.

    Args:
        dictionary: the user's words; see ``use_dictionary``.
    """

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        self._lock = threading.Lock()
        dictionary = dictionary or None
        self._words = _Words(dictionary, lexicon_of(dictionary))
        renewed_after_fork(self, TextPipeline._renew)

    def _renew(self) -> None:
        """In a forked process: Open JTalk may be locked by a thread that did not come along; it is loaded anew."""
        self._lock = threading.Lock()
        self._words = _Words(self._words.dictionary, self._words.lexicon)

    @property
    def front_end(self) -> FrontEnd:
        """Open JTalk, loaded when first asked for."""
        front_end = self._words.front_end
        if front_end is None:
            with self._lock:
                words = self._words
                front_end = words.front_end or FrontEnd(words.dictionary)
                self._words = _Words(words.dictionary, words.lexicon, front_end)
        return front_end

    @property
    def revision(self) -> str:
        """Changes whenever the same text could be read otherwise."""
        return f"{self.front_end.revision}; rules {RULES_REVISION}"

    def use_dictionary(self, dictionary: Dictionary | None) -> None:
        """Read the user's words from now on. Takes as long as their compilation; others read on meanwhile.

        Words that are in use already are not compiled again.

        Raises:
            DictionaryError: the words cannot be compiled; those in use stay.
        """
        dictionary = dictionary or None
        if self._words.dictionary == dictionary:
            return
        words = _Words(dictionary, lexicon_of(dictionary), FrontEnd(dictionary))
        with self._lock:
            self._words = words

    def script(self, text: str) -> Script:
        """Normalise a text and cut it into sentences. Never raises, whatever the text is."""
        words = self._words
        rare = rare_kanji(text)
        unread = frozenset(kanji for kanji in rare if not self.front_end.reads(kanji)) if rare else rare
        normalized, tokens = normalize(text, words.lexicon, unread)
        dropped = tuple(Dropped(token.text, token.rule) for token in tokens if token.kind is Kind.DROPPED)
        return Script(normalized, split_sentences(normalized), dropped, tokens)

    def read(self, text: str) -> Iterator[Sentence]:
        """The sentences of ``script``, one after another: no more of a long text is read than is asked for."""
        waiting: Sentence | None = None
        after_line = False
        for block in blocks(text):
            for sentence in self.script(block).sentences:
                if waiting is not None:  # how long its pause is tells only that another one follows
                    yield Sentence(waiting.text, max(waiting.pause, PAUSE_LINE)) if after_line else waiting
                waiting, after_line = sentence, False
            after_line = after_line or block.endswith("\n")
        if waiting is not None:
            yield waiting

    def kana(self, text: str) -> str:
        """The pronunciation of a text in katakana, sentence after sentence."""
        return "".join(self.front_end.kana(sentence.text) for sentence in self.script(text).sentences)

    def accent_phrases(self, text: str) -> tuple[AccentPhrase, ...]:
        """How a text is read and accented; empty when nothing in it is read."""
        return phrases_of_sentences(self.script(text).sentences, self.front_end)

    def sentences(self, phrases: Sequence[AccentPhrase], text: str | None = None) -> tuple[Sentence, ...]:
        """Accent phrases as sentences that a voice speaks one by one.

        Args:
            phrases: at least one.
            text: that they came from, where it is known; see ``sentences_of_phrases``.
        """
        written = self.script(text).sentences if text else ()
        return sentences_of_phrases(phrases, written, self.front_end)


_PAUSES = re.compile(r"[ ]*、[ 、]*")
_LINES = re.compile(r"[ 、]*\n[ 、\n]*")
_NEEDLESS = re.compile(r"(?<=[。!?…「『])、|、(?=[。!?…」』])|^、|、$")
_STOPS = re.compile(r"(?<=[。!?])[ ]*。+")
_CALLS = re.compile(r"[!?](?:[ ]*[!?])+")


def _tidy(text: str) -> str:
    """One pause where several rules each put one."""
    text = re.sub(r"[ ]*…[ …]*", "…", re.sub(r"[ ]+", " ", text))
    text = _CALLS.sub(lambda run: "?" if "?" in run.group() else "!", text)
    while True:
        tidied = _LINES.sub("\n", _STOPS.sub("", _NEEDLESS.sub("", _PAUSES.sub("、", text)))).strip()
        if tidied == text:
            return text
        text = tidied
