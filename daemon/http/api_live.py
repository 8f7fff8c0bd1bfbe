"""Asagoe's own interface: what happened, and what happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field

from daemon.history import POINTS, REMEMBERED
from daemon.http.context import InContext
from daemon.http.own import problems

router = APIRouter(tags=["Asagoe: what happens"])


class Timings(BaseModel):
    """Milliseconds since it came in, and how many sentences it had."""

    rendered_ms: int | None = Field(description="its first sentence was ready")
    first_sample_ms: int | None = Field(description="its first sample was written")
    ended_ms: int | None = Field(description="its last sample left the device")
    sentences: int | None
    cached: int | None = Field(description="sentences that came from the phrase cache")


class Announced(BaseModel):
    """One of the last announcements; of an alarm, one ring of it."""

    id: str
    at: str = Field(description="when it came in, ISO 8601")
    text: str
    origin: str | None = Field(description="mqtt, schedule, alarm, briefing, http or cli")
    stage: str = Field(description="its last event, such as accepted, queued, started, deferred or finished")
    outcome: str | None = Field(description="finished, failed, dropped, expired or missed; null while it is under way")
    reason: str | None
    speaker: str | None
    audible: bool | None = Field(description="whether the device that it went to can be heard")
    timings: Timings
    seconds: float = Field(description="of sound that went to the device")
    waveform: list[int] = Field(description=f"peaks from 0 to 100, evenly over the sound, {POINTS} at most")
    rounds: int = Field(description="how often it was played: alarms ring again and again")


@router.get("/api/history", responses=problems(401, 403, 422))
async def history(
    context: InContext, count: Annotated[int, Query(ge=1, le=REMEMBERED, description="so many at most")] = 20
) -> list[Announced]:
    """The last announcements, the newest first."""
    found = await context.backend.on_loop(lambda: context.backend.history.last(count))
    return [Announced.model_validate(entry) for entry in found]


@router.get(
    "/api/events",
    response_class=Response,
    responses={
        200: {
            "content": {
                "text/event-stream": {
                    "schema": {"type": "string"},
                    "examples": {
                        "event": {"value": 'event: event\ndata: {"event_type": "started", "id": "wash-1"}\n\n'},
                        "state": {"value": 'event: state\ndata: {"state": "idle", "volume": 60}\n\n'},
                    },
                }
            }
        },
        **problems(401, 403, 503),
    },
)
async def events(context: InContext) -> Response:
    """What happens, as server-sent events: `event` as on the topic `…/event`, `state` as on `…/state`."""
    stream = context.live.messages()
    first = await anext(stream)  # before the header: that there are too many clients is told as an error

    async def messages() -> AsyncIterator[bytes]:
        try:
            yield first
            async for message in stream:
                yield message
        finally:
            await stream.aclose()

    return StreamingResponse(messages(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})
