"""The words of sections whose templates are files of the folder ``words``, one for each section and language."""

from __future__ import annotations

from pathlib import Path

_WORDS = Path(__file__).with_name("words")
_LANGUAGES = ("ja", "en")


def words_of(section: str) -> dict[str, str]:
    """The Jinja2 templates of a section by language."""
    return {code: (_WORDS / f"{section}.{code}.j2").read_text(encoding="utf-8") for code in _LANGUAGES}
