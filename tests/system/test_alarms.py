"""Alarms in a real house: they sound on the second, whatever fails, or say why not."""

import contextlib
import json
import os
import signal
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.system.house import LATE, House, Pulse, sounds, wait_for

LOUD = {"audio": {"volume": 100, "keep_open": "1s"}}


def make_alarm(house, name="wake-up", seconds=4.0, **keys):
    """An alarm for one occurrence, so many seconds from now; returns its moment."""
    due = datetime.now().astimezone() + timedelta(seconds=seconds)
    due = (due + timedelta(seconds=1)).replace(microsecond=0)
    keys = {"at": due.isoformat(), "text": "おはようございます。", "repeat_every": "2s", "volume": 80} | keys
    house.publish(f"set/alarm/{name}", keys)
    return due


def alarm_events(house, name="wake-up"):
    return [e for e in house.listener.events if e.get("alarm") == name or e.get("id") == name]


def told(house, kind, name="wake-up", timeout=20.0):
    return wait_for(
        lambda: next((e for e in alarm_events(house, name) if e["event_type"] == kind), None),
        timeout,
        lambda: f"{kind} of {name}; log:\n{house.service.log[-3000:]}",
    )


def first_round(house, name="wake-up", number=0, timeout=20.0):
    """The event that tells of the first sample of a round."""
    suffix = f"/0.{number}"
    return wait_for(
        lambda: next(
            (
                e
                for e in house.listener.events
                if e["event_type"] == "started" and str(e["id"]).startswith(f"{name}@") and e["id"].endswith(suffix)
            ),
            None,
        ),
        timeout,
        lambda: f"round {number} of {name}; log:\n{house.service.log[-3000:]}",
    )


def heard(house, start, seconds=0.6):
    time.sleep(seconds)
    return sounds(house.pulse.recording(start))


def test_it_sounds_on_the_second_again_and_again_until_it_is_dismissed(house):
    start = house.pulse.position
    due = make_alarm(house)
    state = wait_for(lambda: s if (s := house.listener.state()).get("next_alarm") else None, 5, "the next alarm")
    assert (state["next_alarm"]["id"], datetime.fromisoformat(state["next_alarm"]["at"])) == ("wake-up", due)
    begun = first_round(house)
    assert begun["speaker"] == "mei"
    assert -1 <= begun["late_ms"] < LATE
    assert abs(time.time() - due.timestamp()) < 1
    assert house.listener.state()["state"] == "ringing"
    first_round(house, number=1)
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")
    assert len(heard(house, start)) >= 2
    quiet = house.pulse.position
    time.sleep(3)
    assert sounds(house.pulse.recording(quiet)) == []
    assert house.listener.state()["alarms"] == {}  # it was made for one occurrence


def test_snooze_and_dismiss_from_outside(make_house):
    house = make_house({**LOUD, "alarms": {"wake-up": {"at": "3:00", "pre_alarm": "3s"}}})
    make_alarm(house, "nap", 4, pre_alarm="3s", snooze="10s", text="起きて。")
    told(house, "alarm_pre", "nap")
    first_round(house, "nap")
    house.publish("do/snooze", "")
    until = datetime.fromisoformat(told(house, "alarm_snoozed", "nap")["until"])
    wait_for(lambda: house.listener.state()["state"] == "snoozed", 5, "snoozed")
    house.pulse.quiet(0.3)
    silent = house.pulse.position
    again = wait_for(
        lambda: next((e for e in house.listener.events if str(e["id"]).endswith("/1.0") and "late_ms" in e), None), 20
    )
    assert -1 <= again["late_ms"] < LATE
    assert abs(time.time() - until.timestamp()) < 1
    assert heard(house, silent)
    house.publish("set/alarm/nap/dismiss", "")
    told(house, "alarm_dismissed", "nap")
    house.publish("do/snooze", "")
    refused = wait_for(
        lambda: next(
            (e for e in house.listener.events if e.get("command") == "do/snooze" and e["event_type"] == "failed"), None
        ),
        5,
    )
    assert "nothing to snooze" in refused["reason"]


