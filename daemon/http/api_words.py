"""Asagoe's own interface: speakers and their memory, how a text is read, the words of the dictionary."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import BaseModel, Field

from daemon.http.context import Context, InContext
from daemon.http.dictionary import edit, words_of
from daemon.http.own import Asked, Line, example, problems
from daemon.http.voicevox_models import Text
from engine import Speaker, UnknownSpeakerError
from engine.text import describe
from engine.text.dictionary import PARTS_OF_SPEECH, checked_word, with_word, without_word
from engine.text.kana import pronunciation

router = APIRouter(tags=["Asagoe: speakers and words"])

SpeakerName = Annotated[str, InPath(max_length=64, examples=["mei"])]
LONGEST_READ = 1_000


class SpeakerState(BaseModel):
    """A speaker of the configuration."""

    name: str
    state: Literal["ready", "released", "elsewhere", "unavailable"] = Field(
        description="released: its voice is not in memory and is loaded when it is needed; elsewhere: another node's"
    )
    default: bool
    family: str | None = None
    memory_mb: float = 0.0
    styles: list[str] = []
    options: list[str] = Field(default=[], description="what can be asked of it beside the style")
    reason: str | None = Field(default=None, description="why it is not available, or failed at its last sentence")


class ReadRequest(Asked):
    """A text whose reading is asked for."""

    model_config = example({"text": "橋を渡る。箸を置く。"})
    text: Text = Field(min_length=1, max_length=LONGEST_READ)


class ReadPhrase(BaseModel):
    """Words that share one rise and fall of the pitch."""

    kana: str
    accent: int = Field(description="the mora after which the pitch falls, from 1; 0 where it does not")


class ReadSentence(BaseModel):
    """A sentence with its reading."""

    text: str
    kana: str
    pause: float = Field(description="seconds after it")
    phrases: list[ReadPhrase]


class Unread(BaseModel):
    """What has no reading."""

    text: str
    reason: str


class Reading(BaseModel):
    """How a text is read."""

    normalized: str
    kana: str
    sentences: list[ReadSentence]
    unread: list[Unread]


class WordModel(Asked):
    """A word of the dictionary."""

    model_config = example({"surface": "朝声", "reading": "アサゴエ", "accent": 0})
    surface: Line = Field(min_length=1, description="as it is written")
    reading: Line = Field(min_length=1, description="kana")
    accent: int | None = Field(default=None, ge=0, le=99, description="the mora after which the pitch falls; 0: flat")
    part_of_speech: Literal[tuple(PARTS_OF_SPEECH)] | None = Field(  # type: ignore[valid-type]
        default=None, description="default: proper noun"
    )


class Words(BaseModel):
    """The dictionary.

    Attributes:
        configured: whether there is a file for words.
        words: all of them.
    """

    configured: bool
    words: list[WordModel]


@router.get("/api/speakers", responses=problems(401, 403))
async def speakers(context: InContext) -> list[SpeakerState]:
    """The speakers of the configuration, and the memory that they take."""
    backend = context.backend
    state, default = await backend.on_loop(lambda: (backend.snapshot(), backend.speaker()))
    ready, own = backend.renderer.speakers, backend.tts.speakers
    reasons = {**backend.renderer.failing, **state["unavailable"]}
    names = dict.fromkeys([*state["speakers"], *own])
    return [_speaker(name, ready.get(name), name in own, reasons.get(name), default=name == default) for name in names]


@router.post(
    "/api/speakers/{name}/load", status_code=204, response_class=Response, responses=problems(401, 403, 404, 503)
)
async def load_speaker(context: InContext, name: SpeakerName) -> None:
    """Load its voice, if that was freed."""
    await asyncio.to_thread(_own(context, name).wake)


@router.post("/api/speakers/{name}/unload", status_code=204, response_class=Response, responses=problems(401, 403, 404))
async def unload_speaker(context: InContext, name: SpeakerName) -> None:
    """Free its voice, after the sentence that it is at; its next sentence loads it again."""
    _own(context, name)
    await asyncio.to_thread(context.backend.tts.release, name)


@router.post("/api/read", responses=problems(401, 403, 422))
async def read(context: InContext, body: ReadRequest) -> Reading:
    """How a text is read: kana, accents, pauses, and what cannot be read."""
    found = await context.work.read(lambda: describe(body.text, context.backend.tts.text))
    return Reading(
        normalized=found.normalized,
        kana=found.kana,
        sentences=[
            ReadSentence(
                text=spoken.sentence.text,
                kana=spoken.kana,
                pause=round(spoken.sentence.pause, 2),
                phrases=[ReadPhrase(kana=phrase.kana, accent=phrase.accent) for phrase in spoken.phrases],
            )
            for spoken in found.sentences
        ],
        unread=[Unread(text=dropped.text, reason=dropped.reason) for dropped in found.dropped],
    )


@router.get("/api/dictionary", responses=problems(401, 403, 409))
async def dictionary(context: InContext) -> Words:
    """The words of the dictionary."""
    words = [
        WordModel(
            surface=word.surface,
            reading=pronunciation(word.reading),
            accent=word.accent,
            part_of_speech=word.part_of_speech,
        )
        for word in await words_of(context)
    ]
    return Words(configured=context.backend.dictionary() is not None, words=words)


@router.post("/api/dictionary", responses=problems(401, 403, 409, 422))
async def add_word(context: InContext, word: WordModel) -> WordModel:
    """Add a word, or change the one of that surface; all speakers read it so at once."""
    facts = {"reading": word.reading}
    if word.accent is not None:
        facts["accent"] = str(word.accent)
    if word.part_of_speech is not None:
        facts["part of speech"] = word.part_of_speech
    try:
        checked = checked_word(word.surface, facts)
    except ValueError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    await edit(context, lambda text, source: with_word(text, checked, source))
    return word


@router.delete("/api/dictionary", status_code=204, response_class=Response, responses=problems(401, 403, 404, 409, 422))
async def remove_word(context: InContext, surface: Annotated[str, Query(min_length=1, max_length=200)]) -> None:
    """Take a word out."""
    if surface not in {word.surface for word in await words_of(context)}:
        raise HTTPException(HTTPStatus.NOT_FOUND, "there is no word of that surface; GET /api/dictionary lists them")
    await edit(context, lambda text, source: without_word(text, surface, source))


def _speaker(name: str, speaker: Speaker | None, own: bool, reason: str | None, *, default: bool) -> SpeakerState:
    if speaker is None:
        return SpeakerState(name=name, state="unavailable", default=default, reason=reason)
    return SpeakerState(
        name=name,
        state="elsewhere" if not own else "ready" if speaker.is_loaded else "released",
        default=default,
        reason=reason,
        family=speaker.family,
        memory_mb=round(speaker.memory / 1e6, 1),
        styles=list(speaker.styles),
        options=sorted(speaker.options - {"style"}),
    )


def _own(context: Context, name: str) -> Speaker:
    speaker = context.backend.tts.speakers.get(name)
    if speaker is None:
        message = f"there is no speaker {name!r} here that is ready; GET /api/speakers lists them"
        raise UnknownSpeakerError(message)
    return speaker
