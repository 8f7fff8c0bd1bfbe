"""A long text in stretches that can be read one after another, each as if the whole had been read at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

LENGTH = 300
"""Characters of a stretch at least; the first sound of a text waits for no more than about so many to be read."""

_END = re.compile(r"\n(?=[ぁ-んァ-ヺ一-鿿0-9A-Za-z「])|。(?=[ぁ-んァ-ヺ一-鿿])")
"""Where no rule looks across: before a line, and before a sentence, that begins with what stands for itself."""
_PAIRS = ("「」", "『』", "()", "（）", "[]", "［］", "{}", "｛｝", "【】", "〔〕", "〈〉", "《》", "“”", "‘’")
_CLOSES = {pair[0]: pair[1] for pair in _PAIRS}
_BRACKET = re.compile(f"[{re.escape(''.join(_PAIRS))}]")


def blocks(text: str) -> Iterator[str]:
    """Cut a text where nothing that is open (a quotation, a bracket) is cut through; a short one stays whole."""
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end - start >= LENGTH and _closed(text[start:end]):
            yield text[start:end]
            start = end
    if start < len(text) or not text:
        yield text[start:]


def _closed(text: str) -> bool:
    if text.count('"') % 2:
        return False
    waiting: list[str] = []
    for character in _BRACKET.findall(text):
        if character in _CLOSES:
            waiting.append(_CLOSES[character])
        elif not waiting or waiting.pop() != character:
            return False
    return not waiting