def test_an_alarm_cuts_into_speech_and_into_rendering_and_is_punctual(house):
    start = house.pulse.position
    make_alarm(house, seconds=3)
    talk = house.announce("とても長いお知らせです。" * 12)
    house.event("started", talk)
    house.announce("そして、もう一つ、別のお知らせがあります。" * 20)
    begun = first_round(house)
    assert -1 <= begun["late_ms"] < LATE
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")
    wait_for(lambda: "resumed_at" in str(house.listener.events), 10, "the talk to be resumed")
    house.publish("do/stop", "")
    assert heard(house, start)


def test_a_critical_message_cuts_into_a_ringing_alarm_which_rings_on(house):
    make_alarm(house, seconds=2, text="とても長い目覚ましの言葉です。" * 6)
    ring = first_round(house)["id"]
    time.sleep(1)
    asked = time.time()
    fire = house.announce("火事です。", priority="critical", chime="none")
    house.event("started", fire)
    assert time.time() - asked < 1.5
    house.ended(fire)
    wait_for(lambda: house.story(ring).count("started") == 2, 5, "the alarm to go on")
    assert house.listener.state()["state"] == "ringing"
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")


def test_it_fades_in(house):
    start = house.pulse.position
    make_alarm(house, seconds=2, fade_in={"begin": 10, "length": "8s"}, repeat_every="0.1s", volume=100)
    first_round(house)
    time.sleep(9)
    house.publish("do/dismiss", "")
    recording = house.pulse.recording(start)
    stretches = sounds(recording, gap=0.05)
    begin = stretches[0][0]
    early, late = (
        float(abs(recording[int((begin + at) * 48_000) : int((begin + at + 3) * 48_000)]).max()) for at in (0, 7)
    )
    assert early < 0.5 * late  # at 3 s (44 / 100)², at 8 s 1, of the same sound


@pytest.fixture
def faulty(tmp_path):
    """A house whose engine a file can break."""
    opened = []

    def make(config=None):
        folder = tmp_path / "faulty"
        folder.mkdir()
        house = House(folder, LOUD | (config or {}))
        switch = folder / "fault"
        house.service.command = ["-m", "tests.system.faulty", str(switch)]
        house.service.environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        opened.append(house)
        house.__enter__()
        return house, switch

    yield make
    for house in opened:
        house.__exit__()


@pytest.mark.parametrize(("fault", "reason"), [("raise", "the engine is broken"), ("hang", "not ready yet")])
def test_the_engine_fails_and_the_bell_rings(faulty, fault, reason):
    house, switch = faulty()
    switch.write_text(fault)
    start = house.pulse.position
    make_alarm(house, seconds=3, text="この文は作れません。")
    begun = first_round(house)
    assert begun["speaker"] == "bell"
    assert begun["late_ms"] < LATE
    assert reason in told(house, "alarm_failed")["reason"]
    assert heard(house, start, 1.0)
    health = json.loads(house.listener.of("health")[-1]) if house.listener.of("health") else {}
    assert health
    switch.write_text("")
    if fault == "hang":  # what was made too late is heard in a later round
        wait_for(lambda: any(e.get("speaker") == "mei" for e in house.listener.events), 20, "speech after all")
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")


def test_an_engine_that_hangs_with_a_message_does_not_hold_up_the_alarm(faulty):
    house, switch = faulty()
    make_alarm(house, seconds=4)
    time.sleep(1.5)  # its speech is ready in memory
    switch.write_text("hang")
    house.announce("この文は、いつまでも終わりません。")
    begun = first_round(house)
    assert (begun["speaker"], begun["late_ms"] < LATE) == ("mei", True)
    switch.write_text("")
    house.publish("do/dismiss", "")


