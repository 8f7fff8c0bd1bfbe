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


@rule("long vowel", Kind.TEXT, "あ", r"ー+")
def long_vowel(match: re.Match[str]) -> str | None:
    """ー after anything but kana has no vowel to lengthen."""
    return match.group() if re.search(r"[ぁ-ゖァ-ヺ]$", before(match, 1)) else ""


RULES: tuple[Rule, ...] = (opens, long_vowel)
