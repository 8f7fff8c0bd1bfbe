"""Each part of the way of speech shows when it is stuck."""

import asyncio
import threading
import time
from types import MappingProxyType

import pytest

from daemon import player as player_room
from daemon import renderer as renderer_room
from daemon.player import Player
from daemon.renderer import Renderer
from daemon.state import summary


class Stuck:
    """A sink whose writes do not return until they are let go."""

    name, audible, continuous, sample_rate, latency = "stuck", True, True, 24_000, 0.0

    def __init__(self):
        self.go = threading.Event()

    def open(self, title): ...

    def write(self, block):
        self.go.wait(20)

    def close(self): ...


def test_a_player_that_is_stuck_in_a_write_is_not_alive(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(player_room.time, "monotonic", lambda: clock[0])
    sink = Stuck()
    player = Player([sink], lead_in=0.1, keep_open=0.0)
    player.start()
    try:
        clock[0] += 3600  # an idle hour is no sign of being stuck

        async def play():
            player.play("x", lambda: 1.0)

        asyncio.run(play())
        assert player.alive
        clock[0] += 29
        assert player.alive
        clock[0] += 2
        assert not player.alive
    finally:
        sink.go.set()
        player.shut_down(5)


def test_a_renderer_whose_thread_is_stuck_is_not_alive(monkeypatch):
    renderer = Renderer(None, None, "mei", frozenset({"mei"}))
    started, go = threading.Event(), threading.Event()

    def work():
        started.set()
        go.wait(20)

    async def scenario():
        waiting = asyncio.ensure_future(renderer._run(renderer._ahead, work))
        await asyncio.to_thread(started.wait, 5)
        assert renderer.alive
        now = time.monotonic()
        with monkeypatch.context() as patch:
            patch.setattr(renderer_room.time, "monotonic", lambda: now + renderer_room.STUCK_AFTER + 1)
            assert not renderer.alive
            # What waits behind it has not begun, and is not what is stuck.
        go.set()
        await waiting
        assert renderer._begun == {}
        assert renderer.alive

    asyncio.run(scenario())
    renderer.close()


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "1 speaker(s), sound goes to default, no schedule"),
        ({"connected": False}, "1 speaker(s), sound goes to default, waiting for the broker, no schedule"),
        ({"clock_is_set": False}, "1 speaker(s), sound goes to default, waiting for the clock to be set, no schedule"),
        ({"connected": True}, "1 speaker(s), sound goes to default, broker connected, no schedule"),
        (
            {"problems": {"f1": "not there"}},
            "1 speaker(s), waiting for speaker f1, sound goes to default, no schedule",
        ),
        (
            {"compute": {"device": "cpu", "problem": "PyTorch sees no CUDA device"}},
            "1 speaker(s), voices are computed on cpu, not as configured, sound goes to default, no schedule",
        ),
        (
            {"audio": {"sink": "file:/x", "problem": "there is no sound device"}},
            "1 speaker(s), sound goes to file:/x (there is no sound device), no schedule",
        ),
    ],
)
def test_the_status_says_what_is_waited_for(facts, expected):
    usual = {
        "speakers": ["mei"],
        "problems": MappingProxyType({}),
        "audio": {"sink": "default", "problem": None},
        "compute": {"device": "cpu", "problem": None},
        "connected": None,
        "clock_is_set": True,
        "upcoming": None,
        "zone": None,
    }
    assert summary(**(usual | facts)) == expected
