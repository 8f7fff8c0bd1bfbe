"""What all requests share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, HTTPException, Query, Request

from daemon.http.backend import Backend
from daemon.http.live import Live
from daemon.http.metrics import RequestMetrics
from daemon.http.presets import Presets
from daemon.http.styles import Style, styles_of
from daemon.http.work import Work
from engine import Speaker, UnknownSpeakerError


@dataclass(frozen=True)
class Context:
    """The server's parts.

    Attributes:
        backend: the service.
        work: what is synthesized for clients.
        presets: of VOICEVOX clients.
        metrics: of requests.
        live: tells clients what happens.
        previewing: held by who composes a briefing.
        examining: held by the doctor.
    """

    backend: Backend
    work: Work
    presets: Presets
    live: Live
    metrics: RequestMetrics = field(default_factory=RequestMetrics)
    previewing: asyncio.Lock = field(default_factory=asyncio.Lock)
    examining: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def styles(self) -> list[Style]:
        """Of all speakers that are ready."""
        return styles_of({name: speaker.styles for name, speaker in self.backend.tts.speakers.items()})

    def speaker_of(self, style_id: int) -> tuple[Speaker, Style]:
        """The speaker and the style of that number.

        Raises:
            UnknownSpeakerError: there is none.
        """
        style = next((style for style in self.styles if style.id == style_id), None)
        if style is None:
            message = f"no style has the number {style_id}; GET /speakers lists them"
            raise UnknownSpeakerError(message)
        return self.backend.tts.speakers[style.speaker], style

    async def checked_text(self, text: str) -> str:
        """A text that is not too long.

        Raises:
            HTTPException: it is.
        """
        limit = (await self.backend.on_loop(self.backend.settings)).max_characters
        if len(text) > limit:
            detail = (
                f"the text has {len(text):,} characters; at most {limit:,} are spoken (announcements.max_characters)"
            )
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
        return text


async def _context(request: Request) -> Context:  # a plain function would cost a thread
    context: Context = request.app.state.context
    return context


InContext = Annotated[Context, Depends(_context)]
StyleId = Annotated[int, Query(alias="speaker", ge=0, le=2**31 - 1, description="number of a style, of /speakers")]
CoreVersion = Annotated[str | None, Query(max_length=40, description="passed over: there is one core")]
