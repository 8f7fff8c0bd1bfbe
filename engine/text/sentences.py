"""Where to breathe: text is cut into sentences, and long sentences into clauses.

A cut decides three things at once: what a voice synthesizes in one piece (memory grows with it), where an
interrupted announcement resumes, and how long the pause is.
"""

from __future__ import annotations

import re

from engine.text.characters import is_readable
from engine.text.types import Sentence

MAX_CHARACTERS = 90
"""No piece is longer; about 15 seconds of speech."""

PAUSE_LINE = 0.55
PAUSE_SENTENCE = 0.40
PAUSE_CLAUSE = 0.20
PAUSE_FORCED = 0.05

_CLOSERS = "」』）)】〉》〕\"'”’"
_END = re.compile(rf"(?:[。！？!?]|\.(?=\s|$))[。！？!?.…]*[{re.escape(_CLOSERS)}]*|\n+")
_CLAUSE = re.compile(r"[、,;；・…:：]|(?<=[ぁ-ん])[ ]")
_WHOLE = re.compile(
    r"\{[^{}|\n]{1,40}\|[^{}|\n]{1,45}\}|(?:マイナス|プラス|華氏|第|約|令和|平成|昭和)?"
    r"(?:\d[\d.]{0,40}(?:[ァ-ヺー]{1,20}|[一-龠々]{1,4}|)){1,3}"
)
"""Not cut: a reading in its notation, and a number with its sign and its unit, also 12月24日 and 1時間30分."""

_OPENING = {"「": "」", "『": "』", "(": ")", "（": "）"}


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Cut normalised text into pieces of at most ``MAX_CHARACTERS``; pieces without a reading are joined.

    Quoted sentences stay with the sentence that quotes them (「はい。」と言った。).
    """
    pieces: list[Sentence] = []
    for sentence, pause in _sentences(text):
        for clause, gap in _clauses(sentence, pause):
            if is_readable(clause):
                pieces.append(Sentence(clause.strip(), gap))
            elif pieces:  # "……" after a sentence lengthens its pause and is not spoken by itself
                pieces[-1] = Sentence(pieces[-1].text, max(pieces[-1].pause, gap))
    return tuple(pieces)


def _sentences(text: str) -> list[tuple[str, float]]:
    cut: list[tuple[str, float]] = []
    start = 0
    for match in _END.finditer(text):
        line_end = match.group().startswith("\n")
        if not line_end and _inside_quotation(text, start, match.end()):
            continue
        cut.append((text[start : match.end()], PAUSE_LINE if line_end else PAUSE_SENTENCE))
        start = match.end()
    cut.append((text[start:], PAUSE_SENTENCE))
    return cut


def _inside_quotation(text: str, start: int, end: int) -> bool:
    """Whether the cut would separate a quotation from its frame: it is open, or goes on with と or って."""
    piece = text[start:end]
    if any(piece.count(opening) > piece.count(closing) for opening, closing in _OPENING.items()):
        closes = any(closing in text[end : end + MAX_CHARACTERS] for closing in _OPENING.values())
        return closes and len(piece) < MAX_CHARACTERS
    return piece[-1:] in _CLOSERS and text.startswith(("と", "って", "の", "、"), end)


def _clauses(sentence: str, pause: float) -> list[tuple[str, float]]:
    cut: list[tuple[str, float]] = []
    start = 0
    while len(sentence) - start > MAX_CHARACTERS:
        at, gap = _cut(sentence[start : start + 2 * MAX_CHARACTERS])
        cut.append((sentence[start : start + at], gap))
        start += at
    cut.append((sentence[start:], pause))
    return cut


def _cut(window: str) -> tuple[int, float]:
    """Where to cut a sentence that is longer than the window allows, and how long to breathe there.

    Args:
        window: the beginning of the sentence, long enough to show what the end of a piece would cut through.
    """
    whole = [match.span() for match in _WHOLE.finditer(window)]

    def is_free(at: int) -> bool:
        return not any(start < at < end for start, end in whole)

    breaths = [match.end() for match in _CLAUSE.finditer(window) if MAX_CHARACTERS // 4 < match.end() <= MAX_CHARACTERS]
    for at in reversed(breaths):
        if is_free(at):
            return at, PAUSE_CLAUSE
    for at in range(MAX_CHARACTERS, MAX_CHARACTERS // 2, -1):
        if _begins_word(window[at - 1], window[at]) and is_free(at):
            return at, PAUSE_FORCED
    for start, end in whole:
        if 0 < start < MAX_CHARACTERS < end:
            return start, PAUSE_FORCED
    return MAX_CHARACTERS, PAUSE_FORCED


def _begins_word(before: str, after: str) -> bool:
    """Where a word probably begins: from kana to something else."""
    return "ぁ" <= before <= "ん" and not "ぁ" <= after <= "ん"
