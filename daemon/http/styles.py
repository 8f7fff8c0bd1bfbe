"""Numbers for styles and UUIDs for speakers, as VOICEVOX clients keep them: the same after every start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID, uuid5

_NAMESPACE = UUID("8d1f4c0e-6a55-4f0b-9d0e-2f6f6d0f7a31")  # drawn once
_BITS = 31
"""Clients keep an id in a signed number of 32 bits."""


@dataclass(frozen=True, slots=True)
class Style:
    """A style of a speaker.

    Attributes:
        id: its number.
        speaker: name of the speaker.
        name: of the style.
    """

    id: int
    speaker: str
    name: str


def speaker_uuid(name: str) -> str:
    """The UUID of a speaker."""
    return str(uuid5(_NAMESPACE, f"speaker {name}"))


def word_uuid(surface: str) -> str:
    """The UUID of a word of the dictionary; its surface is folded."""
    return str(uuid5(_NAMESPACE, f"word {surface}"))


def styles_of(speakers: Mapping[str, Iterable[str]]) -> list[Style]:
    """All styles with their numbers, which names alone decide.

    Two that would have the same number (one house in a hundred million) are told apart in the order of their names.

    Args:
        speakers: names of the styles by name of the speaker.
    """
    pairs = [(speaker, style) for speaker, styles in speakers.items() for style in styles]
    numbers: dict[tuple[str, str], int] = {}
    taken: set[int] = set()
    for pair in sorted(pairs):
        attempt = 0
        while (number := _number(pair, attempt)) in taken:
            attempt += 1
        taken.add(number)
        numbers[pair] = number
    return [Style(numbers[pair], *pair) for pair in pairs]


def _number(pair: tuple[str, str], attempt: int) -> int:
    digest: bytes = hashlib.sha256("\0".join((*pair, str(attempt))).encode()).digest()
    return int.from_bytes(digest[:4], "big") & (1 << _BITS) - 1
