"""Values of the house and of the network, which come as text: numbers, words, or nothing."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from daemon.briefings.json_path import value_at
from daemon.briefings.words.plain import plain

MAX_VALUE = 2_000
"""Characters of a value."""

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
_NOTHING = frozenset({"", "unknown", "unavailable", "none", "null", "nan"})
"""What Home Assistant and others publish when there is no value."""


def parse_json(text: str | bytes) -> Any:
    """A JSON document.

    Raises:
        ValueError: it is none, or nested too deeply.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        message = "it is not JSON" if isinstance(error, ValueError) else "its JSON is nested too deeply"
        raise ValueError(message) from None


def spoken_value(value: Any) -> str | int | float | bool | None:
    """A number, a word, or None where there is no value; text that is a number becomes one.

    Raises:
        ValueError: a list or a mapping.
    """
    if isinstance(value, str):
        text = plain(value[: 4 * MAX_VALUE])[:MAX_VALUE]
        if text.lower() in _NOTHING:
            return None
        if _NUMBER.fullmatch(text):
            value = float(text) if re.search(r"[.eE]", text) else int(text)
        else:
            return text
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    message = "it is a list or a mapping; name a path within it"
    raise ValueError(message)


def value_of(payload: str, path: str | None) -> str | int | float | bool | None:
    """The value of a message.

    Raises:
        ValueError: it is not what the path expects.
    """
    if path is None:
        return spoken_value(payload)
    try:
        return spoken_value(value_at(parse_json(payload), path))
    except LookupError as error:
        raise ValueError(str(error.args[0])) from None