def test_a_damaged_cache_does_not_matter(house):
    text = "壊れた蓄え。"
    house.ended(house.announce(text, chime="none"))
    for file in (house.folder / "cache" / "phrases").rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged" * 100)
    start = house.pulse.position
    make_alarm(house, seconds=2, text=text)
    begun = first_round(house)
    assert (begun["speaker"], begun["late_ms"] < LATE) == ("mei", True)
    house.publish("do/dismiss", "")
    assert heard(house, start)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_does_not_matter(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=True)
    place = tmp_path / "house"
    place.mkdir()
    house = House(place, LOUD)
    house.service.environment |= {"ASAGOE_CACHE": str(folder / "cache"), "STATE_DIRECTORY": str(folder / "state")}
    try:
        with house:
            with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
                while True:
                    filler.write(b"\0" * 4096)
            start = house.pulse.position
            make_alarm(house, seconds=2, text="満杯でも鳴ります。")
            begun = first_round(house)
            assert (begun["speaker"], begun["late_ms"] < LATE) == ("mei", True)
            house.publish("do/dismiss", "")
            told(house, "alarm_dismissed")
            assert heard(house, start)
            assert "what changes is forgotten at the next start" in house.service.log
    finally:
        subprocess.run(["umount", str(folder)], check=False)


