"""What broke it once: one test for each kind of fault, with what should happen instead."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import time
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from tests.system.house import TERMINAL, Mosquitto, Service, sender, wait_for
from tests.system.proxy import Proxy

ROOT = Path(__file__).parents[2]
NULL = {"audio": {"device": "null", "volume": 100}}
ALONE = {"node": "kitchen", "mqtt": {"broker": "none"}} | NULL
LONG = "".join(f"これは{number}番目の長めの文で、しばらく続きます。" for number in range(8))


def many_speakers(count, first=0):
    return {
        f"s{number}": {"source": "openjtalk:mei", "speed": 1 + number / 1000} for number in range(first, first + count)
    }


@contextlib.contextmanager
def running(service):
    try:
        yield service
    finally:
        service.kill()


def seconds_to_end(service, number=signal.SIGTERM, limit=30):
    asked = time.monotonic()
    service.signal(number)
    try:
        return service.process.wait(limit), time.monotonic() - asked
    except subprocess.TimeoutExpired:
        return None, limit


# The process: start, stop, reload.


def test_a_pid_file_that_a_power_cut_left_does_not_keep_it_from_starting(tmp_path):
    # After a boot the number belongs to another program, whose name may well hold "daemon".
    other = subprocess.Popen(["/usr/bin/dbus-daemon", "60"], executable=shutil.which("sleep"))
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "kitchen.pid").write_text(str(other.pid))
    service = Service(tmp_path, ALONE)
    service.start(ready=False)
    try:
        wait_for(lambda: "service: ready" in service.log or service.process.poll() is not None, 20, "the start")
        assert service.process.poll() is None, service.log
    finally:
        service.kill()
        other.kill()
        other.wait()


def test_a_pid_file_that_cannot_be_removed_does_not_make_a_clean_stop_a_failure(tmp_path):
    service = Service(tmp_path, ALONE)
    service.start()
    path = tmp_path / "state" / "kitchen.pid"
    path.unlink()
    path.mkdir()  # as on a disk that has become read-only, unlink raises OSError
    assert service.stop() == 0, service.log


def test_sigterm_while_voices_load_ends_it_within_five_seconds(tmp_path):
    service = Service(tmp_path, ALONE | {"speakers": many_speakers(120)})
    service.start(ready=False)
    with running(service):
        wait_for((tmp_path / "state" / "kitchen.pid").exists, 10, "the process")
        time.sleep(1.5)
        code, took = seconds_to_end(service)
    assert code == 0
    assert took < 5


def test_sighup_before_it_is_ready_is_no_defect(tmp_path):
    service = Service(tmp_path, ALONE | {"speakers": many_speakers(30)})
    service.start(ready=False)
    with running(service):
        wait_for((tmp_path / "state" / "kitchen.pid").exists, 10, "the process")
        time.sleep(1.5)
        assert "service: ready" not in service.log
        service.signal(signal.SIGHUP)
        wait_for(lambda: "service: ready" in service.log, 30, "the service")
        time.sleep(0.5)
    assert "Traceback" not in service.log


def test_announcements_are_said_while_a_reload_loads_voices(make_house):
    house = make_house(NULL, sound=False)
    house.service.config["speakers"] = {"mei": {"source": "openjtalk:mei"}} | many_speakers(80)
    house.service.write_config()
    house.service.signal(signal.SIGHUP)
    time.sleep(0.5)
    asked = time.monotonic()
    house.event("started", house.announce("読み込みの間の文です。"), 40)
    assert time.monotonic() - asked < 2.5


def test_sigterm_while_a_reload_loads_voices_ends_it_within_five_seconds(make_house):
    house = make_house(NULL, sound=False)
    house.service.config["speakers"] = many_speakers(120)
    house.service.write_config()
    house.service.signal(signal.SIGHUP)
    time.sleep(1)
    code, took = seconds_to_end(house.service)
    assert code == 0
    assert took < 5


@pytest.mark.parametrize("change", ["changed", "removed"])
def test_a_reload_does_not_fail_what_is_being_said(make_house, change):
    two = {"mei": {"source": "openjtalk:mei"}, "other": {"source": "openjtalk:mei", "speed": 1.2}}
    house = make_house(NULL | {"speakers": two}, sound=False)
    name = house.announce(LONG, speaker="other")
    house.event("started", name)
    house.service.config["speakers"] = {"mei": two["mei"]}
    if change == "changed":
        house.service.config["speakers"]["other"] = {"source": "openjtalk:mei", "speed": 1.3}
    house.service.write_config()
    house.service.signal(signal.SIGHUP)
    (event,) = house.ended(name, timeout=60)
    assert (event["event_type"], event.get("reason")) == ("finished", None)


def test_what_waits_when_the_service_stops_is_said_after_the_next_start(make_house):
    house = make_house(NULL, sound=False)
    names = [house.announce(f"これは{number}番目の文です。") for number in range(6)]
    house.event("started", names[0])
    house.service.stop()
    time.sleep(0.5)
    assert [kind for name in names for kind in house.story(name) if kind in TERMINAL] == []
    house.service.start()
    house.ended(*names, timeout=60)
    ends = {name: [kind for kind in house.story(name) if kind in TERMINAL] for name in names}
    assert ends == {name: ["finished"] for name in names}


# The broker.


def test_a_stop_in_the_middle_of_traffic_is_published_as_stopped(make_house):
    house = make_house(NULL, sound=False)
    with sender(house.mosquitto.port) as client:
        for number in range(1500):
            client.publish(f"{house.base}/announce", json.dumps({"id": f"n{number}", "text": "はい、はい。"}), 1)
        wait_for(lambda: any(event["id"] == "n20" for event in house.listener.events), 10, "the first messages")
        assert house.service.stop() == 0
        time.sleep(2)
        assert house.listener.of("availability")[-1] == "stopped"


def test_a_broker_that_restarts_behind_a_proxy_is_spoken_to_in_mqtt_5_again(tmp_path):
    mosquitto = Mosquitto(tmp_path)
    mosquitto.start()
    gate = Proxy(mosquitto.port)
    service = Service(tmp_path, {"node": "kitchen", "mqtt": {"url": f"mqtt://127.0.0.1:{gate.port}"}} | NULL)
    try:
        service.start()
        wait_for(lambda: "with MQTT 5" in service.log, 10, "the first connection")
        gate.cut(hang_ups=2)
        wait_for(lambda: service.log.count("connected to the broker") == 2, 30, "the second connection")
        last = [line for line in service.log.splitlines() if "connected to the broker" in line][-1]
        assert last.endswith("with MQTT 5")  # 3.1.1 would lose what is sent while the service is away
    finally:
        service.kill()
        gate.close()
        mosquitto.stop()


def test_two_services_with_one_client_id_are_named_as_the_cause(make_house, tmp_path):
    house = make_house(NULL, sound=False)
    (tmp_path / "twin").mkdir()
    twin = Service(tmp_path / "twin", house.service.config)
    twin.start()
    with running(twin):
        time.sleep(10)
    assert "client id" in house.service.log + twin.log
    assert house.service.log.count("connected to the broker") < 6


# Sound.


@pytest.mark.parametrize("trouble", ["stuck", "suspended"])
def test_sigterm_while_the_sound_server_does_not_answer_ends_it_within_five_seconds(make_house, trouble):
    house = make_house()
    house.ended(house.announce("最初の文です。"))
    server = house.pulse.server

    def suspend(on):
        command = ["pactl", "suspend-sink", "speaker", str(int(on))]
        subprocess.run(command, env=os.environ | house.pulse.environment, check=True)

    if trouble == "suspended":
        suspend(True)
        time.sleep(2)
        house.announce(LONG)
    else:
        house.event("started", house.announce(LONG))
        time.sleep(0.5)
        os.kill(server.pid, signal.SIGSTOP)
    try:
        time.sleep(2)
        code, took = seconds_to_end(house.service, limit=12)
    finally:
        if trouble == "stuck":
            os.kill(server.pid, signal.SIGCONT)
        house.service.kill()
    assert code == 0
    assert took < 5


def test_an_error_of_the_system_that_a_sink_does_not_expect_does_not_end_the_player(make_house, tmp_path):
    # File names that are too long stand for every OSError outside of open() and write(), such as EIO of a dying card.
    house = make_house({"audio": {"device": f"file:{tmp_path}/{'x' * 300}"}}, sound=False)
    (event,) = house.ended(house.announce("名前が長すぎます。"), timeout=8)
    assert event["event_type"] == "failed"
    assert "too long" in event["reason"]
    assert house.ended(house.announce("次の文です。"), timeout=8)[0]["event_type"] == "failed"


def test_an_announcement_whose_file_could_not_be_written_is_not_called_finished(make_house, tmp_path):
    house = make_house({"audio": {"device": f"file:{tmp_path}/rec", "volume": 100}}, sound=False)
    limits = resource.prlimit(house.service.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(house.service.process.pid, resource.RLIMIT_FSIZE, (100_000, limits[1]))
    (event,) = house.ended(house.announce("一秒よりも長い文を話しています。"))
    assert event["event_type"] == "failed"
    assert str(tmp_path / "rec") in event["reason"]


@pytest.mark.parametrize("fault", ["damaged", "removed"])
def test_speech_goes_out_without_a_chime_that_cannot_be_read(make_house, tmp_path, fault):
    path = tmp_path / "my.wav"
    shutil.copy(ROOT / "config" / "chimes" / "ding.wav", path)
    house = make_house(
        NULL | {"announcements": {"defaults": {"chime": str(path), "end_chime": str(path)}}}, sound=False
    )
    path.write_bytes(b"RIFF")
    if fault == "removed":
        path.unlink()
    (event,) = house.ended(house.announce("洗濯が終わりました。"))
    assert event["event_type"] == "finished"


def test_timings_of_an_interrupted_announcement_are_those_of_its_beginning(make_house):
    house = make_house(NULL, sound=False)
    name = house.announce("最初の長めの文を話しています。次の長めの文を話しています。")
    house.event("started", name)
    time.sleep(1)
    house.announce("緊急です。", priority="critical")
    (event,) = house.ended(name)
    assert house.story(name).count("interrupted") == 1
    assert event["first_sample_ms"] < 1000


def test_what_was_not_said_is_not_taken_for_said_by_dedupe(make_house):
    house = make_house(NULL, sound=False)
    house.event("started", house.announce(LONG))
    first = house.announce("雨が降ります。", dedupe="10m")
    house.publish("do/stop", "")
    assert house.ended(first)[0]["event_type"] == "dropped"
    assert house.ended(house.announce("雨が降ります。", dedupe="10m"))[0]["event_type"] == "finished"


# The phrase cache.


def test_no_flipped_bit_of_a_cached_phrase_changes_what_is_heard(tmp_path):
    from daemon.phrases import PhraseCache
    from engine import Audio, Spoken

    cache = PhraseCache(tmp_path, 1_000_000)
    cache.put("ab", Spoken(Audio(np.sin(np.arange(400, dtype=np.float32) / 9), 48_000), 0.4))
    good = cache.get("ab")
    (path,) = tmp_path.glob("*/*.phrase")
    data = path.read_bytes()
    heard = []
    for position in range(40):
        for bit in range(8):
            path.write_bytes(data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :])
            got = cache.get("ab")
            if got is not None and (got.pause, got.audio.sample_rate) != (good.pause, good.audio.sample_rate):
                heard.append((position, bit))
    assert heard == []


def test_a_damaged_phrase_that_cannot_be_removed_is_rendered_again(tmp_path, monkeypatch):
    from daemon.phrases import PhraseCache
    from engine import Audio, Spoken

    cache = PhraseCache(tmp_path, 1_000_000)
    cache.put("ab", Spoken(Audio(np.zeros(400, np.float32), 48_000), 0.4))
    (path,) = tmp_path.glob("*/*.phrase")
    path.write_bytes(path.read_bytes()[:100])

    def refuse(_path, missing_ok=False):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert cache.get("ab") is None


# The clock.


def test_an_alarm_that_a_wrong_clock_jumped_over_still_rings_when_the_clock_is_right_again():
    from daemon.schedule.calendar import Calendar
    from daemon.schedule.rules import Rule
    from daemon.schedule.scheduler import Entry, Reactions, Scheduler
    from tests.fakes.clock import FakeClock, FakeTimers

    tokyo = ZoneInfo("Asia/Tokyo")
    clock = FakeClock(datetime(2026, 12, 1, 6, 0, tzinfo=tokyo))
    timers = FakeTimers(clock)
    said, missed = [], []
    scheduler = Scheduler(
        clock=clock,
        timers=timers,
        calendar=Calendar(tokyo),
        reactions=Reactions(
            prepare=lambda _: None,
            wake=lambda: None,
            due=lambda occurrence: said.append(occurrence.due),
            missed=missed.append,
        ),
    )
    scheduler.replace([Entry("wake-up", Rule((time_of_day(6, 45),)), timedelta(seconds=60))])
    for step in (3 * 3600, -3 * 3600):
        clock.step(step)
        scheduler.clock_stepped()
    timers.run_until(datetime(2026, 12, 1, 7, 0, tzinfo=tokyo))
    assert said == [datetime(2026, 11, 30, 21, 45, tzinfo=UTC)]
    assert len(missed) == 1
