"""Asagoe's own interface: announcements, speech as a stream, state, what is due, numbers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Collection
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field

from daemon.http.context import Context, InContext
from daemon.http.own import problems
from daemon.http.voicevox_models import Rate, Text
from daemon.http.wave import header, pcm
from daemon.http.work import unless_gone
from daemon.mqtt.payloads import AnnounceMessage
from daemon.renderer import Job, Rendering
from daemon.substitution import SaidSentence, said_by_any
from engine import OPTION_RANGES, Audio, Segment, Speaker, UnknownSpeakerError, __version__
from engine.audio import concatenate

router = APIRouter()


def _option(name: str) -> Any:
    allowed = OPTION_RANGES[name]
    return Field(default=None, ge=allowed.low, le=allowed.high, allow_inf_nan=False, description=allowed.meaning)


class Announced(BaseModel):
    """An announcement that was taken; events tell what becomes of it."""

    id: str


class SayRequest(BaseModel):
    """A text that is to be heard by who asks, and not in the room."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "おはようございます。今日は晴れです。", "speed": 1.1}]},
    )

    text: Text = Field(min_length=1, description="what is to be said")
    speaker: Text | None = Field(default=None, max_length=64, description="default: the default speaker")
    style: Text | None = Field(default=None, max_length=64)
    speed: float | None = _option("speed")
    pitch: float | None = _option("pitch")
    intonation: float | None = _option("intonation")
    volume: float | None = _option("volume")
    sample_rate: Rate | None = Field(default=None, description="Hz; default: the voice's own")


class Occurrence(BaseModel):
    """Something of the schedule."""

    id: str
    at: str = Field(description="local time with its offset, ISO 8601")


@router.post(
    "/api/announce",
    status_code=HTTPStatus.ACCEPTED,
    tags=["Asagoe"],
    responses=problems(401, 403, 413, 422),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": AnnounceMessage.model_json_schema(),
                    "examples": {
                        "plain": {"value": {"text": "洗濯が終わりました。"}},
                        "urgent": {"value": {"text": "火災警報です。", "priority": "critical", "chime": "attention"}},
                    },
                },
                "text/plain": {"schema": {"type": "string"}, "examples": {"plain": {"value": "洗濯が終わりました。"}}},
            },
        }
    },
)
async def announce(request: Request, context: InContext) -> Announced:
    """Have something said in the room: what a message on `…/announce` may hold, text or a JSON object."""
    body = await request.body()
    announced = await context.backend.on_loop(lambda: context.backend.announce(body))
    if announced is None:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "the text is empty; there is nothing to say")
    return Announced(id=announced)


@router.post(
    "/api/say",
    tags=["Asagoe"],
    response_class=Response,
    responses={
        200: {"content": {"audio/wav": {"schema": {"type": "string", "format": "binary"}}}},
        **problems(401, 403, 404, 413, 422, 503),
    },
)
async def say(request: Request, context: InContext, body: SayRequest) -> Response:
    """A text as WAV, sent sentence by sentence while it is made; its header does not tell the length."""
    await context.checked_text(body.text)
    stream = _sentences(context, body)
    # The first sentence before the header: an error is told as one.
    first: bytes = await unless_gone(request, anext(stream))

    async def chunks() -> AsyncIterator[bytes]:
        yield first
        async for chunk in stream:
            yield chunk

    return StreamingResponse(chunks(), media_type="audio/wav")


async def _sentences(context: Context, body: SayRequest) -> AsyncIterator[bytes]:
    names = ("style", "speed", "pitch", "intonation", "volume")
    options = {name: getattr(body, name) for name in names if getattr(body, name) is not None}
    renderer = context.backend.renderer
    if (
        body.speaker is not None
        and not renderer.knows(body.speaker)
        and body.speaker not in context.backend.tts.speakers
    ):
        message = f"there is no speaker {body.speaker!r}; there are {', '.join(sorted(renderer.configured))}"
        raise UnknownSpeakerError(message)

    def plan(failed: Collection[Speaker]) -> Awaitable[Job]:
        return context.work.read(lambda: renderer.plan_now(body.text, body.speaker, options, failed))

    def render(job: Job, segment: Segment) -> Awaitable[Rendering]:
        return context.work.turn(lambda: renderer.render_now(job, segment))

    async with context.work.job():
        job = await plan(())
        rate = body.sample_rate
        for index in range(len(job.plan.segments)):
            said = await said_by_any(job, index, title="a request over HTTP", render=render, plan=plan)
            job = said.job
            audio = _with_pause(said)
            rate = rate or audio.sample_rate  # of the whole, whoever goes on
            data = (await asyncio.to_thread(audio.resampled, rate)) if rate != audio.sample_rate else audio
            yield (header(rate, 1) if index == 0 else b"") + pcm(data).tobytes()


def _with_pause(said: SaidSentence) -> Audio:
    spoken = said.rendering.spoken
    if said.segment.last or not spoken.pause:
        return spoken.audio
    return concatenate([spoken.audio, Audio.silence(spoken.pause, spoken.audio.sample_rate)])


@router.get("/api/state", tags=["Asagoe"], responses=problems(401, 403))
async def state(context: InContext) -> dict[str, Any]:
    """What the node does: as the retained topic `…/state`."""
    return dict(await context.backend.on_loop(context.backend.snapshot))


@router.get("/api/next", tags=["Asagoe"], responses=problems(401, 403, 422))
async def coming(
    context: InContext, count: Annotated[int, Query(ge=1, le=100, description="so many at most")] = 10
) -> list[Occurrence]:
    """What is due next, soonest first."""
    found = await context.backend.on_loop(lambda: context.backend.upcoming(count))
    return [Occurrence(id=item.id, at=item.at.isoformat(timespec="seconds")) for item in found]


@router.get("/health", tags=["Asagoe"])
async def health(request: Request, context: InContext) -> dict[str, Any]:
    """Whether the service lives; to whom brings the token, also how."""
    answer: dict[str, Any] = {"status": "ok", "version": __version__}
    if request.app.state.rules.allows_token(request.headers.get("authorization", "")):
        report = await context.backend.on_loop(context.backend.health)
        answer |= json.loads(json.dumps(report))
    return answer


@router.get("/metrics", tags=["Asagoe"], response_class=PlainTextResponse, responses=problems(401, 403))
async def metrics(context: InContext) -> Response:
    """Numbers for Prometheus."""
    backend = context.backend
    report, now = await backend.on_loop(lambda: (backend.health(), backend.snapshot()))
    context.metrics.jobs.set(context.work.jobs)
    return Response(context.metrics.exposition(report, now), media_type=CONTENT_TYPE_LATEST)