def test_the_sound_device_goes_at_the_due_second_and_the_spare_one_takes_over(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    spare = Pulse(second)
    spare.start()
    house = House(first, {"audio": {"device": "default", "fallback_device": "spare", "volume": 100}})
    house.pulse.asound.write_text(
        house.pulse.asound.read_text()
        + f'pcm.spare {{ type pulse server "unix:{spare.socket}" hint {{ show on description "spare" }} }}\n'
    )
    try:
        with house:
            due = make_alarm(house, seconds=4)
            time.sleep(max(0, due.timestamp() - 0.1 - time.time()))
            start = spare.position
            house.pulse.server.kill()
            first_round(house)
            time.sleep(3)
            assert sounds(spare.recording(start))
            house.publish("do/dismiss", "")
            told(house, "alarm_dismissed")
            assert house.listener.state()["audio"]["audible"]
    finally:
        spare.stop()


def test_without_any_sound_device_it_says_so_and_goes_on_trying(make_house):
    house = make_house({"audio": {"device": "no such device", "volume": 100}}, sound=False)
    make_alarm(house, seconds=2)
    failed = told(house, "alarm_failed")
    assert "nobody can hear it" in failed["reason"]
    wait_for(lambda: len([e for e in house.listener.events if e["event_type"] == "started"]) > 1, 20, "another attempt")
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")


def test_without_a_broker_it_rings(house):
    start = house.pulse.position
    due = make_alarm(house, seconds=3)
    wait_for(lambda: "wake-up" in house.listener.state()["alarms"], 5, "the alarm to be known")
    house.mosquitto.kill()
    time.sleep(max(0, due.timestamp() - time.time()) + 1.5)
    assert sounds(house.pulse.recording(start))


def test_killed_while_it_rings_it_rings_again_after_the_restart(house):
    make_alarm(house, seconds=2, max_ring="1m")
    first_round(house)
    house.service.kill()
    start = house.pulse.position
    house.service.start()
    again = wait_for(
        lambda: next((e for e in alarm_events(house) if e.get("reason") == "the service was restarted"), None), 10
    )
    assert again["event_type"] == "alarm_ringing"
    assert heard(house, start, 2.0)
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")
    house.service.kill()
    silent = house.pulse.position
    house.service.start()
    time.sleep(2)
    assert sounds(house.pulse.recording(silent)) == []


def test_killed_before_it_is_due_and_back_too_late_it_is_missed_and_said(house):
    make_alarm(house, seconds=2, grace="1s", say_missed=True)
    wait_for(lambda: "wake-up" in house.listener.state()["alarms"], 5, "the alarm to be known")
    house.service.kill()
    time.sleep(5)
    start = house.pulse.position
    house.service.start()
    missed = told(house, "alarm_missed")
    assert "more than its grace of 1 s" in missed["reason"]
    wait_for(
        lambda: any(e["event_type"] == "finished" and e["id"].startswith("missed-") for e in house.listener.events), 20
    )
    assert heard(house, start)
    assert [e["event_type"] for e in alarm_events(house)] == ["alarm_missed"]


def test_due_while_the_service_was_down_it_rings_once_and_says_how_late_it_is(house):
    due = make_alarm(house, seconds=2)
    wait_for(lambda: "wake-up" in house.listener.state()["alarms"], 5, "the alarm to be known")
    house.service.kill()
    time.sleep(max(0, due.timestamp() + 3 - time.time()))
    house.service.start()
    first_round(house)
    ringing = [e for e in alarm_events(house) if e["event_type"] == "alarm_ringing"]
    assert len(ringing) == 1
    assert ringing[0]["late_s"] >= 3
    house.publish("do/dismiss", "")
    told(house, "alarm_dismissed")


FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


class Clock:
    """The wall clock of a service, which can be set while it runs; its monotonic clock is the true one."""

    def __init__(self, folder: Path):
        self.file = folder / "faketime"
        self.set(0)

    def set(self, offset: float) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(f"{offset:+f}\n")
        fresh.replace(self.file)

    @property
    def environment(self):
        return {
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed")
class TestClockSteps:
    @pytest.fixture
    def stepping(self, tmp_path):
        clock = Clock(tmp_path)
        folder = tmp_path / "house"
        folder.mkdir()
        house = House(folder, LOUD)
        house.service.environment |= clock.environment
        with house:
            yield house, clock

    def test_two_hours_forward_one_minute_before_it_is_missed_and_says_why(self, stepping):
        house, clock = stepping
        make_alarm(house, seconds=60)
        wait_for(lambda: "wake-up" in house.listener.state()["alarms"], 5, "the alarm to be known")
        clock.set(7200)
        missed = told(house, "alarm_missed", timeout=10)
        assert "more than its grace of 900 s" in missed["reason"]
        assert "the clock was set by +7200" in house.service.log

    def test_two_hours_back_one_minute_before_it_waits_and_rings_at_its_true_moment(self, stepping):
        house, clock = stepping
        make_alarm(house, seconds=8)
        wait_for(lambda: "wake-up" in house.listener.state()["alarms"], 5, "the alarm to be known")
        clock.set(-7200)
        time.sleep(10)
        assert alarm_events(house) == []
        clock.set(-3)  # and forward again, past the time of going
        told(house, "alarm_ringing", timeout=10)
        house.publish("do/dismiss", "")
        told(house, "alarm_dismissed")
        clock.set(-60)  # back before its moment: it does not ring twice
        time.sleep(3)
        assert [e["event_type"] for e in alarm_events(house)].count("alarm_ringing") == 1

    def test_a_step_over_its_moment_within_its_grace_rings_late_and_says_so(self, stepping):
        house, clock = stepping
        make_alarm(house, seconds=60)
        wait_for(lambda: "wake-up" in house.listener.state()["alarms"], 5, "the alarm to be known")
        clock.set(240)
        ringing = told(house, "alarm_ringing", timeout=10)
        assert 170 <= ringing["late_s"] <= 190
        house.publish("do/dismiss", "")

    def test_a_board_without_a_battery_begins_in_1970(self, tmp_path):
        clock = Clock(tmp_path)
        clock.set(-time.time() + 3600)
        folder = tmp_path / "house"
        folder.mkdir()
        due = (datetime.now(UTC) + timedelta(seconds=14)).replace(microsecond=0)
        alarms = {"wake-up": {"at": f"{due:%H:%M:%S}", "repeat_every": "2s"}}
        house = House(folder, LOUD | {"timezone": "UTC", "alarms": alarms})
        house.service.environment |= clock.environment
        with house:
            time.sleep(3)
            assert "it is not set" in house.service.log
            clock.set(0)
            begun = first_round(house, timeout=20)
            assert begun["late_ms"] < LATE
            assert abs(time.time() - due.timestamp()) < 1
            house.publish("do/dismiss", "")
            told(house, "alarm_dismissed")


def test_sigterm_while_it_rings_ends_soon_and_a_restart_goes_on(house):
    make_alarm(house, seconds=2, max_ring="1m")
    first_round(house)
    begun = time.monotonic()
    house.service.signal(signal.SIGTERM)
    assert house.service.process.wait(6) == 0
    assert time.monotonic() - begun < 5
    house.service.start()
    wait_for(lambda: any(e.get("reason") == "the service was restarted" for e in alarm_events(house)), 10)
