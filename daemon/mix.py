"""How loud things are, and how a volume becomes an amplitude."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mix:
    """How loud things are.

    Attributes:
        volume: 0 to 100, of announcements that name none.
        muted: only critical announcements are heard.
    """

    volume: int
    muted: bool = False


def amplitude(volume: float) -> float:
    """From a volume of 0 to 100 to an amplitude factor.

    The square makes steps of equal size sound about equal: 50 is -12 dB, 25 is -24 dB, 10 is -40 dB.
    """
    return (volume / 100) ** 2
