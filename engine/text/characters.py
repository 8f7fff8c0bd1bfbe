"""From characters as people type them to one form of each, and out with what has no sound."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from engine.text.types import Kind, Token

# Compatibility forms that Unicode's NFKC would make ambiguous (½ → 1⁄2, ② → 2, m² → m2 is wanted but 10² → 102 is not).
KEPT_FORMS = "①-⑳㉑-㉟㊱-㊿⓪⓵-⓾❶-❿➀-➓½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒¹²³⁰⁴-⁹⁺⁻Ⅰ-Ⅻⅰ-ⅻ…™®©´¨¯¸"
_FOLDABLE = re.compile(f"[^{KEPT_FORMS}]+")
_SAME = str.maketrans(
    {
        **dict.fromkeys("~～∼∽〰", "〜"),
        **dict.fromkeys("−‐‑‒–﹣➖", "-"),
        **dict.fromkeys("—―⸺─━", "—"),
        **dict.fromkeys("•‧∙⋅⦁·", "・"),
        **dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n"),
        **dict.fromkeys("◯〇", "〇"),
        **dict.fromkeys("➡➔➜➤", "→"),
        **dict.fromkeys("✕✖", "×"),
        "ゕ": "か",
        "ゖ": "け",
        "ヷ": "ヴァ",
        "ヸ": "ヴィ",
        "ヹ": "ヴェ",
        "ヺ": "ヴォ",
        "‥": "…",
        "\t": " ",
        "➕": "+",
        "➗": "÷",
        "㍘": "0時",
        "㏠": "1日",
        "㋿": "令和",
        **{circled: f"({day})" for circled, day in zip("㊊㊋㊌㊍㊎㊏㊐", "月火水木金土日", strict=True)},
        "㊗": "(祝)",
        "㊡": "(休)",
        "ß": "ss",
        "ø": "o",
        "Ø": "O",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "ı": "i",
        "ð": "d",
        "þ": "th",
    }
)

_SILENT = re.compile(
    "[\u2600-\u266c\u266e\u2670-\u2775\u2794-\u27bf\u2b00-\u2bff\u2300-\u23ff\u25a0-\u25b1\u25b4-\u25bb\u25be-\u25ca\u25cc-\u25ff"
    "\u20e3\u303d\U0001f000-\U0001faff\U000e0020-\U000e007f™®©´¨¯¸]"
)
_READABLE = re.compile(
    "["
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # kanji
    "A-Za-z0-9\u0391-\u03a1\u03a3-\u03a9\u03b1-\u03c9"  # Latin, digits, Greek
    "]"
)
# Marks for which a rule exists: named, heard as a pause, or part of a notation.
MARKS = frozenset(
    "\n !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}、。・「」『』【】〈〉《》〔〕〖〗〘〙«»‹›“”‘’„…〜—→←↑↓⇒⇔⇐↔°%‰〒"
    "※×÷±≒≠≦≧≤≥∞√⁄′″¥£€¢₩〆○●△▲▽▼♯♭¿¡"
)
_KEPT = re.compile(f"[{KEPT_FORMS.replace('™®©´¨¯¸', '')}]")


def fold(text: str) -> str:
    """One form for each character: Unicode NFKC, except where that would lose a meaning. Never loses a character."""
    safe = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs joined, lone halves marked
    folded = _FOLDABLE.sub(lambda run: unicodedata.normalize("NFKC", run.group().translate(_SAME)), safe)
    folded = folded.replace("\r\n", "\n").translate(_SAME)
    if folded.isascii():
        return folded
    plain = "".join(map(_without_accent, folded))
    return _SMALL_KA.sub(lambda kana: "カ" if kana.group() == "ヵ" else "ケ", _LONG_VOWEL_AS_HYPHEN.sub("-", plain))


_SMALL_KA = re.compile("(?<![0-9数何一-龠])[ヵヶ](?![一-龠])")  # by themselves the front end does not know them
# ０９０ー１２３４: the key that Japanese keyboards offer for a hyphen.
_LONG_VOWEL_AS_HYPHEN = re.compile("(?<=[0-9¹²³⁰⁴-⁹Ⅰ-ⅻ①-➓½¼¾⅐-⅞])ー(?![ぁ-ゖァ-ヺ一-龠ー])")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A folded text without what has no sound.

    Attributes:
        text: what the rules read.
        removed: what was taken out, each with the place in ``text`` where it stood.
        inserted: places of ``text`` that hold a space in place of something that was taken out.
    """

    text: str
    removed: tuple[tuple[int, Token], ...]
    inserted: frozenset[int]


