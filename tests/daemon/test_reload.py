"""How a reload takes over the configuration and its dictionary."""

import asyncio
import threading
from contextlib import AsyncExitStack

import pytest

from daemon.app import Service
from daemon.config import load_config
from daemon.wiring import reload, speech
from engine import TTS


class Notifier:
    def __init__(self):
        self.calls = []

    def reloading(self):
        self.calls.append("reloading")

    def ready(self, _summary):
        self.calls.append("ready")


@pytest.fixture
def service(tmp_path, monkeypatch):
    """A service of which only the reload runs: what it applies is kept in ``applied``."""
    (tmp_path / "words.yaml").write_text("謎町: あまち\n")
    path = tmp_path / "c.yaml"
    path.write_text("dictionary: words.yaml\n")
    service = Service(load_config(path), path, notifier=Notifier())
    service.applied = []

    async def apply(_house, config):
        service.applied.append(config.words.words[0].reading)

    monkeypatch.setattr(reload, "_apply", apply)
    monkeypatch.setattr(service.house, "summary", lambda: "")
    with TTS() as tts:
        service.house.tts = tts
        yield service


def test_reading_and_compiling_leave_the_event_loop_free(service, monkeypatch):
    threads = []

    def seen(work):
        def call(*arguments):
            threads.append(threading.current_thread())
            return work(*arguments)

        return call

    monkeypatch.setattr(reload, "load_config", seen(reload.load_config))
    monkeypatch.setattr(service.house.tts, "use_dictionary", seen(service.house.tts.use_dictionary))
    asyncio.run(service._reload())
    assert len(threads) == 2
    assert threading.main_thread() not in threads
    assert service.applied == ["あまち"]
    assert service.house.tts.text.kana("謎町") == "アマチ"


def test_of_two_reloads_the_later_one_wins(service, monkeypatch):
    first = threading.Event()
    load = reload.load_config

    def slow_at_first(path):
        config = load(path)
        if not first.is_set():
            first.set()
            threading.Event().wait(0.3)
        return config

    monkeypatch.setattr(reload, "load_config", slow_at_first)

    async def scenario():
        early = asyncio.create_task(service._reload())
        await asyncio.to_thread(first.wait, 5)
        (service.house.path.parent / "words.yaml").write_text("謎町: いまち\n")
        await asyncio.gather(early, service._reload())

    asyncio.run(scenario())
    assert service.applied == ["あまち", "いまち"]
    assert service.house.tts.text.kana("謎町") == "イマチ"
    assert service.house.notifier.calls == ["reloading", "ready"] * 2


def test_words_that_cannot_be_compiled_leave_everything_as_it_was(service, monkeypatch, caplog):
    asyncio.run(service._reload())
    told = []
    service.house.bus.listen(told.append)
    (service.house.path.parent / "words.yaml").write_text("謎町: いまち\n")
    monkeypatch.setattr("engine.text.dictionary._COMPILE", "raise SystemExit('no')")
    asyncio.run(service._reload())
    assert service.applied == ["あまち"]
    assert service.house.tts.text.kana("謎町") == "アマチ"
    assert [event.type for event in told] == ["failed"]
    assert "cannot compile the dictionary: no" in told[0].reason
    assert "cannot compile the dictionary: no" in caplog.text
    assert service.house.notifier.calls[-1] == "ready"


def test_a_service_starts_without_words_that_cannot_be_compiled(service, monkeypatch, caplog):
    monkeypatch.setattr("engine.text.dictionary._COMPILE", "raise SystemExit('no')")
    service.house.notifier.status = lambda _text: None

    async def scenario():
        async with AsyncExitStack() as stack:
            await speech.start_voices(service.house, stack)
            return service.house.tts.speakers["mei"].generate("謎町です。").duration

    assert asyncio.run(scenario()) > 0.3
    assert "speaking without the dictionary" in caplog.text
