"""The way of speech, wired: voices, renderer, player, announcer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from daemon.announcer import Announcer
from daemon.compute import usable_device
from daemon.config import AudioConfig
from daemon.folders import phrase_folder
from daemon.house import House
from daemon.phrases import PhraseCache
from daemon.player import PATIENCE, Player
from daemon.queue import AnnouncementQueue
from daemon.quiet_keeper import QuietKeeper
from daemon.renderer import Renderer
from daemon.service.tasks import running
from daemon.sinks import output_names
from daemon.speakers import SpeakerKeeper
from daemon.waiting import Waiting
from daemon.wiring.choices import sinks_of
from daemon.wiring.store import on_problem
from engine import TTS, DictionaryError

_log = logging.getLogger("asagoe.service")

SOUND_TIMEOUT = 8.0
"""Seconds for a sound device to answer before the service is called ready all the same."""


async def start_voices(house: House, stack: AsyncExitStack) -> None:
    """Load what the cache holds; the rest follows in ``start_fetching``."""
    house.notifier.status(f"loading voices: {', '.join(house.config.speakers)}")
    device, problem = await asyncio.to_thread(usable_device, house.config.compute_device)
    if problem:
        _log.warning("voices are computed on the processor until the next start: %s", problem)
    house.compute = {"device": device, "problem": problem}
    house.tts = tts = TTS(device, mirrors=house.config.mirrors)
    stack.callback(tts.close)
    try:
        await asyncio.to_thread(tts.use_dictionary, house.config.words)
    except DictionaryError as error:  # not a mistake in it, that was told before: the compiler could not work
        _log.error("speaking without the dictionary: %s", error)
    house.speakers = SpeakerKeeper(tts, house.clock)
    await house.speakers.load(house.config)


async def start_fetching(house: House, stack: AsyncExitStack) -> None:
    """Fetch in the background what is missing, and let speakers rest that nobody needs."""
    house.speakers.on_change = partial(_speakers_changed, house)
    await stack.enter_async_context(running(house.speakers.keep(), "speakers"))
    await stack.enter_async_context(running(house.speakers.rest_idle(), "idle speakers"))


def _speakers_changed(house: House) -> None:
    house.changed()
    if house.render_server is not None:
        house.render_server.publish_voices()
    house.gateway.publish_health()
    house.rediscover()


def start_renderer(house: House, stack: AsyncExitStack) -> None:
    """Make the renderer and its phrase cache."""
    cache = house.config.phrase_cache
    phrases = PhraseCache(phrase_folder(cache.folder), cache.max_mb * 1_000_000)
    house.renderer = Renderer(house.tts, phrases, house.config.speaker_name, frozenset(house.config.speakers))
    house.renderer.default_style = lambda: house.preferences.style
    stack.callback(house.renderer.close)


async def start_player(house: House, stack: AsyncExitStack) -> None:
    """Start the player's thread, and find out at once whether there is a sound device."""
    audio = house.config.audio
    house.notifier.status(f"opening the sound device {audio.device}")
    # Only now: to read the list anew would end streams that are open.
    house.outputs = await _output_names(audio)
    sinks = sinks_of(house)
    house.has_device = any(sink.continuous for sink in sinks)
    house.player = player = Player(
        sinks,
        lead_in=audio.lead_in_ms / 1000,
        keep_open=audio.keep_open,
        on_sink=_on_sink(house, asyncio.get_running_loop()),
        on_hang=on_problem(house, asyncio.get_running_loop()),
    )
    player.start()
    stack.callback(player.shut_down)
    player.wake(0.1)


async def start_announcer(house: House, stack: AsyncExitStack) -> None:
    """Start the announcer, with quiet hours and what is kept over restarts."""
    house.quiet = QuietKeeper(house.clock, house.config.quiet_plan)
    house.kept = Waiting(house.clock, house.records)
    house.bus.listen(house.kept.on_event)
    house.announcer = announcer = Announcer(
        clock=house.clock,
        queue=AnnouncementQueue(house.config.announcements.max_queue),
        renderer=house.renderer,
        player=house.player,
        bus=house.bus,
        volume=house.config.audio.volume,
        quiet=house.quiet,
        kept=house.kept,
    )
    announcer.set_volume_by_priority(house.config.announcements.volumes)
    announcer.on_sound = house.history.on_sound
    house.quiet.attach(announcer)
    house.announcing = await stack.enter_async_context(running(announcer.run(), "announcer"))


async def find_sound(house: House) -> None:
    """Ready means able to speak: wait until it is known where sound goes, or for a device that does not answer."""
    deadline = house.clock.monotonic() + SOUND_TIMEOUT
    while house.has_device and house.audio["sink"] is None and house.clock.monotonic() < deadline:
        house.notifier.status(f"waiting for the sound device {house.config.audio.device}")
        await house.clock.sleep(0.1)


async def _output_names(audio: AudioConfig) -> tuple[str, ...]:
    """The sound devices; none where one hangs: then the service starts without a list of them.

    In a thread that nobody waits for, unlike those of ``asyncio.to_thread``, which hold up the end of the process.
    """
    loop = asyncio.get_running_loop()
    names: asyncio.Future[tuple[str, ...]] = loop.create_future()

    def settle(found: tuple[str, ...]) -> None:
        if not names.done():
            names.set_result(found)

    def work() -> None:
        found = output_names(audio)
        with contextlib.suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=work, name="sound devices", daemon=True).start()
    try:
        async with asyncio.timeout(PATIENCE):
            return await names
    except TimeoutError:
        _log.warning("the sound devices cannot be listed: one of them hangs")
        return ()


def _on_sink(house: House, loop: asyncio.AbstractEventLoop) -> Callable[[str, bool, str | None], None]:
    def report(name: str, audible: bool, problem: str | None) -> None:
        if problem is None:
            _log.info("sound goes to %s", name)
        else:
            _log.warning("%s; announcements go to %s", problem, name)
        house.audio = {"sink": name, "audible": audible, "problem": problem}
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(changed)

    def changed() -> None:
        house.announcer.on_change()
        if hasattr(house, "keeper"):  # it is made after the player
            house.keeper.sound_changed()

    return report
