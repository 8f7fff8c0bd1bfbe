"""Ready means able to speak; until then the status says what is waited for."""

import asyncio
import threading

import pytest

from daemon.app import Service
from daemon.config import load_config
from daemon.errors import SinkMissingError
from daemon.wiring import speech
from tests.fakes.sinks import MemorySink


class Notifier:
    watchdog = None

    def __init__(self):
        self.said = []

    def ready(self, status):
        self.said.append(f"READY {status}")

    def status(self, text):
        if not self.said or self.said[-1] != text:
            self.said.append(text)

    def reloading(self): ...

    def stopping(self):
        self.said.append("stopping")

    def alive(self): ...

    def stuck(self, parts):
        self.said.append(f"stuck {parts}")


def started(tmp_path, text, while_starting=lambda said: None):
    """What a service said from its start until it was stopped, once it was ready."""
    path = tmp_path / "asagoe.yaml"
    path.write_text(text)
    notifier = Notifier()

    async def scenario():
        service = Service(load_config(path), path, notifier=notifier)
        running = asyncio.create_task(service.run())
        for _ in range(1500):
            await asyncio.sleep(0.01)
            while_starting(notifier.said)
            if any(line.startswith("READY") for line in notifier.said) or running.done():
                break
        service._stop.set()
        return await running

    assert asyncio.run(scenario()) == 0
    return notifier.said


CONFIG = "mqtt: {broker: none}\nphrase_cache: {max_mb: 0}\n"


def test_ready_comes_after_the_sound_device_was_opened(tmp_path, monkeypatch):
    opened = threading.Event()

    class Slow(MemorySink):
        def open(self, title):
            assert opened.wait(20)
            super().open(title)

    monkeypatch.setattr(speech, "sinks_of", lambda *_: [Slow("jack", paced=True)])

    def let_it_open(said):
        if "waiting for the sound device default" in said and not opened.is_set():
            assert not any(line.startswith("READY") for line in said)
            opened.set()

    said = started(tmp_path, CONFIG, let_it_open)
    assert said == [
        "reading what was kept",
        "loading voices: mei",
        "opening the sound device default",
        "waiting for the sound device default",
        "READY 1 speaker(s), sound goes to jack, no schedule",
        "stopping",
    ]


def test_a_device_that_does_not_answer_delays_it_only_for_a_while(tmp_path, monkeypatch):
    go = threading.Event()

    class Hanging(MemorySink):
        def open(self, title):
            go.wait(20)
            raise SinkMissingError("gone")

    monkeypatch.setattr(speech, "sinks_of", lambda *_: [Hanging("usb")])
    monkeypatch.setattr(speech, "SOUND_TIMEOUT", 0.3)
    try:
        said = started(tmp_path, CONFIG, lambda said: go.set() if said[-1:] and said[-1].startswith("READY") else None)
    finally:
        go.set()
    assert said[-2] == "READY 1 speaker(s), no schedule"


def test_sound_that_goes_to_files_is_waited_for_not_at_all(tmp_path):
    said = started(tmp_path, CONFIG + f"audio: {{device: 'file:{tmp_path}/out'}}\n")
    assert said[-2:] == ["READY 1 speaker(s), no schedule", "stopping"]
    assert "waiting for the sound device" not in "".join(said)


@pytest.mark.parametrize("port", [1])
def test_a_broker_that_is_not_there_is_said_and_not_waited_for(tmp_path, port):
    text = f"mqtt: {{url: 'mqtt://127.0.0.1:{port}'}}\nphrase_cache: {{max_mb: 0}}\naudio: {{device: 'file:{tmp_path}/out'}}\n"
    said = started(tmp_path, text)
    assert f"connecting to the broker 127.0.0.1:{port}" in said
    assert said[-2] == "READY 1 speaker(s), waiting for the broker, no schedule"
