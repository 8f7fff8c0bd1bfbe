"""Katakana to the phonemes of JP-Extra models, and phonemes to their ids.

The phonemes are those of HTS labels for Japanese (``N`` syllabic nasal, ``q`` geminate, ``ky`` palatalised k, …).
The tables hold the rows of the syllabary and what is irregular in them; the syllables follow from these.
"""

from __future__ import annotations

from types import MappingProxyType

PUNCTUATION = frozenset("!?…,.'-")
"""Marks that are phonemes of their own: the voice makes pauses and intonation of them."""
PAD = "_"
"""Stands at both ends of an utterance; its id 0 stands between all phonemes of models with blanks."""
UNREADABLE = "'"
"""What stands in for a character without a reading."""
LONG = "ー"
DANGLING_LONG = "-"
"""A long vowel mark with no vowel before it."""

_VOWELS = "aiueo"
_ROWS = {  # five kana a row, in the order of the vowels; _ is a gap
    "": "アイウエオ",
    "k": "カキクケコ",
    "g": "ガギグゲゴ",
    "s": "サ_スセソ",
    "z": "ザ_ズゼゾ",
    "t": "タ__テト",
    "d": "ダ__デド",
    "n": "ナニヌネノ",
    "h": "ハヒ_ヘホ",
    "b": "バビブベボ",
    "p": "パピプペポ",
    "m": "マミムメモ",
    "r": "ラリルレロ",
    "y": "ヤ_ユ_ヨ",
    "v": "ヷヸヴヹヺ",
}
_IRREGULAR = {
    "シ": "sh i",
    "ジ": "j i",
    "チ": "ch i",
    "ヂ": "j i",
    "ツ": "ts u",
    "ヅ": "z u",
    "フ": "f u",
    "ワ": "w a",
    "ヰ": "i",
    "ヱ": "e",
    "ヲ": "o",
    "ン": "N",
    "ッ": "q",
    "ヵ": "k a",
    "ヶ": "k e",
    "ヮ": "w a",
    "イェ": "y e",
    # The sets of phonemes have no kw, gw and fy: the nearest that they have.
    "クヮ": "k w a",
    "グヮ": "g w a",
    "フュ": "hy u",
}
_SMALL = dict(zip("ァィゥェォ", _VOWELS, strict=True))
_SMALL_Y = {"ャ": "a", "ュ": "u", "ョ": "o"}
# Kana whose vowel gives way to a small kana, the consonant that stays, and which vowels may follow.
_PALATALISED = {
    "キ": "ky", "ギ": "gy", "ニ": "ny", "ヒ": "hy", "ビ": "by", "ピ": "py", "ミ": "my", "リ": "ry",
    "シ": "sh", "ジ": "j", "チ": "ch", "ヂ": "j",
}  # fmt: skip
_LOANED = {
    "ス": ("s", "i"), "ズ": ("z", "i"), "テ": ("t", "i"), "デ": ("d", "i"), "ト": ("t", "u"), "ド": ("d", "u"),
    "ツ": ("ts", "aieo"), "フ": ("f", "aieo"), "ヴ": ("v", "aieo"), "ウ": ("w", "ieo"),
}  # fmt: skip
_PALATAL_LOANED = {"テ": "ty", "デ": "dy", "ヴ": "by"}

# Ids of the Japanese phonemes among the 112 symbols that all JP-Extra models share (the rest is Chinese and English).
_IDS = {
    "_": 0, "N": 5, "a": 8, "b": 19, "by": 20, "ch": 22, "d": 23, "dy": 25, "e": 26, "f": 34, "g": 35, "gy": 36,
    "h": 37, "hy": 39, "i": 40, "j": 55, "k": 57, "ky": 58, "m": 60, "my": 61, "n": 62, "ny": 64, "o": 65, "p": 71,
    "py": 72, "q": 73, "r": 74, "ry": 75, "s": 76, "sh": 77, "t": 78, "ts": 80, "ty": 81, "u": 82, "v": 93, "w": 97,
    "y": 99, "z": 100, "!": 103, "?": 104, "…": 105, ",": 106, ".": 107, "'": 108, "-": 109,
}  # fmt: skip
PHONEME_IDS = MappingProxyType(_IDS)


def _syllables() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for consonant, kana in _ROWS.items():
        for letter, vowel in zip(kana, _VOWELS if len(kana) == 5 else "", strict=True):
            table[letter] = (consonant, vowel) if consonant else (vowel,)
    del table["_"]
    table |= {small: (vowel,) for small, vowel in _SMALL.items()}
    table |= {small: ("y", vowel) for small, vowel in _SMALL_Y.items()}
    for letter, consonant in _PALATALISED.items():
        table |= {letter + small: (consonant, vowel) for small, vowel in {**_SMALL_Y, "ェ": "e"}.items()}
    for letter, (consonant, vowels) in _LOANED.items():
        table |= {letter + small: (consonant, vowel) for small, vowel in _SMALL.items() if vowel in vowels}
    for letter, consonant in _PALATAL_LOANED.items():
        table |= {letter + small: (consonant, vowel) for small, vowel in _SMALL_Y.items()}
    return table | {kana: tuple(phonemes.split()) for kana, phonemes in _IRREGULAR.items()}


SYLLABLES = MappingProxyType(_syllables())


def kana_phonemes(kana: str, before: str = PAD) -> list[str]:
    """Phonemes of a word in katakana.

    A long vowel mark repeats the phoneme before it, also across words; other characters than kana are passed over.

    Args:
        kana: pronunciation in katakana.
        before: the phoneme that the word follows.
    """
    phonemes: list[str] = []
    at = 0
    while at < len(kana):
        pair = SYLLABLES.get(kana[at : at + 2]) if at + 1 < len(kana) else None
        if pair:
            phonemes += pair
            at += 2
            continue
        if kana[at] == LONG:
            last = phonemes[-1] if phonemes else before
            phonemes.append(DANGLING_LONG if last == PAD or last in PUNCTUATION else last)
        else:
            phonemes += SYLLABLES.get(kana[at], ())
        at += 1
    return phonemes
