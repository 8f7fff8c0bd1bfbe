"""The default words of bundled sections: files of the folder ``words``, one for each section and language."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_WORDS = Path(__file__).with_name("words")


@cache
def template(section: str, language: str) -> str:
    """The Jinja2 template of a section: in the language, else in English."""
    for code in (language, language.partition("-")[0], "en"):
        path = _WORDS / f"{section}.{code}.j2"
        if code.isalnum() and path.is_file():
            return path.read_text(encoding="utf-8")
    raise LookupError(section)
