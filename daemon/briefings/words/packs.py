"""The language packs that there are."""

from __future__ import annotations

from daemon.briefings.words.en import English
from daemon.briefings.words.ja import Japanese
from daemon.briefings.words.pack import LanguagePack

_PACKS: dict[str, LanguagePack] = {pack.language: pack for pack in (Japanese(), English())}

LANGUAGES = tuple(_PACKS)


def pack_of(language: str) -> LanguagePack:
    """The pack of a language.

    Raises:
        ValueError: there is none; those that there are are named.
    """
    try:
        return _PACKS[language]
    except KeyError:
        message = f"there are words in {', '.join(LANGUAGES)}, not in {language!r}"
        raise ValueError(message) from None
