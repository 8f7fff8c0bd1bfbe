"""From cleaned text to tokens: one pass, the first rule that applies at a place wins."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.text.characters import Cleaned
from engine.text.kana import default_accent
from engine.text.lexicon import Lexicon
from engine.text.readings import Reading
from engine.text.rules import RULES, Rule
from engine.text.rules.base import JAPANESE
from engine.text.rules.latin import digit_words, longest_name
from engine.text.types import Kind, Token

# Weekdays, doors, rain and numerals; all other rules begin with a digit, a letter or a mark.
_STARTS_A_RULE = "月火水木金土日開降一二三四五六七八九十"
_PLAIN = f"[{JAPANESE}Α-Ωα-ωゝ-ゟヽ-ヿㇰ-ㇿ〻]"
_STRAY = "(?<![ぁ-ゖァ-ヺー])ー"  # a long vowel that follows no kana has its own rule
_RUN = re.compile(f"{_PLAIN}(?:(?![{_STARTS_A_RULE}]|{_STRAY}){_PLAIN})*")
_SHAPES = (
    ("①", "①-⑳㉑-㉟㊱-㊿⓪⓵-⓾❶-❿➀-➓"),
    ("½", "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒"),
    ("Ⅰ", "Ⅰ-Ⅻⅰ-ⅻ"),
    ("²", "¹²³⁰⁴-⁹⁺⁻"),
)


def _dispatch(rules: Iterable[Rule]) -> dict[str, tuple[Rule, ...]]:
    by_start: dict[str, list[Rule]] = {}
    for rule in rules:
        for start in dict.fromkeys(rule.starts):
            by_start.setdefault(start, []).append(rule)
    return {start: tuple(of) for start, of in by_start.items()}


_RULES_AT = _dispatch(RULES)
_SHAPE_OF = {
    character: name
    for name, members in _SHAPES
    for character in map(chr, range(0xB2, 0x2800))
    if re.match(f"[{members}]", character)
}


def scan(text: str, lexicon: Lexicon) -> list[tuple[int, Token]]:
    """Cut cleaned text into tokens.

    Args:
        text: as ``clean`` leaves it.
        lexicon: the user's words, which come before every rule.

    Returns:
        Tokens with their ends in the text; together they cover it.
    """
    tokens: list[tuple[int, Token]] = []
    at = 0
    for start, end, word in [*lexicon.find_all(text), (len(text), len(text), None)]:
        while at < start:
            at, token = _at(text, at, start)
            tokens.append((at, token))
        if word is not None:
            tokens.append((end, Token(Kind.READING, text[start:end], str(word), "dictionary")))
            at = end
    return tokens


def restore(cleaned: Cleaned, scanned: list[tuple[int, Token]]) -> tuple[Token, ...]:
    """Put what ``clean`` took out back among the tokens, and join neighbours of plain text."""
    tokens: list[Token] = []
    removed = list(reversed(cleaned.removed))
    start = 0
    for end, token in scanned:
        inside = (
            "".join(cleaned.text[i] for i in range(start, end) if i not in cleaned.inserted)
            if cleaned.inserted
            else token.text
        )
        own = Token(token.kind, inside, token.spoken, token.rule)
        gone: list[Token] = []
        while removed and removed[-1][0] < end:
            gone.append(removed.pop()[1])
        if not inside and gone:  # the token is nothing but the space that stands for what was taken out
            gone[0] = Token(gone[0].kind, gone[0].text, token.spoken, gone[0].rule)
        elif (
            tokens and own.kind is Kind.TEXT and tokens[-1].kind is Kind.TEXT and own.rule == tokens[-1].rule == "plain"
        ):
            tokens[-1] = Token(Kind.TEXT, tokens[-1].text + own.text, tokens[-1].spoken + own.spoken, own.rule)
        else:
            tokens.append(own)
        tokens.extend(gone)
        start = end
    tokens.extend(token for _, token in reversed(removed))
    return tuple(tokens)


def _at(text: str, at: int, limit: int) -> tuple[int, Token]:
    """The token that begins at a place, and its end; it may look beyond the limit but not reach beyond it."""
    character = text[at]
    start = _start(character)
    if start == "0" and (surface := _digit_word(text, at)) and at + len(surface) <= limit:
        reading = digit_words()[surface]
        spoken = str(Reading(surface, reading, default_accent(reading)))
        return at + len(surface), Token(Kind.WORD, surface, spoken, "known name")
    for rule in _RULES_AT.get(start, ()):
        if rule is _NAMES and (name := longest_name(text, at, limit)):
            end, spoken = name
            return end, Token(Kind.WORD, text[at:end], spoken, rule.name)
        match = rule.pattern.match(text, at)
        if match is not None and match.end() > limit:
            match = rule.pattern.match(text, at, limit)
        if match is None or match.end() == at:
            continue
        spoken_or_none = rule.read(match)
        if spoken_or_none is not None:
            return match.end(), Token(rule.kind, match.group(), spoken_or_none, rule.name)
    run = _RUN.match(text, at, limit)
    if run is not None:
        return run.end(), Token(Kind.TEXT, run.group(), run.group(), "plain")
    # Only what the lexicon holds comes here: an emoji of the user's that stands where it is no word.
    return at + 1, Token(Kind.SILENT, character, " ", "emoji")


def _start(character: str) -> str:
    if "0" <= character <= "9":
        return "0"
    if character.isascii():
        return "A" if character.isalpha() else character
    return _SHAPE_OF.get(character) or (character if character in _RULES_AT else "あ")


def _digit_word(text: str, at: int) -> str:
    if at and (text[at - 1].isdigit() or text[at - 1] in ".,:/"):
        return ""
    match = _DIGIT_WORD.match(text, at)
    return match.group() if match and match.group() in digit_words() else ""


_DIGIT_WORD = re.compile(r"\d{1,3}[A-Z]?[A-Za-z-]{1,10}(?![A-Za-z0-9])", re.ASCII)
_NAMES = next(rule for rule in RULES if rule.name == "known name")
