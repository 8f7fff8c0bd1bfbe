import json
import os
import subprocess
import sys
import time

import pytest

from daemon.service.notify import OwnWatchdog, SystemdNotifier, notifier_of_the_environment
from daemon.service.pulse import STALE, Pulse, pulse_path, read_pulse


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    monkeypatch.delenv("ASAGOE_WATCHDOG", raising=False)


def health():
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "doctor", "--health"], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_pulse_tells_another_process_how_the_service_is():
    assert health()[0] == 1
    pulse = Pulse(SystemdNotifier(), "home")
    pulse.status("loading voices: mei")
    assert health() == (1, "home: loading voices: mei\n")
    pulse.ready("1 speaker(s)")
    assert health() == (0, "home: 1 speaker(s)\n")
    pulse.stuck(["player"])
    assert health() == (1, "home: stuck: player\n")
    pulse.alive()
    assert health()[0] == 0
    pulse.stopping()
    assert health()[0] == 1
    assert not pulse_path("home").exists()


def test_a_pulse_that_is_not_renewed_is_none():
    pulse = Pulse(SystemdNotifier(), "home")
    pulse.ready("1 speaker(s)")
    now = time.monotonic()
    assert read_pulse("home", now + STALE - 5).well
    late = read_pulse("home", now + STALE + 5)
    assert not late.well
    assert "95 s" in late.text
    assert not read_pulse("home", now - 100).well  # written before the machine was started anew


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"at": "x", "status": 1, "ready": 1, "stuck": []}', "\x00"])
def test_a_broken_pulse_is_no_traceback(text):
    pulse_path("home").parent.mkdir(parents=True)
    pulse_path("home").write_text(text)
    beat = read_pulse("home", time.monotonic())
    assert not beat.well
    assert "cannot be read" in beat.text


def test_a_folder_that_cannot_be_written_does_not_disturb(monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/proc/no/such")
    Pulse(SystemdNotifier(), "home").ready("x")


def test_a_watchdog_of_our_own_is_taken_only_where_systemd_has_none(monkeypatch):
    assert notifier_of_the_environment().watchdog is None
    monkeypatch.setenv("ASAGOE_WATCHDOG", "90")
    assert isinstance(notifier_of_the_environment(), OwnWatchdog)
    assert notifier_of_the_environment().watchdog == 90.0
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    assert notifier_of_the_environment().watchdog == 30.0


SCRIPT = """
import sys, threading, time
from daemon.service.notify import notifier_of_the_environment
notifier = notifier_of_the_environment()
threading.Thread(target=lambda: time.sleep(60), name="hangs", daemon=True).start()
for _ in range(3):
    notifier.alive()
    time.sleep(0.5)
if sys.argv[1] == "stop":
    notifier.stopping()
    time.sleep(1.5)
    sys.exit(0)
time.sleep(30)
"""


def test_a_watchdog_of_our_own_shows_the_stacks_and_ends_the_process():
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "hang"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ASAGOE_WATCHDOG": "1"},
    )
    assert done.returncode == 1
    assert 2.0 < time.monotonic() - began < 15.0
    assert "Timeout (0:00:01)!" in done.stderr
    assert done.stderr.count("(most recent call first)") == 2
    stopped = subprocess.run(
        [sys.executable, "-c", SCRIPT, "stop"], check=False, env=os.environ | {"ASAGOE_WATCHDOG": "1"}
    )
    assert stopped.returncode == 0


def test_what_the_pulse_holds_is_json():
    Pulse(SystemdNotifier(), "home").ready("一つ")
    facts = json.loads(pulse_path("home").read_text())
    assert facts["pid"] == os.getpid()
    assert facts["status"] == "一つ"
