"""One spelling for each pronunciation, so that readings can be compared."""

from __future__ import annotations

import unicodedata
from pathlib import Path

_ROWS = {
    "ア": "アァカガサザタダナハバパマヤャラワヮ",
    "イ": "イィキギシジチヂニヒビピミリ",
    "ウ": "ウゥクグスズツヅヌフブプムユュルヴ",
    "エ": "エェケゲセゼテデネヘベペメレ",
    "オ": "オォコゴソゾトドノホボポモヨョロヲ",
}
_VOWEL = {kana: vowel for vowel, row in _ROWS.items() for kana in row}


def canonical(kana: str) -> str:
    """Katakana alone, long vowels spelled out, one form of what sounds the same."""
    out = ""
    for character in unicodedata.normalize("NFKC", kana):
        if character == "ー":
            out += _VOWEL.get(out[-1:], "")
        elif "ァ" <= character <= "ヺ":
            out += {"ヲ": "オ", "ヂ": "ジ", "ヅ": "ズ"}.get(character, character)
    for old, new in (("ジッパ", "ジュッパ"), ("ジップ", "ジュップ"), ("ジッカ", "ジュッカ")):
        out = out.replace(old, new)
    folded = ""
    for character in out:
        last = _VOWEL.get(folded[-1:], "")
        folded += last if (character, last) in {("ウ", "オ"), ("イ", "エ")} else character
    return folded


def cases(name: str) -> list[tuple[str, list[str], str]]:
    """Text, accepted readings and group of each line of a table beside this file."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("# "))
    return [(text, accepted.split("|"), group) for text, accepted, group in rows]
