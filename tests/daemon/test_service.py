import asyncio
import logging
import os
import socket

import pytest

from daemon.logs import LineFormatter
from daemon.service.notify import SystemdNotifier
from daemon.service.watchdog import feed_watchdog, tell_status


@pytest.fixture(params=["path", "abstract"])
def notify_socket(request, tmp_path, monkeypatch):
    address = str(tmp_path / "notify") if request.param == "path" else f"\0asagoe-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(address)
        server.settimeout(1)
        monkeypatch.setenv("NOTIFY_SOCKET", address.replace("\0", "@"))
        yield server


def test_the_protocol_of_sd_notify(notify_socket):
    notifier = SystemdNotifier()
    notifier.status("loading voices")
    notifier.ready("2 speakers")
    notifier.reloading()
    notifier.alive()
    notifier.stopping()
    said = [notify_socket.recv(1000).decode() for _ in range(5)]
    assert said[0] == "STATUS=loading voices"
    assert said[1] == "READY=1\nSTATUS=2 speakers"
    assert said[2].startswith("RELOADING=1\nMONOTONIC_USEC=")
    assert said[3:] == ["WATCHDOG=1", "STOPPING=1\nSTATUS=stopping"]


def test_without_systemd_nothing_happens(monkeypatch):
    SystemdNotifier().ready("x")
    monkeypatch.setenv("NOTIFY_SOCKET", "/no/such/socket")
    SystemdNotifier().ready("x")


@pytest.mark.parametrize(
    ("usec", "pid", "expected"),
    [
        ("30000000", None, 30.0),
        ("30000000", "self", 30.0),
        ("30000000", "1", None),
        ("", None, None),
        ("x", None, None),
    ],
)
def test_the_watchdog_is_meant_for_this_process_or_not_at_all(monkeypatch, usec, pid, expected):
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    if pid:
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if pid == "self" else pid)
    assert SystemdNotifier().watchdog == expected


def test_the_watchdog_is_fed_only_while_every_part_lives(caplog):
    class Notifier(SystemdNotifier):
        watchdog = 3.0
        fed = 0

        def alive(self):
            self.fed += 1

    class Clock:
        async def sleep(self, seconds):
            assert seconds == 1.0
            await asyncio.sleep(0)

    parts = {"player": True}
    notifier = Notifier()

    async def scenario():
        task = asyncio.create_task(feed_watchdog(notifier, Clock(), {"player": lambda: parts["player"]}))
        for _ in range(6):
            await asyncio.sleep(0)
        fed = notifier.fed
        parts["player"] = False
        for _ in range(6):
            await asyncio.sleep(0)
        task.cancel()
        return fed

    fed = asyncio.run(scenario())
    assert fed >= 2
    assert notifier.fed - fed <= 1
    assert "stuck: player" in caplog.text


def line(message, journal=False, **facts):
    record = logging.LogRecord("asagoe.x", logging.WARNING, "", 0, message, (), None)
    if facts:
        record.facts = facts
    return LineFormatter(journal=journal).format(record)


def test_a_log_line_is_one_line_whatever_it_holds():
    text = line("a\nb", text="一\n二 \u2028三", n=5, none=None, ok=True, id="x1", audio={"a": [1]})
    assert text.count("\n") == 0
    assert text.endswith('x: a b text="一 二  三" n=5 ok=true id=x1 audio="{\\"a\\": [1]}"')


def test_in_the_journal_a_line_begins_with_its_priority():
    assert line("x", journal=True) == "<4>x: x"


def test_what_is_stuck_stands_in_the_status(notify_socket):
    SystemdNotifier().stuck(["player", "renderer"])
    assert notify_socket.recv(1000) == b"STATUS=stuck: player, renderer"


def test_a_status_is_told_when_it_changes_and_only_then():
    class Clock:
        async def sleep(self, seconds):
            await asyncio.sleep(0)

    said = []

    class Notifier(SystemdNotifier):
        def status(self, text):
            said.append(text)

    lines = iter(["a", "a", "b", "b", "b", "c"])
    now = ["a"]

    def summary():
        now[0] = next(lines, now[0])
        return now[0]

    async def scenario():
        task = asyncio.create_task(tell_status(Notifier(), Clock(), summary))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(scenario())
    assert said == ["b", "c"]
