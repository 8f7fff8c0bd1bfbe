"""A sound server that is stopped: it neither takes sound nor says why. Alarms are heard all the same, or say so."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.system.house import LATE, House, Pulse, sounds, wait_for
from tests.system.test_alarms import alarm_events, first_round, heard, make_alarm, told

HANGS = "the sound device 'default' hangs"


@pytest.fixture
def two_servers(tmp_path):
    """A house whose default device is on one PulseAudio server, and its fallback device on another."""
    opened = []

    def make(*, fallback=True):
        first, second = tmp_path / "first", tmp_path / "second"
        first.mkdir()
        second.mkdir()
        spare = Pulse(second)
        spare.start()
        audio = {"device": "default", "volume": 100, "keep_open": "1s"} | (
            {"fallback_device": "spare"} if fallback else {}
        )
        house = House(first, {"audio": audio})
        house.pulse.asound.write_text(
            house.pulse.asound.read_text()
            + f'pcm.spare {{ type pulse server "unix:{spare.socket}" hint {{ show on description "spare" }} }}\n'
        )
        opened.append((house, spare))
        house.__enter__()
        return house, spare

    yield make
    for house, spare in opened:
        with contextlib.suppress(ProcessLookupError):
            os.kill(house.pulse.server.pid, signal.SIGCONT)
        house.__exit__()
        spare.stop()


def stop(house):
    os.kill(house.pulse.server.pid, signal.SIGSTOP)


def go_on(house):
    os.kill(house.pulse.server.pid, signal.SIGCONT)


@pytest.mark.parametrize(
    "before", [8.0, 0.5, -0.5], ids=["before it is opened", "while it is held open", "in its sound"]
)
def test_a_stopped_server_at_the_due_moment_and_the_alarm_sounds_on_the_spare_device(two_servers, before):
    house, spare = two_servers()
    due = make_alarm(house, seconds=10).timestamp()
    time.sleep(max(0, due - before - time.time()))
    start, stopped = spare.position, time.time()
    stop(house)
    failed = told(house, "alarm_failed", timeout=20)
    told_at = time.time()
    assert HANGS in failed["reason"]
    assert told_at < max(due, stopped) + 5
    wait_for(lambda: sounds(spare.recording(start)), 5, "sound on the spare device")
    silent = stopped + sounds(spare.recording(start))[0][0] - max(due, stopped)
    print(f"alarm_failed after {told_at - max(due, stopped):.2f} s, sound after {silent:.2f} s")
    assert -0.1 < silent < 5
    wait_for(lambda: (house.listener.state()["audio"]["problem"] or "") == HANGS, 5, "the state to say it")
    assert house.listener.state()["audio"]["sink"] == "spare"
    assert any(e["event_type"] == "failed" and e.get("reason") == HANGS for e in house.listener.events)
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")
    go_on(house)
    wait_for(lambda: house.listener.state()["audio"]["sink"] == "default", 10, "the device to be used again")
    assert house.listener.state()["audio"]["problem"] is None
    start = house.pulse.position
    assert house.ended(house.announce("聞こえますか。"))[0]["sink"] == "default"
    assert heard(house, start)


def test_without_a_spare_device_it_says_so_within_seconds_and_sounds_when_the_server_goes_on(two_servers):
    house, _ = two_servers(fallback=False)
    due = make_alarm(house, seconds=6).timestamp()
    time.sleep(max(0, due + 0.3 - time.time()))
    stop(house)
    stopped = time.time()
    failed = told(house, "alarm_failed")
    assert HANGS in failed["reason"]
    assert time.time() - stopped < 5
    time.sleep(8)
    threads = house.service.threads()
    assert house.service.process.poll() is None
    go_on(house)
    start = house.pulse.position
    wait_for(lambda: sounds(house.pulse.recording(start)[-48_000:]), 8, "sound again")
    wait_for(lambda: house.listener.state()["audio"]["audible"], 5, "the state to say it")
    assert house.service.threads() <= threads
    assert [e["event_type"] for e in alarm_events(house)].count("alarm_failed") <= 3  # once for each reason
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")


def test_a_stop_and_sigterm_end_soon_while_the_device_hangs(two_servers):
    house, _ = two_servers(fallback=False)
    talk = house.announce("とても長いお知らせです。" * 20)
    house.event("started", talk)
    stop(house)
    time.sleep(0.3)
    asked = time.time()
    house.publish("do/stop", "")
    house.ended(talk)
    assert time.time() - asked < 1.5
    talk = house.announce("もう一つの、とても長いお知らせです。" * 20)
    begun = time.monotonic()
    house.service.signal(signal.SIGTERM)
    assert house.service.process.wait(8) == 0
    assert time.monotonic() - begun < 4


def test_saying_one_sentence_without_the_service_ends_although_the_device_hangs(two_servers):
    house, spare = two_servers()
    house.service.stop()
    stop(house)
    command = [sys.executable, "-m", "daemon", "say", "--config", str(house.service.path), "こんにちは。"]
    environment = house.service.full_environment
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert said.returncode == 0
    assert HANGS in said.stderr
    assert sounds(spare.recording())


def test_a_service_that_starts_while_the_server_is_stopped_becomes_ready_and_rings(two_servers):
    house, spare = two_servers()
    house.service.stop()
    stop(house)
    begun = time.monotonic()
    house.service.start()
    assert time.monotonic() - begun < 15
    make_alarm(house, seconds=3)
    assert first_round(house)["late_ms"] < LATE
    wait_for(lambda: sounds(spare.recording()), 3, "sound on the spare device")
    assert house.listener.state()["audio"]["sink"] == "spare"
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")
