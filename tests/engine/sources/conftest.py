import socket
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hub_server import HubServer, Repository

from engine.sources import hub as hub_module
from engine.sources.hub import HubRemote
from engine.sources.retry import Policy
from engine.sources.tree import CachedTree, Settings

QUICK = Policy(attempts=4, base=0.002, ceiling=0.01, patience=5)


def big(seed: int, size: int = 300_000) -> bytes:
    import random

    return random.Random(seed).randbytes(size)


VOICE = "onnx/speakers/f1"
FILES = {
    "README.md": b"hello",
    "bert/tokenizer/vocab.txt": b"[CLS]\n",
    "onnx/bert/q8/bert_q8.onnx": big(1, 100_000),
    f"{VOICE}/config.json": b'{"data": {}}',
    f"{VOICE}/style_vectors.npy": b"not really",
    f"{VOICE}/synthesizer.onnx": big(2),
    f"{VOICE}/duration_predictor.onnx": big(3, 50_000),
    "onnx/speakers/f2/config.json": b"{}",
}


@pytest.fixture(scope="session")
def _server():
    server = HubServer()
    yield server
    server.stop()


@pytest.fixture
def server(_server, monkeypatch):
    """The hub's stand-in with one public repository, me/voices."""
    import huggingface_hub

    _server.repositories = {"me/voices": Repository()}
    _server.repositories["me/voices"].commit(FILES)
    _server.faults.clear()
    _server.requests.clear()
    _server.page_size, _server.delay = 1000, 0.0
    monkeypatch.setenv("HF_ENDPOINT", _server.url)
    for name in ("HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    yield _server
    huggingface_hub.close_session()


@pytest.fixture
def make(tmp_path):
    """Makes trees over one cache."""

    def make(remote=None, *, cache=None, mirrors=(), **settings):
        settings = {"policy": QUICK} | settings
        remote = remote or HubRemote("me/voices")
        return CachedTree(remote, cache or tmp_path / "cache", mirrors=mirrors, settings=Settings(**settings))

    return make


@pytest.fixture
def no_network(monkeypatch):
    """Every attempt to reach anything fails the test."""

    def refuse(*args, **kwargs):
        raise AssertionError(f"the network was used: {args}")

    def block():
        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket.socket, "connect_ex", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        monkeypatch.setattr(socket, "create_connection", refuse)

    return block


@pytest.fixture
def short_timeouts(monkeypatch):
    monkeypatch.setattr(hub_module, "READ_TIMEOUT", 0.3)
