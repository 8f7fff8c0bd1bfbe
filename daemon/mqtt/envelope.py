"""A command's payload: a plain value, or a JSON object with the value and an id for the answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from daemon.errors import RequestError
from daemon.mqtt.strict import has_half_pair, parse_json

_KEYS = {"value", "id"}
_OBJECT = re.compile(r'\s*\{\s*"')


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a command was sent with.

    Attributes:
        text: the value as text; empty where none was given.
        id: the sender's name for the command, or None.
    """

    text: str
    id: str | None = None


def parse_envelope(text: str) -> Envelope:
    """Read the payload of a command.

    An object with no other keys than ``value`` and ``id`` is an envelope; any other text, also another object, is the
    value itself.

    Raises:
        RequestError: it begins like an object and is no JSON, or the id is no text of 1 to 128 characters.
    """
    if not _OBJECT.match(text):
        return Envelope(text)
    body = parse_json(text)
    if not isinstance(body, dict) or not body.keys() <= _KEYS:
        return Envelope(text)
    name = body.get("id")
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 128 and not has_half_pair(name)):
        message = "id: text of 1 to 128 characters is expected"
        raise RequestError(message)
    value = body.get("value", "")
    if isinstance(value, str):
        if has_half_pair(value):
            message = "value: half of a surrogate pair is no character"
            raise RequestError(message, name)
        return Envelope(value, name)
    return Envelope("" if value is None else json.dumps(value, ensure_ascii=False), name)
