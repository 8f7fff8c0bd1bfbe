"""The options of a request for speech, with their ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from engine.errors import InvalidOptionError


@dataclass(frozen=True, slots=True)
class Range:
    """The allowed values of a numeric option, ends included."""

    low: float
    high: float
    default: float
    unit: str
    meaning: str
    whole: bool = False


OPTION_RANGES: dict[str, Range] = {
    "style_weight": Range(0.0, 10.0, 1.0, "", "how far to go from the neutral style towards the chosen one"),
    "speed": Range(0.25, 4.0, 1.0, "times", "1.2 is faster"),
    "sdp_ratio": Range(0.0, 1.0, 0.2, "", "share of the stochastic duration predictor"),
    "noise": Range(0.0, 2.0, 0.6, "", "variation of the sound"),
    "noise_w": Range(0.0, 2.0, 0.8, "", "variation of the durations"),
    "pitch": Range(-12.0, 12.0, 0.0, "semitones", "0 leaves the voice as it is"),
    "intonation": Range(0.0, 2.0, 1.0, "times", "range of the pitch around its mean"),
    "volume": Range(0.0, 2.0, 1.0, "times", "amplitude relative to the even loudness"),
    "speaker_id": Range(0, 65535, 0, "", "which voice of a model that has several", whole=True),
    "seed": Range(0, 2**32 - 1, 0, "", "the same seed gives the same audio", whole=True),
}


@dataclass(frozen=True, slots=True)
class SpeechOptions:
    """How to speak. None leaves an option to the speaker's default.

    Numeric ranges are in ``OPTION_RANGES``; ``style`` is one of the voice's styles; ``assist_text`` is a text
    whose mood the voice borrows without speaking it.
    """

    style: str | None = None
    style_weight: float | None = None
    speed: float | None = None
    sdp_ratio: float | None = None
    noise: float | None = None
    noise_w: float | None = None
    pitch: float | None = None
    intonation: float | None = None
    volume: float | None = None
    speaker_id: int | None = None
    seed: int | None = None
    assist_text: str | None = None

    def __post_init__(self) -> None:
        for name in OPTION_RANGES:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _checked(name, value))
        for name in ("style", "assist_text"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                message = f"{name} must be text, got {value!r}"
                raise InvalidOptionError(message)

    @classmethod
    def of(cls, options: dict[str, Any]) -> SpeechOptions:
        """Make options from keywords.

        Raises:
            InvalidOptionError: an unknown name or a value out of range.
        """
        known = {item.name for item in fields(cls)}
        for name in options:
            if name not in known:
                message = f"unknown option {name!r}; known are {', '.join(sorted(known))}"
                raise InvalidOptionError(message)
        return cls(**options)

    def over(self, defaults: SpeechOptions) -> SpeechOptions:
        """These options, with gaps filled from ``defaults``."""
        return replace(defaults, **self.given())

    def given(self) -> dict[str, Any]:
        """The options that are set, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    def number(self, name: str) -> float:
        """The value of a numeric option, or its general default."""
        value = getattr(self, name)
        return float(OPTION_RANGES[name].default if value is None else value)


def _checked(name: str, value: object) -> float | int:
    allowed = OPTION_RANGES[name]
    kind = "a whole number" if allowed.whole else "a number"
    span = f"{kind} from {allowed.low:g} to {allowed.high:g}{' ' + allowed.unit if allowed.unit else ''}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"{name} must be {span}, got {value!r}"
        raise InvalidOptionError(message)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    outside = not math.isfinite(number) or not allowed.low <= number <= allowed.high
    if outside or (allowed.whole and number != int(number)):
        message = f"{name} must be {span}, got {value if math.isfinite(number) else 'a number beyond all bounds'}"
        raise InvalidOptionError(message)
    return int(number) if allowed.whole else number
