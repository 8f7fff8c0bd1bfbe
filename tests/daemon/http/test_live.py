"""What happens, told as it happens; clients that are gone or slow hold nothing."""

import asyncio
import gc
import http.client
import json
import socket
import time
from types import SimpleNamespace

import pytest

from daemon.feed import Feed
from daemon.http.live import BACKLOG, MOST_CLIENTS, Live
from daemon.http.problems import BusyError


class Stream:
    """A client of /api/events."""

    def __init__(self, node):
        self.connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=20)
        self.connection.request("GET", "/api/events")
        self.response = self.connection.getresponse()

    def message(self):
        lines = []
        while True:
            line = self.response.readline().decode().rstrip("\n")
            if not line and lines:
                break
            lines.append(line)
        return dict(line.split(": ", 1) for line in lines if line)

    def next(self, kind, **keys):
        for _ in range(200):
            message = self.message()
            if message.get("event") == kind:
                body = json.loads(message["data"])
                if all(body.get(name) == value for name, value in keys.items()):
                    return body
        raise AssertionError(f"no {kind} {keys}")

    def close(self):
        self.response.close()
        self.connection.close()


def live_of(node):
    return next(one for one in gc.get_objects() if type(one) is Live and one._backend.loop is node.loop)


def until(condition, timeout=10):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def test_first_the_state_then_what_happens(node):
    stream = Stream(node)
    assert stream.response.headers["Content-Type"].startswith("text/event-stream")
    assert stream.message()["retry"] == "3000"
    assert stream.next("state")["node"] == "home"
    name = node.ask("POST", "/api/announce", body={"text": "はい。", "chime": "none"}, status=202).json["id"]
    assert stream.next("event", id=name, event_type="accepted")["text"] == "はい。"
    stream.next("event", id=name, event_type="finished")
    node.ask("PATCH", "/api/settings", body={"volume": 23})
    stream.next("state", volume=23)
    node.ask("PATCH", "/api/settings", body={"volume": 60})
    stream.close()


def test_a_client_that_goes_away_is_freed(node):
    live = live_of(node)
    until(lambda: live.clients == 0)
    streams = [Stream(node) for _ in range(5)]
    until(lambda: live.clients == 5)
    for stream in streams:
        stream.connection.sock.shutdown(socket.SHUT_RDWR)
        stream.close()
    until(lambda: live.clients == 0)


def test_there_is_room_for_so_many_and_the_next_is_told(node):
    live = live_of(node)
    until(lambda: live.clients == 0)
    streams = [Stream(node) for _ in range(MOST_CLIENTS)]
    until(lambda: live.clients == MOST_CLIENTS)
    answer = node.ask("GET", "/api/events", status=503)
    assert answer.headers["Content-Type"] == "application/problem+json"
    for stream in streams:
        stream.close()
    until(lambda: live.clients == 0)


def test_the_service_stops_while_clients_listen(make_node):
    with make_node() as node:
        stream = Stream(node)
        stream.next("state")
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert stream.response.read() is not None  # it ends
    stream.close()


def with_live(scenario, **options):
    async def main():
        loop, states = asyncio.get_running_loop(), iter(range(1000))

        async def on_loop(work):
            return work()

        feed = Feed()
        backend = SimpleNamespace(loop=loop, feed=feed, on_loop=on_loop, snapshot=lambda: {"n": next(states)})
        live = Live(backend, **options)
        await asyncio.sleep(0)
        await scenario(live, feed)
        live.stop()

    asyncio.run(main())


def test_a_heartbeat_where_nothing_happens():
    async def scenario(live, feed):
        stream = live.messages()
        await anext(stream)
        assert await anext(stream) == b": still here\n\n"
        await stream.aclose()

    with_live(scenario, heartbeat=0.01)


def test_a_slow_client_is_cut_off_and_the_others_are_not():
    async def scenario(live, feed):
        slow, quick = live.messages(), live.messages()
        await anext(slow)
        await anext(quick)
        for number in range(BACKLOG + 50):
            live._on_feed("event", {"id": number})
            assert json.loads((await anext(quick)).split(b"data: ")[1])["id"] == number
        assert live.clients == 1
        received = [message async for message in slow]
        assert len(received) == BACKLOG
        await quick.aclose()
        assert live.clients == 0

    with_live(scenario)


def test_many_changes_are_one_state():
    async def scenario(live, feed):
        stream = live.messages()
        assert b'{"n": 0}' in await anext(stream)
        for _ in range(50):
            feed.on_change()
        assert b'{"n": 1}' in await anext(stream)
        await asyncio.sleep(0.3)
        feed.on_change()
        assert b'{"n": 2}' in await anext(stream)
        await stream.aclose()

    with_live(scenario)


def test_after_the_stop_nobody_may_come():
    async def scenario(live, feed):
        stream = live.messages()
        await anext(stream)
        live.stop()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        with pytest.raises(BusyError):
            await anext(live.messages())

    with_live(scenario)


def test_a_watcher_whose_loop_is_gone_is_forgotten():
    feed, seen = Feed(), []

    def gone(kind, body):
        raise RuntimeError("Event loop is closed")

    feed.watch(gone)
    feed.watch(lambda kind, body: seen.append(kind))
    feed.on_change()
    feed.on_change()
    assert seen == ["change", "change"]
    assert len(feed._watchers) == 1
