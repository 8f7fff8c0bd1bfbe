"""Text as it can be spoken: no markup, no control characters, no line ends."""

from __future__ import annotations

import html
import re
import unicodedata

_UNSEEN = re.compile(r"<(script|style)\b[^>]*>.*?</\1\s*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<[!?][^<>]*>")
_SPACES = re.compile(r"[^\S\n]+")
_SILENT = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Unicode categories that no reader sees: control, format, surrogates, private use, unassigned."""


def plain(text: str, between: str = "") -> str:
    """Clean a text.

    Args:
        text: may come from anywhere.
        between: what joins two lines.
    """
    for _ in range(2):  # markup that was written as entities comes out as markup
        text = html.unescape(_TAG.sub("", _UNSEEN.sub("", text)))
    text = _TAG.sub("", text).replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    text = "".join(" " if c == "\t" else c for c in text if c in "\n\t" or unicodedata.category(c) not in _SILENT)
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return between.join(line for line in lines if line)
