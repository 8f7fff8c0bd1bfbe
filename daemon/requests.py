"""Values that come as text in a request, whichever way it came."""

from __future__ import annotations

import re

from daemon.errors import RequestError


def parse_percent(text: str, name: str) -> int:
    """A whole number from 0 to 100.

    Raises:
        RequestError: it is not.
    """
    return parse_number(text, name, 0, 100)


def parse_number(text: str, name: str, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``; at most three digits.

    Raises:
        RequestError: it is not.
    """
    if not re.fullmatch(r"\s*\d{1,3}(\.0*)?\s*", text) or not low <= float(text) <= high:
        message = f"{name}: a number from {low} to {high} is expected, got {text[:40]!r}"
        raise RequestError(message)
    return int(float(text))


def parse_switch(text: str, name: str) -> bool:
    """ON or OFF, also true, false, 1 and 0.

    Raises:
        RequestError: it is something else.
    """
    word = text.strip().lower()
    if word not in ("on", "off", "true", "false", "1", "0"):
        message = f"{name}: ON or OFF is expected, got {text[:40]!r}"
        raise RequestError(message)
    return word in ("on", "true", "1")
