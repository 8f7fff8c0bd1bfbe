"""The service: ``Service._start`` reads as a table of contents of what starts in which order.

Everything stops in the reverse order. How each part is put together stands in ``daemon.wiring``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from daemon.announcer_commands import add_announcer_commands
from daemon.clock import Clock, SystemClock
from daemon.config import Config
from daemon.house import House
from daemon.quiet_keeper import add_quiet_commands
from daemon.service.notify import Notifier, notifier_of_the_environment
from daemon.service.pulse import Pulse
from daemon.service.signals import listen_to_signals
from daemon.service.tasks import running
from daemon.service.watchdog import tell_status
from daemon.wiring import choices, discovery, network, plan, reload, speech, store, watch, web
from engine import EngineError

_log = logging.getLogger("asagoe.service")

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_CONFIG = 78
"""EX_CONFIG of sysexits.h; the unit does not restart on it."""


class Service:
    """One running Asagoe.

    Args:
        config: validated.
        path: the file it came from, read again on SIGHUP; None when there is none.
        clock: of everything.
        notifier: tells systemd.
        greet: called once when all is ready, with the house.
    """

    def __init__(
        self,
        config: Config,
        path: Path | None,
        *,
        clock: Clock | None = None,
        notifier: Notifier | None = None,
        greet: Callable[[House], None] = lambda _: None,
    ) -> None:
        pulse = notifier or Pulse(notifier_of_the_environment(), config.node)
        self.house = House(config, path, clock or SystemClock(), pulse)
        self._greet = greet
        self._stop = asyncio.Event()
        self._reloading = asyncio.Lock()
        self._reload_wanted = False
        self._is_ready = False

    async def run(self) -> int:
        """Start everything, serve until a signal, stop everything; returns the exit code."""
        house = self.house
        async with AsyncExitStack() as stack:
            listen_to_signals(stop=self._stop, reload=self._reload_soon)
            asked = asyncio.create_task(self._stop.wait(), name="asked to stop")
            starting = asyncio.create_task(self._start(stack), name="start")
            await asyncio.wait({asked, starting}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
                await asyncio.wait({starting})
            elif starting.exception() is not None:
                asked.cancel()
                return self._failed_to_start(starting.exception())
            else:
                self._say_ready()
                ended, _ = await asyncio.wait(
                    {asked, house.announcing, house.guarding}, return_when=asyncio.FIRST_COMPLETED
                )
                asked.cancel()
                if not self._stop.is_set():
                    _log.critical("%s ended by itself: a defect", ", ".join(task.get_name() for task in ended))
                    return EXIT_FAILED
            house.notifier.stopping()
            _log.info("stopping")
        return EXIT_STOPPED

    async def _start(self, stack: AsyncExitStack) -> None:
        house = self.house
        await store.start_store(house, stack)
        choices.start_preferences(house)
        await speech.start_voices(house, stack)
        speech.start_renderer(house, stack)
        await speech.start_player(house, stack)
        await speech.start_announcer(house, stack)
        add_announcer_commands(house.commands, house.announcer)
        add_quiet_commands(house.commands, house.quiet)
        plan.start_briefings(house)
        plan.plan_alarms(house, stack)
        choices.take_over(house)
        discovery.plan_discovery(house, stack)
        await network.start_mqtt(house, stack)
        stack.callback(house.announcer.shut_down)
        stack.callback(house.quiet.shut_down, lambda announcement: house.kept.leave(announcement, 0))
        await plan.start_schedule(house, stack)
        discovery.start_discovery(house)
        await speech.start_fetching(house, stack)
        await web.start_http(house, stack)
        await watch.start_reports(house, stack)
        await watch.start_watchdog(house, stack)
        await speech.find_sound(house)
        await stack.enter_async_context(running(tell_status(house.notifier, house.clock, house.summary), "status"))

    def _failed_to_start(self, error: BaseException | None) -> int:
        if not isinstance(error, EngineError):
            assert error is not None  # noqa: S101
            raise error
        _log.error("%s", error)
        return EXIT_FAILED

    def _say_ready(self) -> None:
        self._is_ready = True
        self.house.notifier.ready(self.house.summary())
        _log.info("ready: %s", self.house.summary())
        self._greet(self.house)
        if self._reload_wanted:
            self._reload_soon()

    def _reload_soon(self) -> None:
        if not self._is_ready:
            self._reload_wanted = True  # after the start, which reads the old file to its end
            return
        self.house.background.start(self._reload(), "reload")

    async def _reload(self) -> None:
        async with self._reloading:
            await reload.reload(self.house)
