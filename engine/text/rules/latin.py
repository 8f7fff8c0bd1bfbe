"""Latin words: names that are known, words that a library reads, and letters that are spelled."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from engine.text.data import pairs
from engine.text.kana import default_accent, is_reading, moras
from engine.text.rules.base import JAPANESE, Rule, after, before, rule, sounded
from engine.text.types import Kind

LETTERS = dict(pairs("letters.txt"))
"""The names of the letters, by capital."""

_MAX_PIECES = 4
_LONGEST_READING = 40
_LETTERS_A_WORD = 6  # longer strings of letters are said in groups
_SPLIT = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(r"[A-Za-z]+(?:['’](?:s|t|re|ve|ll|d|m)(?![A-Za-z]))?")
_RUN = re.compile(r"[A-Za-z0-9]+")
_JOINT = re.compile(r"[ ]?[-_.&'’:][ ]?|[ ]")


def _squash(surface: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", surface).lower()


@lru_cache(maxsize=1)
def curated() -> dict[str, tuple[str, str]]:
    """The words of ``data/words.txt``: squashed surface → surface, reading; short capitals have a key in capitals."""
    words: dict[str, tuple[str, str]] = {}
    for surface, reading in pairs("words.txt"):
        key = _squash(surface)
        if surface.isupper() and len(key) <= 3 and key.isalpha():
            key = key.upper()
        words.setdefault(key, (surface, reading))
    return words


@lru_cache(maxsize=1)
def digit_words() -> dict[str, str]:
    """The words of ``data/digit_words.txt``."""
    return dict(pairs("digit_words.txt"))


def known(surface: str) -> str | None:
    """The reading of a name of the curated list."""
    words = curated()
    squashed = _squash(surface)
    if surface.isupper() and len(squashed) <= 3 and squashed.isalpha():
        found = words.get(squashed.upper())
    else:
        found = words.get(squashed) or words.get(squashed.upper())
    return found[1] if found else None


def spelled(letters: str) -> str:
    """A word letter by letter, as one word with the accent on its last letter."""
    if len(letters) > _LETTERS_A_WORD:
        return "".join(spelled(letters[at : at + _LETTERS_A_WORD]) for at in range(0, len(letters), _LETTERS_A_WORD))
    names = [LETTERS[letter] for letter in letters.upper()]
    accent = sum(len(moras(name)) for name in names[:-1]) + 1
    return sounded(letters, "".join(names), accent if len(names) > 1 else 1)


def word(surface: str) -> str:
    """A single Latin word: known, read by the library, or spelled."""
    reading = known(surface)
    if reading is not None:
        return reading
    if surface.isupper() and len(surface) > 1:
        return _capitals(surface)
    pieces = _SPLIT.findall(surface)
    if len(pieces) > 1 and "".join(pieces) == surface:
        return "".join(word(piece) for piece in pieces)
    reading = _library(surface.lower())
    return reading if reading is not None else spelled(surface)


def _capitals(surface: str) -> str:
    if len(surface) >= 5 and _SOUNDS_LIKE_A_WORD.fullmatch(surface):
        return _library(surface.lower()) or spelled(surface)
    return surface if _front_end_spells(surface) else spelled(surface)


_SOUNDS_LIKE_A_WORD = re.compile(r"(?=.*[AEIOU].*[AEIOUY])(?:[^AEIOU]{0,3}[AEIOUY]{1,2}){1,5}[^AEIOU]{0,3}")


def _front_end_spells(surface: str) -> bool:
    return surface in _SPELLED_BY_FRONT_END


# Acronyms that stay as they are, because the front end spells them with an accent of its own.
_SPELLED_BY_FRONT_END = frozenset(
    [
        "USB",
        "LED",
        "HDMI",
        "CPU",
        "GPU",
        "SSD",
        "URL",
        "IP",
        "OS",
        "PC",
        "CD",
        "DVD",
        "LP",
        "BS",
        "CS",
        "NHK",
        "NTT",
        "JR",
        "GPS",
        "QR",
        "DNS",
        "FM",
        "HD",
        "IC",
        "ID",
        "IT",
        "VIP",
        "UV",
        "UFO",
        "CM",
        "CEO",
        "PTA",
        "PDF",
        "SNS",
        "MQTT",
        "IH",
        "BGM",
    ]
)


@lru_cache(maxsize=4096)
def _library(lower: str) -> str | None:
    """The reading that e2k's model gives to an English word; None for what no one can say as a word."""
    if (
        len(lower) < 3
        or not re.search("[aeiou]|.y$", lower)
        or re.search(r"[^aeiouy]{5}|(.)\1\1", lower)
        or len(lower) > 24
    ):
        return None
    reading = _model()(lower)
    return reading if is_reading(reading) else None


@lru_cache(maxsize=1)
def _model() -> Callable[[str], str]:
    from e2k import C2K  # noqa: PLC0415 - 0.1 s that only English words need

    model: Callable[[str], str] = C2K(max_len=_LONGEST_READING)
    return model


def glue(text: str, start: int, end: int, reading: str) -> str:
    """A katakana reading, marked as a word of its own where it would run into another one."""
    if not is_reading(reading):
        return reading
    beside = _RUNS_ON.search(text[max(0, start - 2) : start]) or _GOES_ON.match(text[end : end + 2])
    return sounded(text[start:end], reading, default_accent(reading)) if beside else reading


