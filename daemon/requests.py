"""Values that come as text in a request, whichever way it came."""

from __future__ import annotations

import re

from daemon.errors import RequestError


def parse_percent(text: str, name: str) -> int:
    """A whole number from 0 to 100.

    Raises:
        RequestError: it is not.
    """
    if not re.fullmatch(r"\s*\d{1,3}(\.0*)?\s*", text) or not 0 <= float(text) <= 100:
        message = f"{name}: a number from 0 to 100 is expected, got {text[:40]!r}"
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
