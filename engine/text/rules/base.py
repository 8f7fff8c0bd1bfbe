"""What a rule is, and the words in which rules look around."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.text.readings import Reading
from engine.text.types import Kind

Read = Callable[[re.Match[str]], str | None]
"""From a match to what is spoken in its place, or None when the rule does not apply here after all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One notation and its reading.

    Attributes:
        name: shown by ``asagoe read``; unique.
        kind: of the tokens that it makes.
        starts: characters with which it can begin; ``0`` stands for every digit, ``A`` for every Latin letter, ``あ``
            for everything else that is read, ``*`` for any character.
        pattern: matched at one place; every repetition in it is bounded or consumes what it matches, so that the time
            stays linear.
        read: what is spoken.
    """

    name: str
    kind: Kind
    starts: str
    pattern: re.Pattern[str]
    read: Read


def rule(name: str, kind: Kind, starts: str, pattern: str) -> Callable[[Read], Rule]:
    """Make a rule of the function below it."""
    compiled = re.compile(pattern, re.ASCII)
    return lambda read: Rule(name, kind, starts, compiled, read)


def before(match: re.Match[str], length: int = 12) -> str:
    """The characters before a match, at most so many."""
    return match.string[max(0, match.start() - length) : match.start()]


def after(match: re.Match[str], length: int = 12) -> str:
    """The characters after a match, at most so many."""
    return match.string[match.end() : match.end() + length]


def sounded(surface: str, kana: str, accent: int | None = None) -> str:
    """A word whose reading must not be left to the front end."""
    return str(Reading(surface, kana, accent))


JAPANESE = "ぁ-ゖァ-ヺー々〆〇㐀-䶿一-鿿豈-﫿"
COUNTER = (
    r"(?:[円分秒時日月年個本枚人回階台件杯度歳才週点話番号名泊匹頭冊着足箱袋皿倍割位級畳坪歩通食便ヶカか万億兆千百]|"
    r"パーセント|センチ|メートル|キロ|ミリ|ワット|リットル|グラム|ページ|ポイント|ドル|ユーロ)"
)
"""What follows a number that is counted or measured, in Japanese writing."""

NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,6}(?!\d)|\d+)(?:\.\d+)?"
"""A number as people write it, with or without thousands separators."""


def plain_number(text: str) -> str:
    """A number without separators and needless zeros, as the front end reads it: 1,234 → 1234, 05 → 5."""
    whole, point, fraction = text.replace(",", "").partition(".")
    return (whole.lstrip("0") or "0") + point + fraction
