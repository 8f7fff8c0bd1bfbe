"""The speakers of the configuration: loaded from what is on this machine, fetched in the background what is not."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
from collections.abc import Callable, Mapping
from functools import partial

from daemon.clock import Clock
from daemon.config import Config
from daemon.renderer import EMBEDDED
from engine import TTS, EngineError, PrepareError, Speaker
from engine.sources import Step

_log = logging.getLogger("asagoe.speakers")

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 3600.0
"""Seconds before the second attempt, and before any."""

_BUNDLED = "openjtalk:mei"

LOOK = 10.0
"""Seconds between two looks for idle speakers, at most."""


class _Stopped(Exception):  # noqa: N818 - not an error, but the end of a download that nobody waits for any more
    """Ends a download when the service stops."""


class SpeakerKeeper:
    """Loads speakers without a network, and keeps trying for those that cannot be had yet.

    While one is missing, the embedded voice speaks for it.

    Args:
        tts: that they are declared and loaded in.
        clock: of the pauses.
    """

    def __init__(self, tts: TTS, clock: Clock) -> None:
        self._tts = tts
        self._clock = clock
        self._problems: dict[str, str] = {}
        self._unload_after: dict[str, float] = {}
        self._changed = asyncio.Event()
        self._stopping = threading.Event()
        self.on_change: Callable[[], None] = lambda: None

    @property
    def problems(self) -> Mapping[str, str]:
        """The speakers that are not available, with the reason."""
        return dict(self._problems)

    async def load(self, config: Config) -> None:
        """Declare the speakers and load those whose files are here; no network is used.

        Raises:
            PrepareError: not one speaker is ready, not even the embedded one.
        """
        await asyncio.to_thread(self._declare, config)
        self._unload_after = {name: after for name in config.own_speakers if (after := config.unloads_after(name))}
        failures = await self._prepare()
        # It stands in for what is missing, and for one that fails some day: it costs 10 ms and a megabyte.
        wanted = failures or config.remote_speakers or self._unload_after
        if EMBEDDED not in self._tts.speakers and (wanted or not self._has_bundled(config)):
            self._tts.load(EMBEDDED, source=_BUNDLED)
            failures = await self._prepare()
        if not self._tts.speakers:
            raise PrepareError(failures)
        self._note({name: str(error) for name, error in failures.items() if name in config.speakers})
        self._changed.set()

    def _has_bundled(self, config: Config) -> bool:
        """Whether a speaker has the voice that comes along: another file of Open JTalk may be damaged."""
        ready = self._tts.speakers
        return any(name in ready and speaker.source == _BUNDLED for name, speaker in config.own_speakers.items())

    def _declare(self, config: Config) -> None:
        """Off the loop: a speaker that is replaced first finishes the sentence that it is at."""
        for name, speaker in config.own_speakers.items():
            self._tts.load(name, source=speaker.source, voice=speaker.name, **speaker.defaults())

    async def keep(self) -> None:
        """Fetch and load what is missing, again and again with growing pauses; ends only by being cancelled."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                pause = FIRST_PAUSE
                while self._problems and not self._changed.is_set():
                    await self._attempt()
                    if self._problems:
                        await self._sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 - jitter
                        pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            self._stopping.set()

    async def rest_idle(self) -> None:
        """Let speakers give their memory back that have not spoken for long; ends only by being cancelled.

        What their sentences needed goes back to the system soon after they have spoken.
        """
        seen: dict[str, tuple[Speaker, int, float]] = {}  # with how many sentences it had spoken, and since when
        spoken = 0
        while True:
            await self._clock.sleep(min([LOOK, *self._unload_after.values()]))
            now, speakers = self._clock.monotonic(), self._tts.speakers
            before, spoken = spoken, sum(speaker.uses for speaker in speakers.values())
            if spoken != before:
                await asyncio.to_thread(partial(self._tts.release_memory, collect=False))
            for name, after in dict(self._unload_after).items():
                speaker = speakers.get(name)
                if speaker is None:
                    self._lost(name)
                    continue
                known = seen.get(name)
                if known is None or known[:2] != (speaker, speaker.uses):
                    seen[name] = (speaker, speaker.uses, now)
                elif now - known[2] >= after and speaker.is_loaded:
                    await self._release(speaker)

    async def _release(self, speaker: Speaker) -> None:
        if await asyncio.to_thread(partial(speaker.release, wait=False)):
            await asyncio.to_thread(self._tts.release_memory)
            _log.info("speaker %s is unloaded until it is needed again", speaker.name)
            self.on_change()

    def _lost(self, name: str) -> None:
        """One that could not be loaded again is fetched like one that never was here."""
        if name not in self._problems:
            self._note(dict(self._problems) | {name: "it could not be loaded again"})
            self._changed.set()

    async def _attempt(self) -> None:
        missing = set(self._problems)
        reasons: dict[str, str] = {}
        try:
            await asyncio.to_thread(self._tts.pre_download, progress=self._progress)
        except PrepareError as error:
            reasons = {name: str(reason) for name, reason in error.failures.items()}
        # Where fetching has failed, its reason tells more than that nothing is there.
        failures = {name: str(reason) for name, reason in (await self._prepare()).items()}
        self._note({name: reasons.get(name, reason) for name, reason in failures.items() if name in missing})

    async def _prepare(self) -> Mapping[str, EngineError]:
        try:
            await asyncio.to_thread(self._tts.prepare, warmup=True, download=False)
        except PrepareError as error:
            return error.failures
        return {}

    def _note(self, problems: dict[str, str]) -> None:
        before, self._problems = self._problems, problems
        for name, reason in problems.items():
            if before.get(name) != reason:
                _log.warning("speaker %s is not available, the embedded voice speaks for it: %s", name, reason)
        for name in before.keys() - problems.keys():
            if name in self._tts.speakers:
                _log.info("speaker %s is ready now", name)
        if before != problems:
            self.on_change()

    async def _sleep(self, seconds: float) -> None:
        """Sleep, or until the configuration changes."""
        waits = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(self._changed.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await wait

    def _progress(self, step: Step) -> None:
        del step
        if self._stopping.is_set():
            raise _Stopped
