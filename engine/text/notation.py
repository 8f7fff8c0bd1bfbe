"""Accent phrases as one line of kana, in the notation that clients of VOICEVOX know.

Everything is katakana as it is pronounced. ``/`` or ``、`` stands between accent phrases, ``、`` with a pause; ``'``
follows the mora after which the pitch falls, exactly one a phrase; ``_`` stands before a devoiced mora; ``？`` at the
end of a phrase asks. ``コ'ンヤワ/ア'メデ_ショオカ？``
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from engine.errors import BadRequestError
from engine.text.accents import PAUSE_COMMA, PHONEMES, AccentPhrase, Mora

_KANA = sorted(
    [
        *PHONEMES,
        "ヲ",
        "ヰ",
        "ヱ",
        "ヂ",
        "ヅ",
        "ヂャ",
        "ヂュ",
        "ヂョ",
        "ヴャ",
        "ヴュ",
        "ヴョ",
        *"ァィゥェォャュョヮヶヵ",
    ],
    key=len,
)
_PART = re.compile(rf"(?P<devoiced>_?)(?P<kana>{'|'.join(reversed(_KANA))}|ー)|(?P<accent>')|(?P<question>？)")
_VOWELS = MappingProxyType(dict(zip("aiueo", "アイウエオ", strict=True)))


class KanaError(BadRequestError):
    """A line of kana breaks the notation.

    Attributes:
        name: the error's name in VOICEVOX's interface, for example ``ACCENT_NOTFOUND``.
        arguments: what it is about, by ``text`` or ``position``.
    """

    def __init__(self, name: str, message: str, **arguments: str) -> None:
        super().__init__(message)
        self.name = name
        self.arguments: Mapping[str, str] = MappingProxyType(arguments)


def parse_kana(text: str) -> tuple[AccentPhrase, ...]:
    """Read the notation; a pause lasts ``PAUSE_COMMA``.

    Raises:
        KanaError: it breaks the rules.
    """
    pieces = re.split("([/、])", text)
    phrases: list[AccentPhrase] = []
    for position, piece in enumerate(pieces[::2], start=1):
        if not piece:
            message = f"accent phrase {position} of the kana is empty"
            raise KanaError("EMPTY_PHRASE", message, position=str(position))
        mark = pieces[2 * position - 1] if 2 * position - 1 < len(pieces) else ""
        phrases.append(_phrase(piece, PAUSE_COMMA if mark == "、" else None))
    return tuple(phrases)


def write_kana(phrases: Iterable[AccentPhrase]) -> str:
    """The phrases in the notation. Lengths of pauses are not part of it."""
    parts: list[str] = []
    for phrase in phrases:
        for index, mora in enumerate(phrase.moras):
            parts.append(f"_{mora.text}" if mora.vowel in "AIUEO" else mora.text)
            if index + 1 == phrase.accent:
                parts.append("'")
        if phrase.is_interrogative:
            parts.append("？")
        parts.append("/" if phrase.pause is None else "、")
    return "".join(parts[:-1])


def _phrase(text: str, pause: float | None) -> AccentPhrase:
    moras: list[Mora] = []
    accent, is_question, at = 0, False, 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            message = f"{text[at:]!r} is not katakana of this notation"
            raise KanaError("UNKNOWN_TEXT", message, text=text[at:])
        if is_question:
            message = f"？ stands only at the end of an accent phrase, not within {text!r}"
            raise KanaError("INTERROGATION_MARK_NOT_AT_END", message, text=text)
        if part["question"]:
            is_question = True
        elif part["kana"]:
            moras.append(_mora(part, moras, text[at:]))
        elif not moras:
            message = f"an accent cannot stand at the beginning of {text!r}: it follows its mora"
            raise KanaError("ACCENT_TOP", message, text=text)
        elif accent:
            message = f"{text!r} has two accents; a phrase has one"
            raise KanaError("ACCENT_TWICE", message, text=text)
        else:
            accent = len(moras)
        at = part.end()
    if not accent:
        message = (
            f"{text!r} has no accent; put ' after the mora where the pitch falls, after the last for a flat phrase"
        )
        raise KanaError("ACCENT_NOTFOUND", message, text=text)
    return AccentPhrase(tuple(moras), accent, pause, is_question)


def _mora(part: re.Match[str], before: list[Mora], rest: str) -> Mora:
    kana = part["kana"]
    if kana == "ー":
        kana = _VOWELS.get(before[-1].vowel.lower(), "") if before else ""
    try:
        return Mora.of_kana(kana, voiced=not part["devoiced"])
    except ValueError as error:
        raise KanaError("UNKNOWN_TEXT", f"{rest!r} cannot be read: {error}", text=rest) from error
