"""Cleans text that came from outside, so that what is left can be spoken: no tags, no signs without a sound."""

from __future__ import annotations

import html
import re
import unicodedata
from html.parser import HTMLParser

_MOST = 20_000  # characters that are looked at: no headline or event needs more
_URL = re.compile(
    r"(?:https?|ftp|webcal|mailto):(?://)?[^\s<>「」『』（）。、]+|\bwww\.[A-Za-z0-9][^\s<>「」『』（）。、]*",
    re.IGNORECASE,
)
_TAG_LIKE = re.compile(r"</?[A-Za-z!][^<>]{0,2000}>")
_LOOSE = re.compile(r"<(?![A-Za-z/!?][^<>]{0,2000}>)")
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,2000}\)")
_MARKDOWN = re.compile(r"(\*{1,3}|_{2,3}|~~|`{1,3})(?=\S)(.{1,300}?)(?<=\S)\1")
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s+|>\s?|[-*+]\s+)", re.MULTILINE)
_DRAWN_LINE = re.compile(r"([-=_*~#─━―＝＿＊・.。、,])\1{3,}")
_SENTENCE_END = re.compile(r"[。！？!?]+[」』）)\"']*|\.(?=\s|$)")
_PAUSE = re.compile(r"[、，,;；：:\s]")
_SILENT = {"script", "style", "template", "noscript", "svg", "math", "head", "iframe", "object"}
_VOID = {"br", "p", "div", "li", "tr", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "hr"}
# Signs of the category Other_Symbol that are read aloud.
_SPOKEN_SIGNS = frozenset("℃℉°№℡㈱㈲㎝㎞㎏㎡㍉㌔㌢㍍㌘㌧㌃㌶㍑㍗㌍㌦㌣㌫㍊㌻〒")


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._silent += tag in _SILENT
        if tag in _VOID:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT and self._silent:
            self._silent -= 1
        if tag in _VOID:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)


def clean(text: str, limit: int = 200) -> str:
    """One line of speakable text.

    Tags go (with the content of scripts and styles), character references become characters, and what has no sound
    goes: addresses, Markdown's signs, control, bidirectional and zero-width characters, private use, emoji, drawn
    lines. Letters, digits and punctuation stay as they are.

    Args:
        text: anything.
        limit: most characters of the result, which ends with a sentence where one ends in time; see :func:`cut`.
    """
    text = _without_markup(text[:_MOST])
    text = _MARKDOWN_LINK.sub(r"\1", text)
    text = _URL.sub(" ", text)
    text = _MARKDOWN.sub(r"\2", _MARKDOWN.sub(r"\2", _HEADING.sub("", text)))
    text = _DRAWN_LINE.sub(" ", _without_silent_characters(text))
    return cut(_closed(re.sub(r"\s+", " ", text)), limit)


def cut(text: str, limit: int) -> str:
    """At most so many characters: to the last sentence that ends in time, else to a pause, else to the last letter.

    A sentence or pause in the first third is not taken: too much would be lost.
    """
    if len(text) <= limit:
        return text
    head = text[: limit + 1]
    for pattern, keep in ((_SENTENCE_END, True), (_PAUSE, False)):
        ends = [match.end() if keep else match.start() for match in pattern.finditer(head)]
        good = [end for end in ends if limit // 3 < end <= limit]
        if good:
            return text[: good[-1]].strip()
    while limit and (unicodedata.combining(text[limit]) or text[limit] in "ーゃゅょっャュョッぁぃぅぇぉァィゥェォ"):
        limit -= 1  # a letter is not parted from what changes its sound
    return text[:limit].strip()


def _without_markup(text: str) -> str:
    # Feeds escape their HTML once, and some twice: `&amp;lt;b&amp;gt;`.
    for _ in range(3):
        if "<" not in text and "&" not in text:
            break
        parser = _Words()
        # A bracket that opens no tag is text, and would make the parser look for its end again and again.
        parser.feed(_LOOSE.sub("&lt;", text))
        parser.close()
        plain = html.unescape("".join(parser.parts))
        if plain == text:
            break
        text = plain
    return _TAG_LIKE.sub(" ", text)


def _without_silent_characters(text: str) -> str:
    kept: list[str] = []
    for letter in text:
        category = unicodedata.category(letter)
        if letter in "\n\t\r\x0b\x0c\x85\u2028\u2029" or category == "Zs":
            kept.append(" ")
        elif category in {"Cc", "Cf", "Co", "Cs", "Cn", "Sk"} and letter not in "゛゜":
            continue
        elif category == "So" and letter not in _SPOKEN_SIGNS:
            kept.append(" ")
        elif letter in "\ufe0e\ufe0f\u20e3" or "\U000e0000" <= letter <= "\U000e0fff":
            continue  # variation selectors, keycaps and tags of emoji
        else:
            kept.append(letter)
    return "".join(kept)


def _closed(text: str) -> str:
    """Without spaces between Japanese and its punctuation, without empty brackets and doubled marks."""
    text = re.sub(r"[（(【\[「『《<＜]\s*[）)】\]」』》>＞]", "", text)
    text = re.sub(r"\s+(?=[。、！？!?,，)）」』】])|(?<=[（(「『【、。])\s+", "", text)
    text = re.sub(r"([。、！？!?])\1+", r"\1", text)
    return text.strip(" 　\t、,")
