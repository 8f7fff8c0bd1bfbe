"""The whole way from announcement to sink, with a voice and a sink that can be predicted."""

import asyncio
import contextlib
from types import MappingProxyType

from daemon.announcement import Announcement, Priority, new_id
from daemon.announcer import Announcer
from daemon.clock import SystemClock
from daemon.events import TERMINAL, Events
from daemon.phrases import PhraseCache
from daemon.player import Player
from daemon.queue import AnnouncementQueue
from daemon.renderer import Renderer
from engine import TTS, Speaker
from tests.fakes.sinks import MemorySink
from tests.fakes.voice import ToneVoice


class House:
    """The whole way from announcement to sink, with a voice and a sink that can be predicted."""

    def __init__(self, tmp_path, *, paced=True, limit=50, cache=10**8, sink=None, quiet=None, kept=None):
        self.clock = SystemClock()
        self.voice = ToneVoice()
        self.tts = TTS()
        self.tts._speakers["tone"] = Speaker("tone", self.voice, self.tts.text)
        self.sink = sink or MemorySink(paced=paced, sample_rate=24_000)
        self.player = Player([self.sink], lead_in=0.0, keep_open=0.05)
        self.bus = Events()
        self.events = []
        self.bus.listen(self.events.append)
        self.phrases = PhraseCache(tmp_path / "phrases", cache)
        self.renderer = Renderer(self.tts, self.phrases, "tone", frozenset({"tone", "broken"}))
        self.limit = limit
        self.quiet, self.kept = quiet, kept

    async def __aenter__(self):
        self.queue = AnnouncementQueue(self.limit)
        self.announcer = Announcer(
            clock=self.clock,
            queue=self.queue,
            renderer=self.renderer,
            player=self.player,
            bus=self.bus,
            volume=100,
            quiet=self.quiet,
            kept=self.kept,
        )
        self.player.start()
        self.task = asyncio.create_task(self.announcer.run())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task
        await asyncio.to_thread(self.player.shut_down)
        self.renderer.close()
        self.tts.close()

    def make(self, text, **fields):
        fields.setdefault("id", new_id())
        if "options" in fields:
            fields["options"] = MappingProxyType(fields["options"])
        if fields.get("priority") is Priority.CRITICAL:
            fields.setdefault("interrupt", True)
        return Announcement(
            text=text, origin="test", received=self.clock.now(), received_at=self.clock.monotonic(), **fields
        )

    def say(self, text, **fields):
        announcement = self.make(text, **fields)
        self.announcer.submit(announcement)
        return announcement.id

    async def until(self, kind, name=None, timeout=8.0):
        async with asyncio.timeout(timeout):
            while True:
                for event in self.events:
                    if event.type == kind and (name is None or event.id == name):
                        return event
                await asyncio.sleep(0.005)

    async def ended(self, *names):
        async with asyncio.timeout(10):
            while not all(any(e.id == n and e.type in TERMINAL for e in self.events) for n in names):
                await asyncio.sleep(0.005)

    def story(self, name):
        return [e.type for e in self.events if e.id == name]


def run(scenario):
    return asyncio.run(scenario)
