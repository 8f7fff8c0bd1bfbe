"""What the HTTP server may ask of the service, and on which thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from daemon.agenda.agenda import Agenda
from daemon.briefings.briefer import Briefer
from daemon.commands import Commands
from daemon.config import AnnouncementsConfig
from daemon.feed import Feed
from daemon.history import History
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
        commands: whatever can be asked by name. [loop]
        agenda: alarms and schedule entries. [loop]
        briefer: tells briefings. [loop]
        history: the last announcements. [loop]
        feed: what happens. [loop]
        speaker: name of the default speaker. [loop]
        doctor: examines everything, in any thread, and gives what was found as JSON objects with the keys `check`,
            `level` (ok, warn, fail), `finding` and `remedy`.
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
    commands: Commands
    agenda: Agenda
    briefer: Briefer
    history: History
    feed: Feed
    speaker: Callable[[], str]
    doctor: Callable[[], list[dict[str, str | None]]]

    async def on_loop(self, work: Callable[[], _T]) -> _T:
        """Do something on the service's loop; what it raises is raised here."""

        async def call() -> _T:
            return work()

        return await self.wait_on_loop(call())

    async def wait_on_loop(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Let something run on the service's loop; what it raises is raised here, and a cancellation is handed on."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def command(self, name: str, text: str = "") -> object:
        """Carry out a command on the service's loop.

        Raises:
            RequestError: it cannot be carried out.
        """
        return await self.on_loop(lambda: self.commands.carry_out(name, text))
