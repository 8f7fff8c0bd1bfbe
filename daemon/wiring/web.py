"""HTTP, wired."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from daemon.config import dictionary_path
from daemon.errors import UnavailableError
from daemon.folders import state_folder
from daemon.house import House
from daemon.http.backend import Backend, Coming
from daemon.http.doctor import doctor_of
from daemon.http.server import HttpServer

_log = logging.getLogger("asagoe.service")


async def start_http(house: House, stack: AsyncExitStack) -> None:
    """Serve HTTP, where the configuration asks for it; without it the service is complete all the same."""
    if house.config.http is None:
        return
    backend = Backend(
        loop=asyncio.get_running_loop(),
        tts=house.tts,
        renderer=house.renderer,
        settings=lambda: house.config.announcements,
        announce=house.gateway.announce_from("http"),
        snapshot=house.snapshot,
        health=house.health.report,
        upcoming=lambda count: [
            Coming(o.entry.id, o.due.astimezone(house.zone)) for o in house.scheduler.upcoming(count)
        ],
        dictionary=partial(_dictionary_file, house),
        commands=house.commands,
        agenda=house.agenda,
        briefer=house.briefer,
        history=house.history,
        feed=house.feed,
        speaker=lambda: house.config.speaker_name,
        doctor=doctor_of(house.path),
        state_folder=state_folder(),
    )
    server = HttpServer(house.config.http, backend)
    try:
        await asyncio.to_thread(server.start)
    except UnavailableError as error:
        _log.error("%s", error)
        return
    stack.push_async_callback(asyncio.to_thread, server.stop)


def _dictionary_file(house: House) -> Path | None:
    name = house.config.dictionary
    return None if name is None or house.path is None else dictionary_path(name, house.path)
