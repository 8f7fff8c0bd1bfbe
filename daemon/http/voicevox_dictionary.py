"""VOICEVOX's interface: the user's dictionary, which is Asagoe's own file, read by all speakers at once."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException, Query
from fastapi import Path as InPath
from fastapi.responses import Response

from daemon.http.context import InContext
from daemon.http.dictionary import edit, words_of
from daemon.http.styles import word_uuid
from daemon.http.voicevox_models import UserDictWord, WordType
from engine import Dictionary, Word
from engine.text.characters import fold
from engine.text.dictionary import (
    PARTS_OF_SPEECH,
    checked_word,
    parse_dictionary,
    with_word,
    with_words,
    without_word,
)
from engine.text.kana import default_accent, moras, pronunciation

router = APIRouter(tags=["VOICEVOX: dictionary"])

MAX_WORDS = 1_000
"""Of one import."""

_TYPES: dict[str, str] = {
    "PROPER_NOUN": "proper noun",
    "LOCATION_NAME": "place",
    "ORGANIZATION_NAME": "organization",
    "PERSON_NAME": "proper noun",
    "PERSON_FAMILY_NAME": "surname",
    "PERSON_GIVEN_NAME": "given name",
    "COMMON_NOUN": "noun",
    "SUFFIX": "suffix",
}
_NAMES = {details: name for name, details in PARTS_OF_SPEECH.items()}
_KINDS = {"名詞,固有名詞": "proper noun", "名詞,一般": "noun", "名詞,接尾": "suffix"}
"""Of words whose details are others than ours."""

Surface = Annotated[str, Query(max_length=200, examples=["東横線"])]
Pronunciation = Annotated[str, Query(max_length=200, examples=["トーヨコセン"])]
AccentType = Annotated[int, Query(ge=0, le=99, description="the mora after which the pitch falls; 0 for a flat word")]
TypeOfWord = Annotated[WordType | None, Query(description="verbs and adjectives are not kept: they inflect")]
Priority = Annotated[int | None, Query(ge=0, le=10)]
WordUuid = Annotated[str, InPath(max_length=64)]


@router.get("/user_dict")
async def user_dict(context: InContext) -> dict[str, UserDictWord]:
    """The words of the dictionary, by UUID; a surface has one word."""
    return {_uuid(word.surface): _model(word) for word in await words_of(context)}


@router.post("/user_dict_word")
async def add_user_dict_word(
    context: InContext,
    surface: Surface,
    pronunciation: Pronunciation,
    accent_type: AccentType,
    word_type: TypeOfWord = None,
    priority: Priority = None,
) -> str:
    """Add a word, or change the one of that surface; it is read at once. The answer is its UUID."""
    word = _word(surface, pronunciation, accent_type, word_type, priority)
    await edit(context, lambda text, source: with_word(text, word, source))
    return _uuid(surface)


@router.put("/user_dict_word/{word_uuid}", status_code=204, response_class=Response)
async def rewrite_user_dict_word(
    context: InContext,
    word_uuid: WordUuid,
    surface: Surface,
    pronunciation: Pronunciation,
    accent_type: AccentType,
    word_type: TypeOfWord = None,
    priority: Priority = None,
) -> None:
    """Change a word; with another surface it gets another UUID."""
    word = _word(surface, pronunciation, accent_type, word_type, priority)

    def change(text: str, source: str) -> str:
        old = _found(parse_dictionary(text, source), word_uuid)
        if _uuid(old.surface) != _uuid(surface):
            text = without_word(text, old.surface, source)
        return with_word(text, word, source)

    await edit(context, change)


@router.delete("/user_dict_word/{word_uuid}", status_code=204, response_class=Response)
async def delete_user_dict_word(context: InContext, word_uuid: WordUuid) -> None:
    """Take a word out."""
    await edit(
        context,
        lambda text, source: without_word(text, _found(parse_dictionary(text, source), word_uuid).surface, source),
    )


@router.post("/import_user_dict", status_code=204, response_class=Response)
async def import_user_dict(
    context: InContext,
    words: Annotated[dict[str, UserDictWord], Body(max_length=MAX_WORDS)],
    override: Annotated[bool, Query(description="whether words that are there already are changed")],
) -> None:
    """Add several words at once: all of them, or none."""
    given = [_imported(model) for model in words.values()]

    def change(text: str, source: str) -> str:
        known = {_uuid(word.surface) for word in parse_dictionary(text, source).words}
        wanted = [word for word in given if override or _uuid(word.surface) not in known]
        return with_words(text, wanted, source) if wanted else text

    await edit(context, change)


def _uuid(surface: str) -> str:
    return word_uuid(fold(surface).lower())


def _found(dictionary: Dictionary, uuid: str) -> Word:
    word = next((word for word in dictionary.words if _uuid(word.surface) == uuid), None)
    if word is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no word has that UUID; GET /user_dict lists them")
    return word


def _word(surface: str, pronunciation: str, accent: int, kind: str | None, priority: int | None) -> Word:
    part = _TYPES.get(kind or "PROPER_NOUN")
    if part is None:
        detail = f"{kind} is not kept in this dictionary: it would need every inflection; use COMMON_NOUN for one form"
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    facts = {"reading": pronunciation, "accent": str(accent), "part of speech": part}
    if priority is not None:
        facts["priority"] = str(priority)
    try:
        return checked_word(surface, facts)
    except ValueError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def _imported(model: UserDictWord) -> Word:
    kind = f"{model.part_of_speech},{model.part_of_speech_detail_1}"
    details = f"{kind},{model.part_of_speech_detail_2},{model.part_of_speech_detail_3}"
    part = _NAMES.get(details) or _KINDS.get(kind)
    if part is None:
        detail = f"{model.surface!r}: the part of speech {details} is not kept in this dictionary"
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    facts = {
        "reading": model.pronunciation,
        "accent": str(model.accent_type),
        "part of speech": part,
        "priority": str(model.priority),
    }
    try:
        return checked_word(model.surface, facts)
    except ValueError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def _model(word: Word) -> UserDictWord:
    kana = pronunciation(word.reading)
    part, first, second, third = PARTS_OF_SPEECH[word.part_of_speech].split(",")
    return UserDictWord(
        surface=word.surface,
        priority=word.priority,
        part_of_speech=part,
        part_of_speech_detail_1=first,
        part_of_speech_detail_2=second,
        part_of_speech_detail_3=third,
        yomi=kana,
        pronunciation=kana,
        accent_type=default_accent(kana) if word.accent is None else word.accent,
        mora_count=len(moras(kana)),
    )
