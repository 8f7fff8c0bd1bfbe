"""Reads JSON of sources: what is not as promised becomes one sentence, not a KeyError."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from daemon.briefings.fetcher import Answer
from daemon.errors import SectionError

_T = TypeVar("_T")


def parse_json(answer: Answer, source: str) -> Any:
    """The JSON of an answer.

    Raises:
        SectionError: it is none.
    """
    try:
        return json.loads(answer.body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise SectionError(f"{source}: the answer is not JSON") from None


def checked(read: Callable[[], _T], source: str) -> _T:
    """What ``read`` makes of data from outside.

    Raises:
        SectionError: a part is missing or of another kind.
    """
    try:
        return read()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SectionError(f"{source}: the answer is not built as expected ({_what(error)})") from None


def column(table: Mapping[str, Any], name: str, length: int) -> list[float | None]:
    """A column of numbers, in which None stands for what is unknown; a missing column is unknown throughout.

    Raises:
        ValueError: it is of another length.
    """
    values = table.get(name)
    if values is None:
        return [None] * length
    if not isinstance(values, Sequence) or len(values) != length:
        raise ValueError(f"{name} has another length than time")
    return [number(value) for value in values]


def number(value: Any) -> float | None:
    """A finite number, also from text; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def moments(values: Any) -> list[datetime]:
    """Moments in ISO 8601.

    Raises:
        TypeError, ValueError: something else.
    """
    return [datetime.fromisoformat(value) for value in values]


def _what(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{str(error.args[0])[:40]} is missing"
    return type(error).__name__