def rare_kanji(text: str) -> frozenset[str]:
    """The kanji of a text that Japanese computers of old did not know (CP932); the front end may not read them."""
    if text.isascii():
        return frozenset()
    return frozenset(character for character in set(text) if character >= "\u3400" and _is_rare(character))


@lru_cache(maxsize=8192)
def _is_rare(character: str) -> bool:
    if not _READABLE.match(character):
        return False
    try:
        character.encode("cp932")
    except UnicodeEncodeError:
        return True
    return False


def clean(folded: str, unread: frozenset[str] = frozenset(), wanted: frozenset[str] = frozenset()) -> Cleaned:
    """Take out what has no sound: emoji and invisible characters silently, all else to be reported.

    Args:
        folded: as ``fold`` leaves it.
        unread: kanji that the front end does not know.
        wanted: characters that stay because a word of the user's holds them.
    """

    def reason_of(character: str) -> str:
        if character in wanted:
            return ""
        return "kanji without a reading" if character in unread else _why_silent(character)

    kept: list[str] = []
    removed: list[tuple[int, Token]] = []
    inserted: set[int] = set()
    length = 0
    for reason, run in groupby(folded, reason_of):
        characters = "".join(run)
        if reason:
            kind = Kind.SILENT if reason in {"emoji", "invisible"} else Kind.DROPPED
            removed.append((length, Token(kind, characters, "", reason)))
            if reason in {"invisible", "combining mark"}:
                continue  # nothing stands in its place: a word that holds one stays one word
            inserted.add(length)
            characters = " "
        kept.append(characters)
        length += len(characters)
    return Cleaned("".join(kept), tuple(removed), frozenset(inserted))


def is_readable(text: str) -> bool:
    """Whether at least one character of a normalised text has a reading."""
    return _READABLE.search(text) is not None or any(mark in text for mark in "%°")


@lru_cache(maxsize=8192)
def _why_silent(character: str) -> str:
    if character in MARKS or _READABLE.match(character) or _KEPT.match(character):
        return ""
    category = "Cs" if character == "\ufffd" else unicodedata.category(character)  # folding marks surrogates with it
    if _SILENT.match(character):
        return "emoji"
    if category == "Cf" or _INVISIBLE.match(character):
        return "invisible"
    if character in "\u309b\u309c":
        return "combining mark"
    return _REASONS.get(category) or _REASONS[category[0]]


_INVISIBLE = re.compile("[\ufe00-\ufe0f\u034f\u115f\u1160\u3164\u180b-\u180d]")
_REASONS = {
    "Mn": "combining mark",
    "Me": "combining mark",
    "Mc": "combining mark",
    "Cc": "control character",
    "C": "no character",
    "Z": "space",
    "S": "symbol",
    "P": "punctuation",
    "L": "script without a reading",
    "N": "script without a reading",
}


@lru_cache(maxsize=4096)
def _without_accent(character: str) -> str:
    """é → e: Latin and Greek letters lose their accents; nothing else changes."""
    if character < "\u00c0" or not ("\u00c0" <= character <= "\u03ff" or "\u1e00" <= character <= "\u1fff"):
        return character
    base = unicodedata.normalize("NFD", character)[0]
    return base if base.isalpha() and _READABLE.match(base) else character
