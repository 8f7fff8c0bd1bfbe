"""The secrets within a part of the configuration, and text that must not repeat them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, unquote

from pydantic import BaseModel

from daemon.config.values import Secret

SHORTEST = 4
"""Characters of a secret; one that is shorter would be found in any text."""


def secrets_of(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Secret]]:
    """All secrets within the keys of something, with their places."""
    if isinstance(value, Secret):
        yield path, value
    elif isinstance(value, BaseModel):
        for key, field in type(value).model_fields.items():
            yield from secrets_of(getattr(value, key), (*path, field.alias or key))
    elif isinstance(value, dict | list | tuple):
        items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from secrets_of(item, (*path, key))


def without_secrets(text: str, settings: Any) -> str:
    """A text in which the secrets of some settings, as they are or as addresses write them, are replaced by ***."""
    for _, secret in secrets_of(settings):
        try:
            revealed = secret.reveal()
        except ValueError:
            continue
        for form in sorted({revealed, quote(revealed), quote(revealed, safe=""), unquote(revealed)}, key=len)[::-1]:
            if len(form) >= SHORTEST:
                text = text.replace(form, "***")
    return text
