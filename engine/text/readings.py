"""A reading given within a text: ``{東横線|とうよこせん}``, with the accent ``{橋|はし:2}``.

The same notation carries readings from the rules to the front end, so that it works for every voice family: the
surface stays what it is for whoever looks at the written word, the reading decides the sound. Plain text does not
hit it by accident: it takes a brace, a bar, nothing but kana up to the closing brace, and no line end between.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.text.kana import is_reading, moras, pronunciation

MAX_LENGTH = 40
"""Characters of a surface, and of a reading, at most."""

NOTATION = re.compile(
    rf"\{{(?P<surface>[^{{}}|\n]{{1,{MAX_LENGTH}}})\|(?P<reading>[ぁ-ゔァ-ヴー]{{1,{MAX_LENGTH}}})(?::(?P<accent>[0-9]{{1,2}}))?\}}"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A word with its pronunciation.

    Attributes:
        surface: as it is written.
        kana: its pronunciation in katakana.
        accent: the mora on which the pitch falls, counted from 1; 0 for a flat word; None when it was not given.
    """

    surface: str
    kana: str
    accent: int | None = None

    def __str__(self) -> str:
        accent = "" if self.accent is None else f":{self.accent}"
        return f"{{{self.surface}|{self.kana}{accent}}}"


def parse(match: re.Match[str]) -> Reading | None:
    """The reading of a match of ``NOTATION``; None when its kana or its accent cannot be spoken."""
    kana = pronunciation(match["reading"])
    accent = None if match["accent"] is None else int(match["accent"])
    if not is_reading(kana) or not match["surface"].strip() or (accent is not None and accent > len(moras(kana))):
        return None
    return Reading(match["surface"], kana, accent)


def replace_readings(text: str, put: Callable[[Reading], str]) -> str:
    """Replace every notation of a text."""

    def one(match: re.Match[str]) -> str:
        reading = parse(match)
        return match.group() if reading is None else put(reading)

    return NOTATION.sub(one, text)


def without_notation(text: str) -> str:
    """The text as it is written: surfaces in place of notations."""
    return replace_readings(text, lambda reading: reading.surface)
