"""What the HTTP server may ask of the service, and on which thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from daemon.config import AnnouncementsConfig
from daemon.renderer import Renderer
from engine import TTS

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Coming:
    """Something of the schedule.

    Attributes:
        id: of its entry.
        at: when it is due, in local time.
    """

    id: str
    at: datetime


@dataclass(frozen=True)
class Backend:
    """The service, as the HTTP server sees it.

    Attributes:
        loop: the service's; whatever is marked with it is called there, by ``on_loop``.
        tts: the one of the service; its speakers may be used from any thread, behind the renderer.
        renderer: likewise.
        settings: of announcements. [loop]
        announce: takes the payload of an announcement; returns its id, None for an empty one. Raises
            ``RequestError``. [loop]
        snapshot: the state. [loop]
        health: the health. [loop]
        upcoming: what is due next, at most so many. [loop]
        dictionary: file of the user's words; None without one.
        state_folder: where presets are kept.
    """

    loop: asyncio.AbstractEventLoop
    tts: TTS
    renderer: Renderer
    settings: Callable[[], AnnouncementsConfig]
    announce: Callable[[bytes], str | None]
    snapshot: Callable[[], Mapping[str, Any]]
    health: Callable[[], Mapping[str, Any]]
    upcoming: Callable[[int], list[Coming]]
    dictionary: Callable[[], Path | None]
    state_folder: Path

    async def on_loop(self, work: Callable[[], _T]) -> _T:
        """Do something on the service's loop; what it raises is raised here."""

        async def call() -> _T:
            return work()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), self.loop))
