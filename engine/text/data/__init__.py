"""Word lists, written for this project."""

from __future__ import annotations

from importlib import resources


def pairs(name: str) -> list[tuple[str, str]]:
    """The entries of a list: lines of the form ``surface = reading``; lines that begin with # are comments."""
    text = resources.files(__name__).joinpath(name).read_text("utf-8")
    split = (line.split(" = ") for line in text.splitlines() if " = " in line and not line.startswith("#"))
    return [(surface.strip(), reading.strip()) for surface, reading in split]
