"""Words with a reading of their own, found in the text before any rule."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from engine.text.characters import fold
from engine.text.data import pairs
from engine.text.dictionary import Dictionary
from engine.text.readings import Reading


class Lexicon:
    """Finds the longest word that begins at a place. Case and compatibility forms do not matter.

    Args:
        words: later ones win over earlier ones of the same surface.
    """

    def __init__(self, words: Iterable[Reading] = ()) -> None:
        self._words: dict[str, Reading] = {}
        lengths: dict[str, set[int]] = {}
        for word in words:
            key = _key(word.surface)
            if key:
                self._words[key] = word
                lengths.setdefault(key[0], set()).add(len(key))
        self._lengths = {first: sorted(of, reverse=True) for first, of in lengths.items()}
        self.firsts = frozenset(self._lengths) | {first.upper() for first in self._lengths if len(first.upper()) == 1}

    def __len__(self) -> int:
        return len(self._words)

    def find(self, text: str, at: int) -> tuple[int, Reading] | None:
        """The end of the longest word that begins at ``at``, and the word; a word of letters ends where letters end."""
        for length in self._lengths.get(text[at].lower(), ()):
            piece = text[at : at + length]
            word = self._words.get(piece.lower())
            if word is not None and len(piece) == length and not _cuts_a_word(text, at, at + length):
                return at + length, word
        return None


def _key(surface: str) -> str:
    return fold(surface).lower()


def _cuts_a_word(text: str, start: int, end: int) -> bool:
    """Whether a Latin word or a number goes on across one of the edges."""
    return _joined(text[start - 1 : start], text[start]) or _joined(text[end - 1], text[end : end + 1])


def _joined(left: str, right: str) -> bool:
    both = left + right
    return len(both) == 2 and both.isascii() and (both.isalpha() or both.isdigit())


@lru_cache(maxsize=1)
def _house_words() -> tuple[Reading, ...]:
    words = []
    for surface, reading in pairs("japanese.txt"):
        kana, _, accent = reading.partition(":")
        words.append(Reading(surface, kana, int(accent)))
    return tuple(words)


@lru_cache(maxsize=4)
def lexicon_of(dictionary: Dictionary | None) -> Lexicon:
    """The words of the house (``data/japanese.txt``) and, before them, the user's that the front end cannot hold."""
    own = dictionary.outside_the_front_end if dictionary else ()
    house = (word for word in _house_words() if dictionary is None or dictionary.find(word.surface) is None)
    return Lexicon([*house, *(word.reading_of() for word in own)])
