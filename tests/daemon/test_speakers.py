"""Speakers that cannot be had yet: the service starts without them, tells it, and fetches them by itself."""

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from daemon.clock import SystemClock
from daemon.config.load import parse_config
from daemon.renderer import EMBEDDED
from daemon.speakers import LOOK, SpeakerKeeper
from engine import TTS, PrepareError, SourceUnreachableError, VoiceNotAvailableError
from engine.text.openjtalk import library
from tests.fakes.clock import FakeClock
from tests.fakes.published import VOICE, unpack_published

CONFIG = parse_config("speakers: {mei: {source: 'openjtalk:mei'}, f1: {source: 'hf://me/voices'}}")


class Clock(SystemClock):
    """Time passes when the test lets it; every pause that is asked for is noted."""

    def __init__(self):
        self.pauses = []
        self.go = asyncio.Event()

    async def sleep(self, seconds):
        self.pauses.append(seconds)
        await self.go.wait()
        self.go.clear()


@pytest.fixture
def tts(monkeypatch):
    """A TTS whose hub answers as the test says; every attempt to fetch is noted."""
    tts = TTS()
    tts.attempts, tts.answer = [], SourceUnreachableError("the hub cannot be reached")

    def pre_download(self, device=None, *, progress=lambda step: None):
        self.attempts.append(threading.current_thread().name)
        if self.answer is not None:
            raise PrepareError({"f1": self.answer})
        self.load("f1", source="openjtalk:mei")  # as if it were here now
        return self

    monkeypatch.setattr(TTS, "pre_download", pre_download)
    yield tts
    tts.close()


async def until(condition):
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


def test_loading_uses_no_network_and_the_embedded_voice_stands_in(tts, monkeypatch):
    import socket

    def refuse(*args):
        raise AssertionError("the network was used")

    async def run():
        monkeypatch.setattr(socket.socket, "connect", refuse)
        keeper = SpeakerKeeper(tts, Clock())
        await keeper.load(CONFIG)
        assert set(tts.speakers) == {"mei", EMBEDDED}
        assert set(keeper.problems) == {"f1"}
        assert "has not been downloaded yet" in keeper.problems["f1"]
        assert tts.attempts == []

    asyncio.run(run())


@pytest.mark.parametrize(("embedded", "expected"), [(False, {"f1", EMBEDDED}), (True, {"f1", "mei"})])
def test_there_is_always_a_voice_that_needs_nothing(tmp_path, monkeypatch, embedded, expected):
    """One that goes on when a neural voice fails some day."""
    monkeypatch.setenv("ASAGOE_CACHE", str(tmp_path / "cache"))
    tree = unpack_published(tmp_path / "tree")
    own = "mei: {source: 'openjtalk:mei'}, " if embedded else ""
    config = parse_config(f"speakers: {{{own}f1: {{source: '{tree.as_uri()}', name: {VOICE}}}}}\ndefault_speaker: f1")
    with TTS() as tts:
        keeper = SpeakerKeeper(tts, Clock())
        asyncio.run(keeper.load(config))
        assert set(tts.speakers) == expected
        assert not keeper.problems


def test_a_voice_file_of_ones_own_is_not_the_one_that_needs_nothing(tmp_path):
    bundled = Path(library().__file__).parent / "htsvoice" / "mei_normal.htsvoice"
    own = tmp_path / "own.htsvoice"
    own.write_bytes(bundled.read_bytes())
    config = parse_config(f"speakers: {{own: {{source: 'openjtalk:{own}'}}}}")
    with TTS() as tts:
        keeper = SpeakerKeeper(tts, Clock())
        asyncio.run(keeper.load(config))
        assert set(tts.speakers) == {"own", EMBEDDED}
        assert not keeper.problems


def test_it_is_retried_with_growing_pauses_until_it_is_ready(tts):
    async def run():
        clock = Clock()
        keeper = SpeakerKeeper(tts, clock)
        changes = []
        keeper.on_change = lambda: changes.append(dict(keeper.problems))
        await keeper.load(CONFIG)
        task = asyncio.create_task(keeper.keep())
        for count in range(1, 10):
            await until(lambda count=count: len(clock.pauses) == count)
            assert keeper.problems == {"f1": "the hub cannot be reached"}
            clock.go.set()
        await until(lambda: len(clock.pauses) == 10)
        tts.answer = None
        clock.go.set()
        await until(lambda: not keeper.problems)
        assert "f1" in tts.speakers
        assert changes[-2:] == [{"f1": "the hub cannot be reached"}, {}]
        assert 24 <= clock.pauses[0] <= 36
        assert all(0.8 * 3600 <= pause <= 1.2 * 3600 for pause in clock.pauses[8:])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_new_configuration_is_tried_at_once(tts):
    async def run():
        clock = Clock()
        keeper = SpeakerKeeper(tts, clock)
        await keeper.load(CONFIG)
        task = asyncio.create_task(keeper.keep())
        await until(lambda: clock.pauses)
        tts.answer = None
        await keeper.load(CONFIG)
        await until(lambda: not keeper.problems)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_voice_that_will_never_come_keeps_its_reason(tts):
    tts.answer = VoiceNotAvailableError("the hub refuses the token")

    async def run():
        clock = Clock()
        keeper = SpeakerKeeper(tts, clock)
        await keeper.load(CONFIG)
        task = asyncio.create_task(keeper.keep())
        await until(lambda: clock.pauses)
        assert keeper.problems == {"f1": "the hub refuses the token"}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_mirrors_are_read_strictly():
    from daemon.config import ConfigError

    good = "speakers: {f: {source: 'hf://a/b'}}\nmirrors: {'hf://a/b': ['s3://bucket/x', /srv/voices]}"
    assert parse_config(good).mirrors == {"hf://a/b": ["s3://bucket/x", "/srv/voices"]}
    for text, words in {
        "mirrors: {'hf://a/b': [/x]}": "'hf://a/b' is not the source of a speaker",
        "speakers: {f: {source: 'hf://a/b'}}\nmirrors: {'hf://a/b': [x/y]}": "is not understood",
        "speakers: {f: {source: 'hf://a/b'}}\nmirrors: {'hf://a/b': ['openjtalk:mei']}": "cannot be a mirror",
    }.items():
        with pytest.raises(ConfigError, match=words):
            parse_config(text)


