"""A running service with its HTTP server: real threads, real sockets, a sink that keeps what it hears."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import socket
import threading
import wave
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
import pytest
import yaml

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from daemon.app import Service
from daemon.config import load_config
from tests.fakes.sinks import MemorySink

TEXT = "今日は、いい天気ですか?箸を置く。"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def sound(self):
        return sound_of(self.body)


@dataclass(frozen=True)
class Sound:
    rate: int
    channels: int
    samples: np.ndarray
    """Shape [frames, channels], in [-1, 1]."""

    @property
    def seconds(self):
        return len(self.samples) / self.rate

    def quiet(self, threshold=10 ** (-50 / 20)):
        """Seconds of silence before and after the sound."""
        loud = np.flatnonzero(np.abs(self.samples[:, 0]) > threshold * np.abs(self.samples).max())
        return loud[0] / self.rate, (len(self.samples) - 1 - loud[-1]) / self.rate


def sound_of(data: bytes) -> Sound:
    with wave.open(io.BytesIO(data)) as file:
        rate, channels = file.getframerate(), file.getnchannels()
        frames = np.frombuffer(file.readframes(len(data)), "<i2")
    return Sound(rate, channels, frames.reshape(-1, channels) / 32767)


class Node:
    """A service with HTTP, without MQTT and without a sound device, on a loop in a thread of its own."""

    def __init__(self, folder, *, settings=None, **config):
        self.port = free_port()
        self.words = folder / "words.yaml"
        self.words.write_text("# ours\n謎町: {reading: アマチ, accent: 1}\n", "utf-8")
        config = {
            "mqtt": {"broker": "none"},
            "dictionary": self.words.name,
            "http": {"port": self.port, **(settings or {})},
            **config,
        }
        self.file = folder / "asagoe.yaml"
        self.file.write_text(yaml.safe_dump({k: v for k, v in config.items() if v is not None}), "utf-8")
        self.sink = MemorySink(paced=True, sample_rate=24_000)
        self.events = []
        self.code = None
        self._ready = threading.Event()
        self._patch = pytest.MonkeyPatch()
        self._patch.setenv("ASAGOE_CACHE", str(folder / "cache"))
        self._patch.setenv("STATE_DIRECTORY", str(folder / "state"))
        self._thread = threading.Thread(target=self._run, name="service")

    def __enter__(self):
        self._patch.setattr("daemon.wiring.speech.sinks_of", lambda *_: [self.sink])
        self._patch.setattr("daemon.app.listen_to_signals", lambda **_: None)
        self._thread.start()
        assert self._ready.wait(60), "the service did not start"
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.service._stop.set)
        self._thread.join(20)
        self._patch.undo()
        assert self.code == 0

    def _run(self):
        async def serve():
            self.loop = asyncio.get_running_loop()
            self.service = Service(load_config(self.file), self.file, greet=self._greeted)
            self.code = await self.service.run()

        asyncio.run(serve())

    def _greeted(self, house):
        house.bus.listen(self.events.append)
        self._ready.set()

    def ask(self, method, path, *, params=None, body=None, headers=None, status=200, timeout=60):
        """The answer to a request; a body that is no bytes goes as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path + (f"?{urlencode(params)}" if params else ""), body, headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        finally:
            connection.close()
        assert status is None or answer.status == status, (answer.status, answer.body[:600].decode("utf-8", "replace"))
        return answer

    def style(self, speaker="mei", style=None):
        found = self.ask("GET", "/speakers").json
        styles = next(entry for entry in found if entry["name"] == speaker)["styles"]
        return next(s["id"] for s in styles if style in (None, s["name"]))

    def query(self, text=TEXT, **which):
        return self.ask("POST", "/audio_query", params={"text": text, "speaker": self.style(**which)}).json

    def speak(self, query, *, speaker="mei", style=None, **params):
        params = {"speaker": self.style(speaker, style), **params}
        return self.ask("POST", "/synthesis", params=params, body=query)


@pytest.fixture
def make_node(tmp_path):
    """Makes nodes with settings of their own: ``make_node(settings={...}, **config)``."""
    return lambda **config: Node(tmp_path, **config)


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """One running service for the tests of a module."""
    with Node(tmp_path_factory.mktemp("node")) as node:
        yield node
