"""Sums of money."""

from __future__ import annotations

import re

from engine.text.rules.base import NUMBER, Rule, plain_number, rule
from engine.text.types import Kind

_CURRENCIES = {"¥": "円", "$": "ドル", "€": "ユーロ", "£": "ポンド", "₩": "ウォン", "¢": "セント"}
_CENTS = {"$": "セント", "€": "セント", "£": "ペンス"}
_CODES = {"JPY": "円", "USD": "ドル", "EUR": "ユーロ", "GBP": "ポンド", "KRW": "ウォン", "CNY": "元"}


@rule("money", Kind.MONEY, "¥$€£₩¢", rf"([¥$€£₩¢])[ ]?({NUMBER})(?P<unit>[万億兆千]?)(?:円|-(?![\d-]))?")
def sign_first(match: re.Match[str]) -> str | None:
    """¥1,500, $5.50, €10, ¥3万, ¥980-."""
    sign, number = match[1], plain_number(match[2])
    whole, point, cents = number.partition(".")
    if point and len(cents) == 2 and sign in _CENTS and not match["unit"]:
        small = f"{int(cents)}{_CENTS[sign]}" if int(cents) else ""
        large = f"{whole}{_CURRENCIES[sign]}" if int(whole) or not small else ""
        return large + small
    return number + match["unit"] + _CURRENCIES[sign]


@rule("money", Kind.MONEY, "A", rf"(?<![A-Za-z])(?:US|A|C|NT|HK|S)\$({NUMBER})")
def dollars_of(match: re.Match[str]) -> str | None:
    """US$5, A$5."""
    names = {"US": "米", "A": "豪", "C": "カナダ", "NT": "台湾", "HK": "香港", "S": "シンガポール"}
    country = names[match.group().partition("$")[0]]
    return f"{plain_number(match[1])}{'' if country == '米' else country}ドル"


@rule("money", Kind.MONEY, "0", rf"(?<![\d.])({NUMBER})[ ]?([$€£¥]|(?:JPY|USD|EUR|GBP|KRW|CNY)(?![A-Za-z]))(?!\d)")
def sign_last(match: re.Match[str]) -> str | None:
    """5€, 100 JPY."""
    return plain_number(match[1]) + (_CURRENCIES.get(match[2]) or _CODES[match[2]])


@rule("money", Kind.MONEY, "¥$€£₩¢", r"[¥$€£₩¢]")
def sign_alone(match: re.Match[str]) -> str | None:
    """The sign by its name."""
    return _CURRENCIES[match.group()]


RULES: tuple[Rule, ...] = (sign_first, dollars_of, sign_last, sign_alone)
