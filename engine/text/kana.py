"""Kana as sounds: moras, and readings as people write them."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_YOON = (
    "[イウ]ェ|ウ[ィォ]|[キギシジチヂニヒビピミリ][ェャュョ]|[クグ][ァィゥェォヮ]|[シスズ]ィ|"
    "ツ[ァィェォ]|[テデ][ィャュョ]|[トド]ゥ|フ[ァィェォュ]|ヴ[ァィェォャュョ]"
)
_MORA = re.compile(f"{_YOON}|[ァ-ヴー]")
_READING = re.compile("[ァ-ヴー]+")
_VOWELS = {
    "ァアカガサザタダナハバパマャヤラワヮ": "ア",
    "ィイキギシジチヂニヒビピミリヰ": "イ",
    "ゥウクグスズツヅヌフブプムュユルヴ": "ウ",
    "ェエケゲセゼテデネヘベペメレヱ": "エ",
    "ォオコゴソゾトドノホボポモョヨロヲ": "オ",
}
_VOWEL_OF = {kana: vowel for row, vowel in _VOWELS.items() for kana in row}
_TO_KATAKANA = {code: code + 0x60 for code in range(0x3041, 0x3095)}


def moras(reading: str) -> list[str]:
    """Split a katakana reading into moras; every mora is one beat (キュ, ッ, ン and ー count one each)."""
    return _MORA.findall(reading)


def is_reading(text: str) -> bool:
    """Whether a text is a katakana reading that the front end can pronounce."""
    return _READING.fullmatch(text) is not None and text[0] not in "ーァィゥェォャュョヮ"


def to_katakana(text: str) -> str:
    """Hiragana, half-width and full-width forms as katakana; all else stays."""
    return unicodedata.normalize("NFKC", text).translate(_TO_KATAKANA)


def pronunciation(reading: str) -> str:
    """The pronunciation of a reading, in katakana.

    Katakana is taken as it is written. Hiragana is spelling, so おう and えい become long vowels
    (とうきゅう is トーキュー, おおさか is オーサカ); whoever does not want that writes katakana.
    """
    katakana = to_katakana(reading)
    if not any("ぁ" <= character <= "ゔ" for character in reading):
        return katakana
    long = [
        "ー"
        if (_VOWEL_OF.get(before), after) in {("オ", "ウ"), ("エ", "イ"), ("ウ", "ウ"), ("オ", "オ"), ("エ", "エ")}
        else after
        for before, after in pairwise(katakana)
    ]
    return katakana[:1] + "".join(long)


def default_accent(reading: str) -> int:
    """Where the pitch of an unknown loanword falls: on the third mora from its end, as NHK's dictionary describes.

    Short words are accented on the first mora; a nucleus never falls on ー, ッ or ン but on the mora before.
    """
    beats = moras(reading)
    accent = max(1, len(beats) - 2)
    while accent > 1 and beats[accent - 1] in "ーッン":
        accent -= 1
    return accent
