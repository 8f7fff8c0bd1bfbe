"""Strict reading of what strangers send: text that is text, JSON without its traps."""

from __future__ import annotations

import json
import math
from typing import Any

from daemon.errors import RequestError


def decode(payload: bytes, limit: int, second_encoding: str | None = None) -> str:
    """The text of a payload.

    Args:
        payload: as it came.
        limit: of its size in bytes.
        second_encoding: tried where it is not UTF-8.

    Raises:
        RequestError: too large, or in neither encoding.
    """
    if len(payload) > limit:
        message = f"the message has {len(payload):,} bytes; at most {limit:,} are taken"
        raise RequestError(message)
    try:
        return payload.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if second_encoding is not None:
            try:
                return payload.decode(second_encoding)
            except UnicodeError:
                message = f"the message is neither UTF-8 nor {second_encoding}"
                raise RequestError(message) from error
        message = f"the message is not UTF-8: byte 0x{payload[error.start]:02x} at position {error.start}"
        raise RequestError(message) from error


def parse_json(text: str) -> Any:
    """A JSON value, without what the standard library lets through.

    Raises:
        RequestError: no JSON, a key twice, a number that is none or too large, nested too deeply.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=_bounded, parse_float=_finite
        )
    except RecursionError as error:
        message = "the JSON is nested too deeply"
        raise RequestError(message) from error
    except RequestError:
        raise
    except ValueError as error:
        message = f"the message begins like a JSON object but is none: {error}"
        raise RequestError(message) from error


def has_half_pair(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, which is no character."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        message = f"the key {twice[:80]!r} is given twice"
        raise RequestError(message)
    return result


def _refuse_constant(word: str) -> Any:
    message = f"{word} is not a JSON value"
    raise RequestError(message)


def _bounded(digits: str) -> int:
    if len(digits) > 20:
        message = f"a number of {len(digits)} digits is too large"
        raise RequestError(message)
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        message = f"the number {digits[:20]} is too large"
        raise RequestError(message)
    return value
