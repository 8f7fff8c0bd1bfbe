"""Text in the few marks and scripts that JP-Extra models were trained on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_CLASSES = {
    ",": "、，・·",
    ".": "。．\n",
    "-": "˗‐‒–—―⁃−⎯⏤─━⸺⸻",
    "'": '"()[]‘’“”《》「」【】',
    "ー": "~〜",
}
_MARKS = str.maketrans({mark: to for to, marks in _CLASSES.items() for mark in marks})
_UNKNOWN = re.compile(
    "[^"
    "\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe"  # kana
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kanji
    "A-Za-z0-9\u0370-\u03ff\u1f00-\u1fff"  # Latin, digits, Greek
    "!?…,.'-"
    "]+"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

# A reading given in the text, {surface|kana:accent}: the front end's matter, to be left as it is.
_READING = re.compile(r"(\{[^{}|\n]{1,40}\|[ぁ-ゔァ-ヴー]{1,40}(?::[0-9]{1,2})?\})")

_KANJI_DIGITS = {digit: str(value) for value, digit in enumerate("〇一二三四五六七八九")}
_POSITIONAL = re.compile(r"[〇一二三四五六七八九]{2,}")
_BREAKS = str.maketrans(
    {**dict.fromkeys(":：;；→←↑↓", "、"), **dict.fromkeys("『』〈〉〔〕", "'"), "〇": "マル", "○": "マル"}
)


def normalize(text: str) -> str:
    """The text as models of this family know it: NFKC, marks folded into ``!?,.'-``, everything else taken out.

    Readings in the notation of the text pipeline stay as they are, here and in ``respell``.
    """
    return _beside_readings(text, _normalized)


def respell(text: str) -> str:
    """What ``normalize`` would take out although it is heard, spelled so that it stays.

    〇 becomes a digit in a number (二〇二四) and マル elsewhere, colons and arrows become pauses, and Latin letters
    lose their accents.
    """
    return _beside_readings(text, _respelled)


def _normalized(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_MARKS)
    return _UNKNOWN.sub("", _THOUSANDS.sub("", folded))


def _respelled(text: str) -> str:
    numbers = _POSITIONAL.sub(_digits, text)
    plain = unicodedata.normalize("NFKC", numbers.translate(_BREAKS))
    return "".join(_unaccented(character) for character in plain)


def _beside_readings(text: str, change: Callable[[str], str]) -> str:
    pieces = _READING.split(_without_surrogates(text))  # every second one is a reading
    return "".join(piece if at % 2 else change(piece) for at, piece in enumerate(pieces))


def _digits(match: re.Match[str]) -> str:
    digits = match.group()
    if "〇" not in digits or not digits.strip("〇"):  # 二三日 is no number in positions, 〇〇 is a blank to fill in
        return digits
    return "".join(_KANJI_DIGITS[digit] for digit in digits)


def _unaccented(character: str) -> str:
    if "\u00c0" <= character <= "\u024f":
        return unicodedata.normalize("NFKD", character)[0]
    return character


def _without_surrogates(text: str) -> str:
    """Halves of surrogate pairs are no characters: pairs are joined, lone halves replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