_RUNS_ON = re.compile(r"[ァ-ヺーA-Za-z0-9}][ ]?$")
_GOES_ON = re.compile(r"[ ]?[ァ-ヺーA-Za-z{]")


@rule("known name", Kind.WORD, "A", r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9]*")
def known_name(_match: re.Match[str]) -> str | None:
    """Names of the curated list are found by ``longest_name``, which sees several words at once."""
    return None


def longest_name(text: str, at: int, limit: int) -> tuple[int, str] | None:
    """The longest name of the curated list that begins here and ends before a limit: its end, and what is spoken."""
    if at and text[at - 1].isascii() and text[at - 1].isalpha():
        return None
    ends: list[int] = []
    place = at
    while len(ends) < _MAX_PIECES and (run := _RUN.match(text, place, limit)):
        ends.append(run.end())
        joint = _JOINT.match(text, run.end())
        if joint is None:
            break
        place = joint.end()
    for end in reversed(ends):
        surface = text[at:end]
        if len(surface) > 1 and (reading := known(surface)) is not None:
            return end, glue(text, at, end, reading)
        name = surface.rstrip("0123456789")  # Wi-Fi6: the name, then a number
        if 1 < len(name) < len(surface) and name[-1].isalpha() and (reading := known(name)) is not None:
            return at + len(name), glue(text, at, at + len(name), reading)
        piece = _WORD.match(surface)  # iPhone15Pro
        if end == ends[0] and piece and piece.end() < len(surface) and (reading := known(piece.group())) is not None:
            return at + piece.end(), glue(text, at, at + piece.end(), reading)
    return None


@rule("abbreviation", Kind.WORD, "A", r"(?<![A-Za-z])(?:[Nn]o\.?|NO\.)[ ]?(?=\d)")
def number_abbreviation(_match: re.Match[str]) -> str | None:
    """No.5."""
    return "ナンバー"


@rule("abbreviation", Kind.WORD, "A", r"(?<![A-Za-z])(?:Vol|vol|VOL)\.?[ ]?(?=\d)")
def volume(_match: re.Match[str]) -> str | None:
    """Vol.3."""
    return "ボリューム"


@rule("abbreviation", Kind.WORD, "A", r"(?<![A-Za-z])(?:[Cc]h|CH)\.?[ ]?(?=\d)")
def channel(_match: re.Match[str]) -> str | None:
    """ch.3."""
    return "チャンネル"


@rule("abbreviation", Kind.WORD, "A", r"(?<![A-Za-z])(?:pp?|P)\.[ ]?(\d{1,4})(?!\d)")
def page(match: re.Match[str]) -> str | None:
    """p.12."""
    return f"{match[1]}ページ"


@rule("abbreviation", Kind.WORD, "A", r"(?<![A-Za-z])(?:Mr|Mrs|Ms|Dr|etc|vs|TEL|Tel|tel|FAX|Fax|fax)\.")
def dotted_abbreviation(match: re.Match[str]) -> str | None:
    """Dr., TEL."""
    reading = known(match.group()[:-1])
    return "電話" if reading == "デンワ" else reading


@rule("abbreviation", Kind.WORD, "A", r"(?<![A-Za-z.])(?:[A-Za-z]\.){2,6}(?![A-Za-z])")
def dotted_letters(match: re.Match[str]) -> str | None:
    """U.S.A."""
    return spelled(match.group().replace(".", ""))


@rule("number sign", Kind.WORD, "A", r"(?<![A-Za-z])(?:TEL|Tel|tel)(?![A-Za-z])")
def telephone_word(_match: re.Match[str]) -> str | None:
    """TEL."""
    return "電話"


@rule("single letter", Kind.WORD, "A", r"(?<![A-Za-z])[A-Za-z](?![A-Za-z'’])")
def letter(match: re.Match[str]) -> str | None:
    """A letter by itself is read by the front end: A棟, Tシャツ."""
    name = sounded(match.group(), LETTERS[match.group().upper()], 1)
    leads = re.match(f"[{JAPANESE}]", after(match, 1)) and not re.search(
        r"[0-9①-➓½¼¾⅐-⅞Ⅰ-ⅻ²³¹⁰⁴-⁹][ ]?$", before(match, 2)
    )
    return match.group() if leads and match.group().isupper() else name


@rule("word", Kind.WORD, "A", _WORD.pattern)
def single_word(match: re.Match[str]) -> str | None:
    """Any other run of letters."""
    text = match.group()
    stem, apostrophe, suffix = re.sub("’", "'", text).partition("'")
    reading = known(text)
    if reading is None:
        reading = word(stem) + (
            {"s": "ズ", "t": "ト", "re": "ア", "ve": "ブ", "ll": "ル", "d": "ド", "m": "ム"}[suffix]
            if apostrophe
            else ""
        )
    return glue(match.string, match.start(), match.end(), reading)


ABBREVIATIONS: tuple[Rule, ...] = (number_abbreviation, volume, channel, page, dotted_abbreviation, telephone_word)
RULES: tuple[Rule, ...] = (dotted_letters, known_name, letter, single_word)
