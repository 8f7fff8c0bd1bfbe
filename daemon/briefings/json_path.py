"""A place in a JSON document: ``current.temperature``, ``days[0]["max temp"]``, with ``$.`` before it or not."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator

_STEP = re.compile(r"""(?:^|\.)(?P<key>[^.\[\]"']+)|\[(?P<index>-?\d+)\]|\[(?P<quote>["'])(?P<name>.*?)(?P=quote)\]""")

_MISSING = object()


def parse_path(text: str) -> tuple[str | int, ...]:
    """The steps of a path.

    Raises:
        ValueError: it is none.
    """
    rest = text.strip().removeprefix("$").removeprefix(".")
    steps: list[str | int] = []
    at = 0
    while at < len(rest):
        match = _STEP.match(rest, at) if at else _STEP.match(rest)
        if match is None:
            message = f'a path such as current.temperature or days[0]["max"] is expected, got {text!r}'
            raise ValueError(message)
        steps.append(int(match["index"]) if match["index"] else match["key"] or match["name"] or "")
        at = match.end()
    return tuple(steps)


def value_at(document: Any, path: str) -> Any:
    """What lies there.

    Raises:
        LookupError: nothing does; the message names the path.
    """
    here = document
    for step in parse_path(path):
        there = _MISSING
        if isinstance(here, dict):
            there = here.get(str(step), _MISSING)
        elif isinstance(here, list) and isinstance(step, int) and -len(here) <= step < len(here):
            there = here[step]
        if there is _MISSING:
            message = f"there is nothing under {path}"
            raise LookupError(message)
        here = there
    return here


def _checked(text: str) -> str:
    parse_path(text)
    return text


JsonPath = Annotated[str, AfterValidator(_checked)]
"""A path in the configuration."""
