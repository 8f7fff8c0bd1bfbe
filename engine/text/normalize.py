"""From characters as people type them to characters that the front end reads."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

from engine.text.types import Dropped

# Blocks that Open JTalk's dictionary reads: kana, kanji with their iteration marks, Latin and Greek letters.
_READABLE = re.compile(
    "["
    "\u3041-\u3096\u3099-\u309f\u30a1-\u30ff\u31f0-\u31ff"  # kana
    "\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kanji
    "A-Za-z0-9\u00c0-\u024f\u0370-\u03ff"  # Latin, digits, Greek
    "]"
)
# Marks that are read, or that shape the rhythm.
_MARKS = set("\n !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~、。・「」『』【】〈〉《》〔〕…‥ー—―‐−→←↑↓°℃℉%〒※×÷±≒≠≦≧∞½¼¾¥£€¢")


def normalize(text: str) -> tuple[str, tuple[Dropped, ...]]:
    """Fold compatibility forms (Unicode NFKC) and take out what cannot be read.

    Returns:
        The normalised text, and what was taken out, in order.
    """
    safe = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs joined, lone halves marked
    folded = unicodedata.normalize("NFKC", safe).replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    kept: list[str] = []
    dropped: list[Dropped] = []
    for reason, run in groupby(folded, _why_silent):
        characters = "".join(run)
        if reason:
            dropped.append(Dropped(characters, reason))
            kept.append(" ")
        else:
            kept.append(characters)
    joined = re.sub(r"[ \u3000]+", " ", "".join(kept))
    return re.sub(r" ?\n ?", "\n", joined).strip(), tuple(dropped)


def is_readable(text: str) -> bool:
    """Whether at least one character of the text has a reading."""
    return _READABLE.search(text) is not None


def _why_silent(character: str) -> str:
    if _READABLE.match(character) or character in _MARKS:
        return ""
    category = unicodedata.category(character)
    if category.startswith("C") or character == "\ufffd":
        return "control character"
    if category.startswith("S"):
        return "symbol"
    return "punctuation" if category.startswith("P") else "script without a reading"
