"""The doctor's checks: each trap is made, and the remedy is named."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from daemon.config import Config, load_config
from daemon.doctor import machine as machine_room
from daemon.doctor import service as service_room
from daemon.doctor import sound as sound_room
from daemon.doctor.broker import check_broker
from daemon.doctor.findings import Patient, Section, examine, ok
from daemon.doctor.machine import check_clock, check_disk, check_folders, check_memory
from daemon.doctor.service import check_configuration, check_service, judge_unit
from daemon.doctor.sound import cards as cards_of
from daemon.doctor.sound import check_sound, explain_card, explain_session, explain_silence, tone
from daemon.doctor.voices import check_voices
from daemon.errors import SinkMissingError
from daemon.service.notify import SystemdNotifier
from daemon.service.pulse import Pulse
from daemon.sinks.device import OutputDevice
from engine.voices.style_bert_vits2.pytorch import install as torch_install

HDMI_FIRST = """ 0 [vc4hdmi        ]: vc4-hdmi - vc4-hdmi
                      vc4-hdmi
 1 [Device         ]: USB-Audio - USB Audio Device
                      C-Media Electronics Inc. USB Audio Device at usb-0000:01:00.0-1.3
"""
OUTPUT = OutputDevice(0, "default", 2, 48_000, default=True)


def patient(tmp_path, files=(), **facts):
    for path, text in dict(files).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    usual = {"config": Config(), "root": tmp_path, "environment": {}, "uid": 1000, "groups": frozenset({1000})}
    return Patient(**(usual | facts))


def levels(findings):
    return [str(finding.level) for finding in findings]


# How checks are run.


def test_a_check_that_fails_or_hangs_does_not_disturb_the_next(tmp_path):
    go = threading.Event()

    def broken(_):
        yield ok("first")
        raise RuntimeError("oops")

    def hanging(_):
        go.wait(20)
        yield ok("late")

    sections = [
        Section("broken", broken),
        Section("hanging", hanging, timeout=0.1),
        Section("good", lambda _: [ok("x")]),
    ]
    found = dict(examine(patient(tmp_path), sections))
    go.set()
    assert levels(found["broken"]) == ["ok", "fail"]
    assert "oops" in found["broken"][1].text
    assert found["hanging"][0].text == "no answer within 0.1 s"
    assert found["good"] == [ok("x")]
    time.sleep(0.1)


# Configuration and service.


def test_a_mistake_in_the_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text("node: kitchen\nvolume: 3\n")
    (found,) = check_configuration(patient(tmp_path, path=path))
    assert found.level == "fail"
    assert f"{path}:2: volume: unknown key" in found.text


def test_a_credential_that_only_the_service_sees_is_no_mistake(tmp_path, monkeypatch):
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    path = tmp_path / "asagoe.yaml"
    path.write_text("mqtt: {url: 'mqtt://x', password: {credential: mqtt-password}}\n")
    (outside,) = check_configuration(patient(tmp_path, path=path))
    assert outside.level == "warn"
    assert "/etc/credstore/asagoe.mqtt-password" in outside.remedy
    (inside,) = check_configuration(patient(tmp_path, path=path, environment={"CREDENTIALS_DIRECTORY": str(tmp_path)}))
    assert inside.level == "fail"


@pytest.mark.parametrize(
    ("facts", "level", "words"),
    [
        ({"ActiveState": "active", "StatusText": "1 speaker(s)"}, ["ok"], "1 speaker(s)"),
        ({"ActiveState": "active", "StatusText": "x", "NRestarts": "3"}, ["ok", "warn"], "restarted 3 time(s)"),
        ({"ActiveState": "activating", "StatusText": "loading voices: f1"}, ["warn"], "loading voices: f1"),
        ({"ActiveState": "failed", "Result": "watchdog", "StatusText": "stuck: player"}, ["fail"], "(watchdog): stuck"),
        ({"ActiveState": "inactive"}, ["fail"], "does not run"),
        ({"ActiveState": "active", "UnitFileState": "disabled"}, ["ok", "warn"], "does not start with the machine"),
    ],
)
def test_the_states_of_the_unit(facts, level, words):
    found = list(judge_unit(facts, "systemctl"))
    assert levels(found) == level
    assert any(words in finding.text for finding in found)


@pytest.mark.parametrize(
    ("device", "allowed", "level"),
    [
        ("cpu", "char-alsa rw", ["ok"]),
        ("cuda", "char-alsa rw", ["ok", "warn"]),
        ("cuda:1", "char-alsa rw char-nvidia rw char-nvidia-uvm rw", ["ok"]),
    ],
)
def test_a_unit_that_keeps_the_service_from_its_device(tmp_path, monkeypatch, device, allowed, level):
    shown = "LoadState=loaded\nActiveState=active\nStatusText=1 speaker(s)=all\nDevicePolicy=closed\n"
    shown += "".join(f"DeviceAllow={name} rw\n" for name in allowed.split(" rw") if name)
    monkeypatch.setattr(service_room.shutil, "which", lambda _: "/bin/systemctl")
    monkeypatch.setattr(service_room.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=shown))
    config = Config.model_validate({"compute_device": device})
    found = list(check_service(patient(tmp_path, {"run/systemd/system/x": ""}, config=config)))
    assert levels(found) == level
    assert found[0].text == "the service is active: 1 speaker(s)=all"
    assert all("docs/install.md" in finding.remedy for finding in found[1:])


def test_a_user_is_told_of_his_own_service_where_he_has_one(tmp_path, monkeypatch):
    machine_s = {"LoadState": "loaded", "ActiveState": "inactive"}
    own = {"LoadState": "loaded", "ActiveState": "active", "StatusText": "mine"}
    monkeypatch.setattr(service_room, "_unit", lambda scope: own if scope else machine_s)
    monkeypatch.setattr(service_room.shutil, "which", lambda _: "/bin/systemctl")
    facts = {"run/systemd/system/x": ""}
    session = {"XDG_RUNTIME_DIR": "/run/user/1000"}
    (mine,) = check_service(patient(tmp_path, facts, environment=session))
    assert mine.text == "the service is active: mine"
    (theirs,) = check_service(patient(tmp_path, environment={}))
    assert theirs.remedy == "systemctl start asagoe"
    (root_s,) = check_service(patient(tmp_path, uid=0, environment=session))
    assert root_s.remedy == "systemctl start asagoe"


def test_without_systemd_the_pulse_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "runtime"))
    (absent,) = check_service(patient(tmp_path))
    assert absent.level == "warn"
    pulse = Pulse(SystemdNotifier(), "home")
    pulse.ready("1 speaker(s)")
    assert list(check_service(patient(tmp_path))) == [ok("1 speaker(s)")]
    pulse.stuck(["renderer"])
    (stuck,) = check_service(patient(tmp_path))
    assert (str(stuck.level), stuck.text) == ("fail", "stuck: renderer")


# Sound.


def test_a_user_outside_the_group_audio(tmp_path):
    facts = {"proc/asound/cards": HDMI_FIRST, "dev/snd/pcmC1D0p": ""}
    (tmp_path / "dev/snd").mkdir(parents=True)
    me = patient(tmp_path, facts, uid=54321, groups=frozenset({54321}))
    node = tmp_path / "dev/snd/pcmC1D0p"
    node.chmod(0o660)
    (found,) = explain_silence(me, cards_of(me), [])
    assert f"user 54321 may not use {node}" in found.text
    assert found.remedy.startswith("sudo usermod -aG audio 54321")
    # The group of the device is one of ours: the reason is another.
    mine = patient(tmp_path, uid=54321, groups=frozenset({node.stat().st_gid}))
    (busy,) = explain_silence(mine, cards_of(mine), [])
    assert "none can be opened" in busy.text
    assert not list(explain_silence(mine, cards_of(mine), [OUTPUT]))


def test_in_a_container_the_remedies_are_options_of_docker(tmp_path):
    bare = patient(tmp_path, {".dockerenv": "", "proc/asound/cards": HDMI_FIRST})
    (no_device,) = explain_silence(bare, cards_of(bare), [])
    assert "--device /dev/snd" in no_device.remedy
    given = patient(tmp_path, {"dev/snd/pcmC0D0p": ""}, uid=54321)
    (tmp_path / "dev/snd/pcmC0D0p").chmod(0o660)
    (no_group,) = explain_silence(given, cards_of(given), [])
    assert f"--group-add {(tmp_path / 'dev/snd/pcmC0D0p').stat().st_gid}" in no_group.remedy


def test_hdmi_without_a_monitor(tmp_path):
    files = {"proc/asound/cards": HDMI_FIRST, "sys/class/drm/card1-HDMI-A-1/status": "disconnected\n"}
    me = patient(tmp_path, files)
    (found,) = explain_card(me, cards_of(me), "default")
    assert "no monitor is connected" in found.text
    assert found.remedy == "set audio.device: Device (see `asagoe devices`)"
    # With a monitor it is only a warning that the other card is silent.
    (tmp_path / "sys/class/drm/card1-HDMI-A-1/status").write_text("connected\n")
    (other,) = explain_card(me, cards_of(me), "default")
    assert other.level == "warn"
    assert "the default card is the monitor" in other.text
    # A device that is named, or an ALSA configuration of one's own, is meant.
    assert not list(explain_card(me, cards_of(me), "Device"))
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/asound.conf").write_text("")
    assert not list(explain_card(me, cards_of(me), "default"))


def test_a_sound_server_of_somebody_else_s_session(tmp_path):
    (tmp_path / "run/user/1000").mkdir(parents=True)
    (tmp_path / "run/user/1000/pipewire-0").touch()
    (found,) = explain_session(patient(tmp_path, uid=999))
    assert "runs in the session of" in found.text
    assert "asagoe install --user" in found.remedy
    assert not list(explain_session(patient(tmp_path, uid=1000, environment={"XDG_RUNTIME_DIR": "/run/user/1000"})))


def test_a_missing_xdg_runtime_dir(tmp_path):
    (none,) = explain_session(patient(tmp_path, uid=1001))
    assert "enable-linger" in none.remedy
    (tmp_path / "run/user/1001").mkdir(parents=True)
    (unset,) = explain_session(patient(tmp_path, uid=1001))
    assert unset.remedy == "export XDG_RUNTIME_DIR=/run/user/1001"


def test_a_pulse_server_that_is_not_there(tmp_path):
    (found,) = explain_session(patient(tmp_path, uid=0, environment={"PULSE_SERVER": "unix:/run/pulse/native"}))
    assert "PULSE_SERVER names /run/pulse/native" in found.text


def test_the_device_is_opened_and_a_tone_is_played(tmp_path, monkeypatch):
    written = []

    class Sink:
        sample_rate = 48_000

        def open(self, title): ...

        def write(self, block):
            written.append(block)

        def close(self): ...

    monkeypatch.setattr(sound_room, "list_outputs", lambda: [OUTPUT])
    monkeypatch.setattr(sound_room, "make_sink", lambda *_, **__: Sink())
    found = list(check_sound(patient(tmp_path, play=True, environment={"XDG_RUNTIME_DIR": "/x"})))
    assert levels(found) == ["ok", "ok"]
    played = np.concatenate(written)
    assert len(played) == 48_000
    assert 0.04 < np.abs(played).max() <= 0.05
    assert np.array_equal(played, tone(48_000))


def test_a_device_that_does_not_open_is_named(tmp_path, monkeypatch):
    class Sink:
        def open(self, title):
            raise SinkMissingError("there is no sound device 'usb'; there are 'default'")

        def close(self): ...

    monkeypatch.setattr(sound_room, "list_outputs", lambda: [OUTPUT])
    monkeypatch.setattr(sound_room, "make_sink", lambda *_, **__: Sink())
    config = Config.model_validate({"audio": {"device": "usb"}})
    found = list(check_sound(patient(tmp_path, config=config, environment={"XDG_RUNTIME_DIR": "/x"})))
    assert found[-1].level == "fail"
    assert "there is no sound device 'usb'" in found[-1].text


def test_sound_that_goes_to_files_is_said(tmp_path):
    config = Config.model_validate({"audio": {"device": "file:/x"}})
    assert levels(check_sound(patient(tmp_path, config=config))) == ["warn"]


# Broker.


def mqtt(port, **facts):
    return Config.model_validate({"mqtt": {"url": f"mqtt://127.0.0.1:{port}", **facts}})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def mosquitto(tmp_path):
    """Starts a real broker with the given lines of configuration; returns its port."""
    binary = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
    if not Path(binary).exists():
        pytest.skip("mosquitto is not installed")
    started = []

    def start(*lines):
        port = free_port()
        (tmp_path / "mosquitto.conf").write_text("\n".join([f"listener {port} 127.0.0.1", *lines]) + "\n")
        process = subprocess.Popen(
            [binary, "-c", str(tmp_path / "mosquitto.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        started.append(process)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                return port
            except OSError:
                time.sleep(0.05)
        raise AssertionError("mosquitto does not answer")

    yield start
    for process in started:
        process.terminate()
        process.wait(5)


@pytest.mark.system
def test_a_broker_that_lets_us_in(tmp_path, mosquitto):
    found = list(check_broker(patient(tmp_path, config=mqtt(mosquitto("allow_anonymous true")))))
    assert levels(found) == ["ok", "ok"]
    assert "may listen to and publish on asagoe/home/" in found[1].text


@pytest.mark.system
def test_a_broker_that_refuses_the_password(tmp_path, mosquitto):
    port = mosquitto("allow_anonymous false")
    (found,) = check_broker(patient(tmp_path, config=mqtt(port, username="me", password="wrong")))
    assert found.level == "fail"
    assert "refuses us (user 'me')" in found.text
    assert "mqtt.password" in found.remedy
    assert "wrong" not in found.text


@pytest.mark.system
def test_a_broker_whose_access_list_forbids_us(tmp_path, mosquitto):
    (tmp_path / "acl").write_text("topic read other/#\n")
    (tmp_path / "acl").chmod(0o600)
    port = mosquitto("allow_anonymous true", f"acl_file {tmp_path}/acl", "user root")
    found = list(check_broker(patient(tmp_path, config=mqtt(port))))
    assert "fail" in levels(found)
    assert any("may not publish to asagoe/home/" in finding.text for finding in found)
    assert any("topic readwrite asagoe/#" in finding.remedy for finding in found)


def test_nothing_listens(tmp_path):
    (found,) = check_broker(patient(tmp_path, config=mqtt(free_port())))
    assert found.level == "fail"
    assert "nothing listens on 127.0.0.1:" in found.text


def test_something_that_is_no_broker(tmp_path, monkeypatch):
    monkeypatch.setattr("daemon.doctor.broker._PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = mqtt(server.getsockname()[1])
        (found,) = check_broker(patient(tmp_path, config=config))
    assert found.level == "fail"
    assert "does not speak MQTT" in found.text


def test_a_broker_of_our_own_is_possible_or_not(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "runtime"))
    own = Config.model_validate({"mqtt": {"broker": "embedded", "port": free_port()}})
    (found,) = check_broker(patient(tmp_path, config=own))
    assert found.level == "ok", found
    assert "will start its own broker" in found.text
    assert levels(check_broker(patient(tmp_path, config=Config.model_validate({"mqtt": {"broker": "none"}})))) == ["ok"]


# Voices and machine.


def test_the_embedded_voice_speaks(tmp_path):
    (found,) = check_voices(patient(tmp_path))
    assert found.level == "ok"
    assert "speaker mei speaks" in found.text


def test_a_device_that_cannot_compute(tmp_path, monkeypatch):
    config = Config.model_validate({"speakers": {"mei": {"source": "openjtalk:mei"}}, "compute_device": "cuda"})
    monkeypatch.setattr(torch_install, "find_spec", lambda name: None)
    first, second = check_voices(patient(tmp_path, config=config))
    assert (first.level, second.level) == ("warn", "ok")
    assert "computed on the processor: the device 'cuda' needs torch" in first.text
    assert "asagoe voices download --device cpu" in first.remedy


def test_a_voice_that_is_not_in_the_cache(tmp_path):
    speakers = {"f1": {"source": "hf://somebody/voices", "name": "f1"}}
    (found,) = check_voices(patient(tmp_path, config=Config.model_validate({"speakers": speakers})))
    assert found.level == "warn"
    assert found.remedy.startswith("asagoe voices download")


def test_a_clock_that_is_wrong_or_not_set(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_room, "_synchronized", lambda: False)
    found = list(check_clock(patient(tmp_path, config=Config.model_validate({"timezone": "Asia/Tokyo"}))))
    assert levels(found) == ["warn", "warn", "ok"]
    assert "not synchronised" in found[0].text
    assert "no real-time clock" in found[1].text
    (tmp_path / "sys/class/rtc/rtc0").mkdir(parents=True)
    assert levels(check_clock(patient(tmp_path)))[:1] == ["warn"]
    monkeypatch.setattr(
        machine_room,
        "SystemClock",
        lambda: SimpleNamespace(now=lambda: machine_room.datetime(1999, 1, 1, tzinfo=machine_room.UTC)),
    )
    assert "1999-01-01" in next(check_clock(patient(tmp_path))).text


def test_a_zone_that_nobody_chose(tmp_path, monkeypatch):
    monkeypatch.setattr("daemon.config.models.get_localzone", lambda: "UTC")
    found = list(check_clock(patient(tmp_path)))
    assert found[-1].level == "warn"
    assert "7:00 in Greenwich" in found[-1].text


@pytest.mark.parametrize(
    ("total", "available", "speakers", "limit", "level"),
    [
        (2_000_000, 1_500_000, "openjtalk:mei", "max", "ok"),
        (500_000, 100_000, "openjtalk:mei", "max", "fail"),
        (1_000_000, 700_000, "hf://me/voices", "max", "warn"),
        (4_000_000, 3_000_000, "openjtalk:mei", "100000000", "fail"),
    ],
)
def test_memory(tmp_path, total, available, speakers, limit, level):
    files = {
        "proc/meminfo": f"MemTotal: {total} kB\nMemAvailable: {available} kB\n",
        "sys/fs/cgroup/memory.max": f"{limit}\n",
    }
    config = Config.model_validate({"speakers": {"a": {"source": speakers}}})
    assert levels(check_memory(patient(tmp_path, files, config=config))) == [level]


def test_a_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_room.shutil, "disk_usage", lambda _: SimpleNamespace(free=10_000_000))
    assert levels(check_disk(patient(tmp_path))) == ["fail"]


def test_folders_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", "/proc/asagoe")
    monkeypatch.setattr(machine_room.os, "access", lambda *_: False)  # root may all
    found = list(check_folders(patient(tmp_path)))
    assert found[0].level == "fail"
    assert "the state folder /proc/asagoe cannot be written by user 1000" in found[0].text
    # Where systemd gives the folder, it is made at the start.
    found = list(check_folders(patient(tmp_path, environment={"STATE_DIRECTORY": "/proc/asagoe"})))
    assert found[0].level == "ok"


def test_a_password_that_everybody_can_read(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text("mqtt: {url: 'mqtt://x', password: geheim}\n")
    path.chmod(0o644)
    found = list(check_folders(patient(tmp_path, path=path, config=load_config(path))))
    assert any("which everybody can read" in f.text and "geheim" not in f.text for f in found)
    path.chmod(0o640)
    found = list(check_folders(patient(tmp_path, path=path, config=load_config(path))))
    assert not any("everybody can read" in f.text for f in found)


def test_the_command_prints_json_and_ends_with_1_where_something_does_not_work(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text(f"mqtt: {{url: 'mqtt://127.0.0.1:{free_port()}'}}\naudio: {{device: 'null'}}\n")
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "doctor", "--json", "--config", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert {entry["check"] for entry in found} == {
        "configuration", "service", "sound", "voices", "broker", "clock", "memory", "disk", "folders",
    }  # fmt: skip
    (broker,) = [entry for entry in found if entry["check"] == "broker"]
    assert broker["level"] == "fail"
    assert broker["remedy"]
    assert not [entry for entry in found if "the check itself failed" in entry["finding"]]


def test_a_broken_file_leaves_the_checks_that_need_none(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text("nonsense: 1\n")
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "doctor", "--config", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "300"},  # a path of any length stays on its line
    )
    assert done.returncode == 1
    assert "unknown key" in done.stdout
    assert "clock" in done.stdout
    assert "Traceback" not in done.stderr + done.stdout
