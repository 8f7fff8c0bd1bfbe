"""Words with a reading of their own, found in the text before any rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from engine.text.characters import fold
from engine.text.data import pairs
from engine.text.dictionary import Dictionary
from engine.text.readings import NOTATION, Reading, parse


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
        firsts = {form for first in self._lengths for form in (first, first.upper()) if len(form) == 1}
        self._firsts = re.compile("[{" + re.escape("".join(sorted(firsts))) + "]")
        self.characters = frozenset("".join(self._words))

    def __len__(self) -> int:
        return len(self._words)

    def find_all(self, text: str) -> Iterator[tuple[int, int, Reading]]:
        """Start, end and word of every occurrence, from left to right, the longest at each place.

        Readings in their notation are left alone. A word of letters or digits ends where letters or digits end.
        """
        at = 0
        while place := self._firsts.search(text, at):
            at = place.start()
            notation = NOTATION.match(text, at)
            if notation is not None and parse(notation) is not None:
                at = notation.end()
                continue
            end, word = self._find(text, at)
            if word is not None:
                yield at, end, word
            at = end

    def _find(self, text: str, at: int) -> tuple[int, Reading | None]:
        for length in self._lengths.get(text[at].lower(), ()):
            end = at + length
            word = self._words.get(text[at:end].lower())
            if word is not None and end <= len(text) and not _cuts_a_word(text, at, end):
                return end, word
        return at + 1, None


def _key(surface: str) -> str:
    return fold(surface).lower()


def _cuts_a_word(text: str, start: int, end: int) -> bool:
    """Whether a Latin word or a number goes on across one of the edges."""
    return bool(
        _joined(text[start - 1 : start], text[start])
        or _joined(text[end - 1], text[end : end + 1])
        or (text[start] in "0123456789" and _NUMBER_BEFORE.search(text[max(0, start - 2) : start]))
        or (text[end - 1] in "0123456789" and _NUMBER_AFTER.match(text[end : end + 2]))
    )


_NUMBER_BEFORE = re.compile(r"\d[.,:/-]$")
_NUMBER_AFTER = re.compile(r"[.,:/-]\d")


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
    """The words of the house (``data/japanese.txt``) and, before them, the user's that the front end cannot find.

    It cannot hold letters and digits, and would not find a word with one of the house in it, which is read before.
    """
    if not dictionary:
        return Lexicon(_house_words())
    house = [word for word in _house_words() if dictionary.find(word.surface) is None]
    taken = [_key(word.surface) for word in house]
    own = (word for word in dictionary.words if not word.in_front_end or any(t in _key(word.surface) for t in taken))
    return Lexicon([*house, *(word.reading_of() for word in own)])
