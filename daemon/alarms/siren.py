"""The siren: rings now, with the sound, length and volume that were asked for. Home Assistant's way of asking."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from daemon.alarms.clips import BELL
from daemon.alarms.keeper import SIREN, AlarmKeeper
from daemon.chimes import chime_names
from daemon.commands import Commands
from daemon.errors import RequestError
from daemon.mqtt.strict import parse_json
from daemon.requests import parse_switch

_KEYS = ("state", "tone", "duration", "volume_level")
_LONGEST = 6 * 3600


def siren_tones() -> list[str]:
    """What the siren can sound like."""
    return [BELL, *chime_names()]


def add_siren_command(commands: Commands, keeper: AlarmKeeper) -> None:
    """Add ``set/siren``: ``ON``, ``OFF``, or ``{"state": "ON", "tone": …, "duration": …, "volume_level": …}``."""

    def siren(text: str) -> None:
        asked = _asked(text)
        if asked is not None:
            keeper.ring_bell(replace(SIREN, **asked))
        elif SIREN.id in keeper.rings:  # one that is silent already is no mistake
            keeper.dismiss(SIREN.id)

    commands.add("set/siren", siren)


def _asked(text: str) -> dict[str, Any] | None:
    """What was asked for, as attributes of an alarm; None to be silent.

    Raises:
        RequestError: it cannot be understood.
    """
    word = text.strip()
    value: Any = parse_json(word) if word.startswith("{") else {"state": word}
    unknown = set(value) - set(_KEYS)
    if unknown:
        message = f"siren: unknown key {min(unknown)[:40]!r}; known are {', '.join(_KEYS)}"
        raise RequestError(message)
    if not parse_switch(str(value.get("state", "ON")), "siren"):
        return None
    asked: dict[str, Any] = {}
    tone = value.get("tone")
    if tone is not None and tone not in siren_tones():
        message = f"siren: tone: one of {', '.join(siren_tones())} is expected, got {str(tone)[:40]!r}"
        raise RequestError(message)
    if tone is not None and tone != BELL:
        asked["sound"] = tone
    if value.get("duration") is not None:
        seconds = _number(value["duration"], "duration", 1, _LONGEST)
        asked |= {"max_ring": timedelta(seconds=seconds), "once": True}
    if value.get("volume_level") is not None:
        asked["volume"] = round(100 * _number(value["volume_level"], "volume_level", 0, 1))
    return asked


def _number(value: Any, name: str, low: float, high: float) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None or not low <= number <= high:
        message = f"siren: {name}: a number from {low:g} to {high:g} is expected, got {str(value)[:40]!r}"
        raise RequestError(message)
    return number
