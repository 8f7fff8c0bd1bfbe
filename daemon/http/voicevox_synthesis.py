"""VOICEVOX's interface: queries become sound."""

from __future__ import annotations

import asyncio
import io
import zipfile
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Query, Request
from fastapi.responses import Response

from daemon.http.context import Context, CoreVersion, InContext, StyleId
from daemon.http.voicevox_models import AudioQuery
from daemon.http.wave import connected, header, pcm, wav_bytes, with_silence
from daemon.http.work import unless_gone
from daemon.renderer import Job
from engine import Audio, Segment, Speaker
from engine.text import AccentPhrase

router = APIRouter(tags=["VOICEVOX: synthesis"])

MAX_BYTES = 64_000_000
"""Of the samples of one answer: eleven minutes at 48 kHz."""
MAX_QUERIES = 64

_WAV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"audio/wav": {"schema": {"type": "string", "format": "binary"}}}}
}
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
}
Upspeak = Annotated[bool, Query(description="let questions rise at their end")]


@dataclass(frozen=True, slots=True)
class _Order:
    """A query, understood.

    Attributes:
        speaker: who speaks.
        phrases: with the pauses that the query asks for.
        options: of speech.
        ignored: fields of the query that this voice does not have.
    """

    speaker: Speaker
    phrases: tuple[AccentPhrase, ...]
    options: dict[str, Any]
    ignored: tuple[str, ...]


@router.post("/synthesis", responses=_WAV, response_class=Response)
@router.post("/cancellable_synthesis", responses=_WAV, response_class=Response)
async def synthesis(
    request: Request,
    context: InContext,
    query: AudioQuery,
    speaker: StyleId,
    enable_interrogative_upspeak: Upspeak = True,
    core_version: CoreVersion = None,
) -> Response:
    """The sound of a query. A client that goes away ends it at the next sentence."""
    del core_version
    order = _order(context, query, speaker, upspeak=enable_interrogative_upspeak)
    async with context.work.job():
        data = await unless_gone(request, _wav(context, query, order))
    headers = {"X-Asagoe-Ignored": ", ".join(order.ignored)} if order.ignored else {}
    return Response(data, media_type="audio/wav", headers=headers)


@router.post("/multi_synthesis", responses=_ZIP, response_class=Response)
async def multi_synthesis(
    request: Request,
    context: InContext,
    queries: Annotated[list[AudioQuery], Body(min_length=1, max_length=MAX_QUERIES)],
    speaker: StyleId,
    enable_interrogative_upspeak: Upspeak = True,
    core_version: CoreVersion = None,
) -> Response:
    """The sound of several queries: a ZIP of `001.wav`, `002.wav` and so on."""
    del core_version
    orders = [_order(context, query, speaker, upspeak=enable_interrogative_upspeak) for query in queries]

    async def packed() -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for number, (query, order) in enumerate(zip(queries, orders, strict=True), start=1):
                archive.writestr(f"{number:03}.wav", await _wav(context, query, order, taken=buffer.tell()))
        return buffer.getvalue()

    async with context.work.job():
        return Response(await unless_gone(request, packed()), media_type="application/zip")


@router.post("/connect_waves", responses=_WAV, response_class=Response)
async def connect_waves(waves: Annotated[list[str], Body(max_length=1000)]) -> Response:
    """One WAV of several that come in base64."""
    try:
        data = await asyncio.to_thread(connected, waves)
    except ValueError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    return Response(data, media_type="audio/wav")


def _order(context: Context, query: AudioQuery, style_id: int, *, upspeak: bool) -> _Order:
    speaker, style = context.speaker_of(style_id)
    wanted = {
        "speed": (query.speedScale, 1.0, "speedScale"),
        "pitch": (12 * query.pitchScale, 0.0, "pitchScale"),
        "intonation": (query.intonationScale, 1.0, "intonationScale"),
    }
    options = {name: value for name, (value, _, _) in wanted.items() if name in speaker.options}
    ignored = tuple(key for name, (value, plain, key) in wanted.items() if name not in options and value != plain)
    own = {"style": style.name, "volume": query.volumeScale}
    return _Order(speaker, _phrases(query, upspeak=upspeak), own | options, ignored)


def _phrases(query: AudioQuery, *, upspeak: bool) -> tuple[AccentPhrase, ...]:
    """The phrases of a query, with its pauses; the last one's is not heard."""
    phrases = []
    for model in query.accent_phrases:
        phrase = model.phrase()
        if phrase.pause is not None and (query.pauseLength is not None or query.pauseLengthScale != 1):
            pause = phrase.pause if query.pauseLength is None else query.pauseLength
            phrase = replace(phrase, pause=pause * query.pauseLengthScale)
        phrases.append(phrase if upspeak else replace(phrase, is_interrogative=False))
    if phrases:
        phrases[-1] = replace(phrases[-1], pause=None)
    return tuple(phrases)


async def _wav(context: Context, query: AudioQuery, order: _Order, *, taken: int = 0) -> bytes:
    before, after = query.prePhonemeLength / query.speedScale, query.postPhonemeLength / query.speedScale
    width = 4 if query.outputStereo else 2
    room = (MAX_BYTES - taken) / (width * query.outputSamplingRate)  # seconds
    pauses = sum(phrase.pause or 0.0 for phrase in order.phrases) / query.speedScale
    _check_room(before + after + pauses, room)
    if not order.phrases:
        audio = Audio.silence(before + after, query.outputSamplingRate)
        return wav_bytes(audio, stereo=query.outputStereo)
    plan = await context.work.read(lambda: order.speaker.plan_phrases(order.phrases, query.text, **order.options))
    job = Job(order.speaker, plan)
    sound = bytearray()
    for index, segment in enumerate(plan.segments):
        lead = before if index == 0 else 0.0
        tail = after if segment.last else segment.sentence.pause / query.speedScale
        piece = _Piece(context, job, segment, lead, tail, query.outputSamplingRate, query.outputStereo)
        sound += await context.work.turn(piece)
        _check_room(len(sound) / (width * query.outputSamplingRate), room)
    return header(query.outputSamplingRate, width // 2, len(sound)) + sound


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence with the silence around it, to be made on the renderer's thread."""

    context: Context
    job: Job
    segment: Segment
    before: float
    after: float
    rate: int
    stereo: bool

    def __call__(self) -> bytes:
        """Its samples."""
        rendering = self.context.backend.renderer.render_now(self.job, self.segment)
        audio = with_silence(rendering.spoken.audio, self.before, self.after).resampled(self.rate)
        return pcm(audio, stereo=self.stereo).tobytes()


def _check_room(seconds: float, room: float) -> None:
    if seconds > room:
        detail = f"the sound would be larger than {MAX_BYTES:,} bytes; ask for a shorter one, or a lower sampling rate"
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