class StepClock(FakeClock):
    """Tells how many sleep on it, so that a test advances it only when they do."""

    async def step_on(self, seconds):
        await until(lambda: self._sleepers)
        self.advance(seconds)
        await asyncio.sleep(0.02)


IDLE = parse_config("unload_after: 60s\nspeakers: {tone: {}, dear: {unload_after: 0}, keen: {unload_after: 5s}}")


def test_unload_after_is_that_of_the_speaker_else_that_of_all():
    assert [IDLE.unloads_after(name) for name in ("tone", "dear", "keen")] == [60, None, 5]
    assert parse_config("speakers: {a: {}}").unloads_after("a") is None


def test_an_idle_speaker_rests_and_speaks_again_when_it_is_asked():
    async def run():
        clock = StepClock(datetime(2026, 12, 1, tzinfo=UTC))
        with TTS() as tts:
            keeper = SpeakerKeeper(tts, clock)
            changes = []
            keeper.on_change = lambda: changes.append({n for n, s in tts.speakers.items() if not s.is_loaded})
            await keeper.load(IDLE)
            task = asyncio.create_task(keeper.rest_idle())
            for _ in range(3):
                await clock.step_on(5)
            await until(lambda: not tts.speakers["keen"].is_loaded)
            for _ in range(6):
                await clock.step_on(5)
            await asyncio.to_thread(tts.speakers["tone"].generate, "はい。")
            for _ in range(12):
                await clock.step_on(5)
            assert tts.speakers["tone"].is_loaded  # it spoke less than a minute ago
            await clock.step_on(5)
            await clock.step_on(5)
            await until(lambda: not tts.speakers["tone"].is_loaded)
            assert tts.speakers["dear"].is_loaded
            assert changes == [{"keen"}, {"keen", "tone"}]
            sound = await asyncio.to_thread(tts.speakers["tone"].generate, "はい。")
            assert sound.duration > 0.3
            assert tts.speakers["tone"].is_loaded
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_memory_goes_back_soon_after_speech_and_without_holding_it_up(monkeypatch):
    async def run():
        clock = StepClock(datetime(2026, 12, 1, tzinfo=UTC))
        with TTS() as tts:
            asked = []
            monkeypatch.setattr(tts, "release_memory", lambda **options: asked.append(options))
            keeper = SpeakerKeeper(tts, clock)
            await keeper.load(parse_config("speakers: {mei: {}}"))
            asked.clear()
            task = asyncio.create_task(keeper.rest_idle())
            await clock.step_on(LOOK)
            given = len(asked)  # after the sentence of the warm-up
            for _ in range(3):
                await clock.step_on(LOOK)
            assert len(asked) == given
            await asyncio.to_thread(tts.speakers["mei"].generate, "はい。")
            for _ in range(3):
                await clock.step_on(LOOK)
            assert asked[given:] == [{"collect": False}]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def test_one_that_is_gone_when_it_wakes_is_reported_and_tried_again(tmp_path):
    from pathlib import Path

    from engine.text.openjtalk import library

    own = tmp_path / "own.htsvoice"
    own.write_bytes((Path(library().__file__).parent / "htsvoice" / "mei_normal.htsvoice").read_bytes())
    config = parse_config(f"unload_after: 5s\nspeakers: {{own: {{source: 'openjtalk:{own}'}}}}")

    async def run():
        clock = StepClock(datetime(2026, 12, 1, tzinfo=UTC))
        with TTS() as tts:
            keeper = SpeakerKeeper(tts, clock)
            await keeper.load(config)
            assert set(tts.speakers) == {"own", EMBEDDED}  # it stands in, should the other one not wake up
            idle, keep = asyncio.create_task(keeper.rest_idle()), asyncio.create_task(keeper.keep())
            speaker = tts.speakers["own"]
            while speaker.is_loaded:
                await clock.step_on(5)
            own.rename(tmp_path / "away")
            with pytest.raises(VoiceNotAvailableError):
                await asyncio.to_thread(speaker.generate, "はい。")
            assert set(tts.speakers) == {EMBEDDED}
            while not keeper.problems:
                await clock.step_on(5)
            (tmp_path / "away").rename(own)
            while keeper.problems:
                await clock.step_on(60)
            assert set(tts.speakers) == {"own", EMBEDDED}
            for task in (idle, keep):
                task.cancel()
            await asyncio.gather(idle, keep, return_exceptions=True)

    asyncio.run(run())
