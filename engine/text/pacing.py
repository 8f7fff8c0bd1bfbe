"""How much is synthesized in one piece at the beginning of a text, so that it is heard soon, without a gap later.

The first sound of a text can come no sooner than its first piece is computed, and the next piece has as long as what
was heard before it lasts. So a long first sentence is cut at a comma, where the voice pauses anyway, and pieces grow as
fast as the lead does. Only the text decides, not the machine: the same text is always cut alike, and its cached phrases
stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.text.sentences import PAUSE_CLAUSE
from engine.text.types import Sentence

WHOLE = 30
"""Characters of a sentence, about four seconds of speech, that are not worth a cut at the price of its melody."""
SHORTEST = 8
"""Characters of a piece at least: a second of speech. Below, what every piece costs by itself weighs more than the
wait, and the melody of a fragment is not that of a sentence."""

RATE = 7.0
"""Characters that are spoken in a second (measured: 37 in 5.2 s)."""
COST = 1 / 3
"""Seconds of computing for a second of speech, of a machine that is fast enough to speak without gaps."""
OVERHEAD = 0.15
"""Seconds of computing for a piece, however short."""


def paced(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Cut the sentences at the beginning of a text where a piece would come too late; later ones pass as they are.

    Args:
        sentences: of one text, from its beginning; read no further than the one that is asked for.
    """
    lead = 0.0  # seconds of speech that are heard before the piece is needed, less what was computed meanwhile
    first = True
    for sentence in sentences:
        rest = sentence
        while True:
            piece, remainder = _cut(rest, 0 if first else int((lead - OVERHEAD) / COST * RATE))
            cost = 0.0 if first else OVERHEAD + COST * len(piece.text) / RATE
            lead = max(0.0, lead - cost) + len(piece.text) / RATE + piece.pause
            first = False
            yield piece
            if remainder is None:
                break
            rest = remainder


def _cut(sentence: Sentence, limit: int) -> tuple[Sentence, Sentence | None]:
    """A piece of not much more than ``limit`` characters where a comma allows it, and what is left."""
    text = sentence.text
    if len(text) <= max(WHOLE, limit) or sentence.phrases:
        return sentence, None
    commas = [at + 1 for at, c in enumerate(text) if c == "、" and SHORTEST <= at + 1 <= len(text) - SHORTEST]
    if not commas:
        return sentence, None
    at = max((comma for comma in commas if comma <= limit), default=commas[0])
    return Sentence(text[:at], PAUSE_CLAUSE), Sentence(text[at:].lstrip(), sentence.pause)
