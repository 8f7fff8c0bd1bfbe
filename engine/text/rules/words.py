"""Japanese words whose reading depends on what stands before them."""

from __future__ import annotations

import re

from engine.text.rules.base import Rule, before, rule
from engine.text.types import Kind

_OPENS = re.compile(
    r"(?:鍵|窓|ドア|扉|戸|門|シャッター|ゲート|ふた|蓋|引き出し|カーテン|冷蔵庫|玄関|バルブ|弁|ポスト|車庫|ガレージ|トランク|ブラインド|ロック)(?:が|は|も)$"
)


@rule("opens", Kind.TEXT, "あ", r"開(?=い[てた]|き[まっ]|かな|くと)")
def opens(match: re.Match[str]) -> str | None:
    """ドアが開きました: アク, where the front end sees ヒラク."""
    return "あ" if _OPENS.search(before(match)) else None


@rule("falls", Kind.TEXT, "あ", r"降(?=[らりるれろっ])")
def falls(match: re.Match[str]) -> str | None:
    """雨が降りそうです: フリ, where the front end sees オリ."""
    return "ふ" if re.search(r"(?:雨|雪|あられ|ひょう|みぞれ|霰|雹|霙)[がもはの]?$", before(match, 5)) else None


_NUMERALS = "一二三四五六七八九"


@rule(
    "minutes",
    Kind.TIME,
    "あ",
    r"(?<![一二三四五六七八九十百千万何数])([二三四五])?(十)?([一二三四五六七八九])?(?=分(?:前|後|間|ほど|以内|おき|ごと|経))",
)
def minutes(match: re.Match[str]) -> str | None:
    """五分前 is of time; the front end sees 五分 (ゴブ)."""
    tens, ten, ones = match.groups()
    if ones is None and tens is not None and ten is None:
        tens, ones = None, tens
    if tens is not None and ten is None:
        return None
    value = (_NUMERALS.index(tens) + 1 if tens else 1) * 10 if ten else 0
    return str(value + (_NUMERALS.index(ones) + 1 if ones else 0))


@rule("long vowel", Kind.TEXT, "あ", r"ー+")
def long_vowel(match: re.Match[str]) -> str | None:
    """ー after anything but kana has no vowel to lengthen."""
    return match.group() if re.search(r"[ぁ-ゖァ-ヺ]$", before(match, 1)) else ""


RULES: tuple[Rule, ...] = (opens, falls, minutes, long_vowel)
