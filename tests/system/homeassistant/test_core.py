"""A real Home Assistant core beside a real service and a real broker: script/test-homeassistant runs this."""

import json
import os
import queue
import shutil
import subprocess
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tzlocal import get_localzone

from tests.system.house import end, sounds, wait_for

ROOT = os.environ.get("ASAGOE_HOMEASSISTANT_ROOT")
pytestmark = pytest.mark.skipif(ROOT is None, reason="needs a Home Assistant in a folder: script/test-homeassistant")

CONFIGURATION = """
homeassistant: {name: Test, latitude: 35.68, longitude: 139.77, elevation: 10, unit_system: metric, country: JP,
  language: ja, time_zone: Asia/Tokyo, currency: JPY}
"""


class Core:
    """A Home Assistant that does what it is told."""

    def __init__(self, port):
        self.port = port
        self.folder = Path(ROOT) / "config"
        self.process = None
        self.answers = queue.Queue()
        self.started = 0.0
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / "configuration.yaml").write_text(CONFIGURATION)
        shutil.copy(Path(__file__).with_name("driver.py"), Path(ROOT) / "driver.py")

    def start(self):
        environment = {"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "LANG": "C.UTF-8", "HOME": "/root"}
        environment |= {"PATH": "/ha/bin:/usr/bin:/bin"} | {k: v for k, v in os.environ.items() if "proxy" in k.lower()}
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [
                shutil.which("chroot") or "/usr/sbin/chroot",
                ROOT,
                "/ha/bin/python",
                "/driver.py",
                "/config",
                str(self.port),
            ],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()
        assert self.answers.get(timeout=600) == "ready"
        self.started = time.monotonic() - begin

    def _read(self, stream):
        for line in stream:
            if line.startswith(">"):
                self.answers.put(json.loads(line[1:]))

    def ask(self, do, **order):
        self.process.stdin.write(json.dumps({"do": do} | order) + "\n")
        self.process.stdin.flush()
        return self.answers.get(timeout=60)

    def call(self, domain, service, **data):
        assert self.ask("call", domain=domain, service=service, data=data) == "done"

    def state(self, entity):
        return self.ask("entities")[entity]["state"]

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.ask("stop")
            end(self.process, 60)
            self.process.stdin.close()
            self.process.stdout.close()


@pytest.fixture
def core(make_house):
    due = (datetime.now().astimezone() + timedelta(hours=2)).strftime("%H:%M:%S")
    config = {
        "timezone": str(get_localzone()),
        "alarms": {
            "wake-up": {"at": due, "name": "起床", "text": "おはよう。"},
            "other": {"at": due, "text": "はい。"},
        },
        "briefings": {"morning": {"sections": [{"kind": "date"}]}},
        "schedule": [{"id": "bath", "at": due, "say": "お風呂。"}],
    }
    house = make_house(config)
    core = Core(house.mosquitto.port)
    core.house = house
    core.start()
    yield core
    core.stop()


def test_a_real_home_assistant_finds_speaks_switches_and_has_it_all_again_after_a_restart(core):
    house = core.house
    told = json.loads(told_device(house))
    ours = told["components"]

    def found():
        entities = core.ask("entities")
        return entities if len(entities) >= len(ours) else None

    begin = time.monotonic()
    entities = wait_for(found, 60, "all entities")
    print(f"\nstart {core.started:.1f} s; {len(entities)} entities {time.monotonic() - begin:.1f} s after it")
    unique = {item["unique_id"] for item in entities.values()}
    assert {item["unique_id"] for item in ours.values()} <= unique
    assert set(entities) >= {item["default_entity_id"] for item in ours.values()}
    assert "朝声 kitchen" in core.ask("devices")
    wait_for(lambda: core.state("switch.asagoe_kitchen_alarm_wake_up") == "on", 20, "the state of the switch")
    enabled = {name: item for name, item in core.ask("entities").items() if not item["disabled"]}
    stateless = ("button.", "notify.", "event.")
    unknown = {
        name
        for name, item in enabled.items()
        if item["state"] in ("unknown", "unavailable", None) and not name.startswith(stateless)
    }
    # What nobody has chosen, and what has not happened yet.
    assert unknown == {
        "number.asagoe_kitchen_alarm_volume",
        "number.asagoe_kitchen_snooze_minutes",
        "sensor.asagoe_kitchen_last_announcement",
        "sensor.asagoe_kitchen_last_error",
    }

    # A notify call is spoken, whatever is in it.
    start, text = house.pulse.position, '洗濯が"終わり"ました。{{ 1 }}'
    core.call("notify", "send_message", entity_id="notify.asagoe_kitchen_announce", message=text)
    accepted = wait_for(lambda: [e for e in house.listener.events if e["event_type"] == "accepted"], 10, "accepted")[0]
    assert accepted["text"] == text
    house.ended(accepted["id"])
    assert sounds(house.pulse.recording(start))
    wait_for(lambda: core.state("sensor.asagoe_kitchen_last_announcement") == text, 10, "the last announcement")
    event = core.ask("entities")["event.asagoe_kitchen_announcement_event"]
    assert event["attributes"]["event_type"] == "finished"

    # The switch turns one of two alarms off; both are due soon.
    due = (datetime.now().astimezone() + timedelta(seconds=15)).replace(microsecond=0)
    for name in ("wake-up", "other"):
        house.publish(f"set/alarm/{name}/time", due.strftime("%H:%M:%S"))
    core.call("switch", "turn_off", entity_id="switch.asagoe_kitchen_alarm_wake_up")
    wait_for(lambda: core.state("switch.asagoe_kitchen_alarm_wake_up") == "off", 10, "the switch")
    wait_for(lambda: core.state("binary_sensor.asagoe_kitchen_ringing") == "on", 30, "the other alarm")
    time.sleep(1)
    assert [e["alarm"] for e in house.listener.events if e["event_type"] == "alarm_ringing"] == ["other"]
    core.call("button", "press", entity_id="button.asagoe_kitchen_dismiss")
    wait_for(lambda: core.state("binary_sensor.asagoe_kitchen_ringing") == "off", 10, "silence")

    # The siren carries tone, length and volume; number and select choose.
    siren = {"entity_id": "siren.asagoe_kitchen_siren", "tone": "ding", "duration": 3, "volume_level": 0.5}
    core.call("siren", "turn_on", **siren)
    wait_for(lambda: core.state("siren.asagoe_kitchen_siren") == "on", 10, "the siren")
    wait_for(lambda: core.state("siren.asagoe_kitchen_siren") == "off", 15, "the end of the siren")
    core.call("number", "set_value", entity_id="number.asagoe_kitchen_volume", value=35)
    wait_for(lambda: core.state("number.asagoe_kitchen_volume") == "35", 10, "the volume")
    core.call("select", "select_option", entity_id="select.asagoe_kitchen_chime", option="ding")
    wait_for(lambda: core.state("select.asagoe_kitchen_chime") == "ding", 10, "the chime")

    # What is made appears, what is removed is gone.
    house.publish("set/alarm/nap", {"cron": "0 13 * * *"})
    nap = "switch.asagoe_kitchen_alarm_nap"
    wait_for(lambda: core.ask("entities").get(nap, {}).get("state") == "on", 15, "the new alarm")
    house.publish("set/alarm/nap", "")
    wait_for(lambda: nap not in core.ask("entities"), 15, "its removal")

    # A stop is seen, and the start after it.
    house.service.stop()
    wait_for(lambda: core.state("number.asagoe_kitchen_volume") == "unavailable", 10, "unavailable")
    house.service.start()
    wait_for(lambda: core.state("number.asagoe_kitchen_volume") == "100", 20, "available again")

    complaints = core.ask("complaints")
    before = core.ask("entities")
    core.stop()
    core.start()
    begin = time.monotonic()
    same = {name for name, item in before.items() if item["state"] not in ("unknown", None)} - {
        name for name in before if name.startswith(stateless)
    }
    wait_for(
        lambda: all(core.ask("entities")[name]["state"] not in ("unknown", "unavailable", None) for name in same),
        60,
        "all states after the restart",
    )
    after = core.ask("entities")
    print(f"restart {core.started:.1f} s; {len(same)} states {time.monotonic() - begin:.1f} s after it")
    assert set(after) == set(before)
    changing = {"sensor.asagoe_kitchen_last_error"}
    assert {n: after[n]["state"] for n in same - changing} == {n: before[n]["state"] for n in same - changing}
    assert complaints + core.ask("complaints") == []


def told_device(house):
    from tests.system.house import Listener

    listener = Listener(house.mosquitto.port, "homeassistant")
    try:
        return wait_for(lambda: listener.of("device/asagoe_kitchen/config"), 10, "the device")[-1]
    finally:
        listener.stop()
