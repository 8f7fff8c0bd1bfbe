"""The service on a Debian that was booted for it: from the documented command to its removal. In order, on one machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from pathlib import Path

import pytest

from tests.machines.nspawn import Amplifier, Machine, machines_folder, wait_for

ROOT = Path(__file__).resolve().parents[2]
PIP = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}
CONFIG = "/etc/asagoe/asagoe.yaml"
CHECKS = {"configuration", "service", "sound", "voices", "broker", "clock", "memory", "disk", "folders"}
SAY = "mosquitto_pub -h 127.0.0.1 -t asagoe/home/announce -m '洗濯が終わりました'"


@pytest.fixture(scope="module")
def machine():
    made = Machine(
        base=Path(os.environ["ASAGOE_DEBIAN"]),
        folder=machines_folder() / f"running-{os.getpid()}",
        binds={ROOT: "/src", Path(os.environ["ASAGOE_WHEELS"]): "/wheels"},
    )
    try:
        made.mount()
        # The broker of the distribution is there, but does not run until a test starts it.
        made.run_offline("systemctl disable -q mosquitto.service")
        made.boot()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def amplifier(machine):
    made = Amplifier(machine)
    yield made
    made.end()


@pytest.fixture(scope="module")
def before(machine, amplifier):
    """The files of the machine before anything of ours is on it."""
    return machine.files()


def install(machine):
    began = time.monotonic()
    done = machine.run("/src/script/install", timeout=600, **PIP)
    return done.stdout + done.stderr, time.monotonic() - began


def says(machine, amplifier, command=SAY, timeout=20.0):
    """Seconds of sound that came of a command, and how long it took until there was some."""
    position, began = amplifier.position, time.monotonic()
    machine.run(command)
    wait_for(lambda: amplifier.heard(position) > 0.3, timeout, "sound")
    first = time.monotonic() - began
    wait_for(lambda: amplifier.heard(position) > 1.2, timeout, "the whole announcement")
    time.sleep(1.0)
    return amplifier.heard(position), first


def change(machine, old, new):
    path = machine.root / CONFIG.lstrip("/")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def digest(machine, folder):
    files = sorted(path for path in (machine.root / folder).rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_one_command_installs_and_starts_it(machine, amplifier, before):
    output, seconds = install(machine)
    print(
        f"\n{machine.run('. /etc/os-release; echo $PRETTY_NAME; systemctl --version | head -1').stdout}installed in {seconds:.0f} s"
    )
    assert "is installed" in output, output
    assert machine.show("ActiveState") == "active"
    assert machine.show("NRestarts") == "0"
    wait_for(lambda: "broker connected" in machine.show("StatusText"), 15, "the connection")
    status = machine.show("StatusText")
    print("STATUS:", status)
    assert re.fullmatch(r"1 speaker\(s\), sound goes to default, broker connected, next \w+ at \w{3} \d\d:\d\d", status)
    assert "audio" in machine.run("id -nG asagoe").stdout.split()
    pid = machine.show("MainPID")
    assert machine.run(f"stat -c %U /proc/{pid}").stdout.strip() == "asagoe"
    usec = int(machine.show("ActiveEnterTimestampMonotonic")) - int(machine.show("InactiveExitTimestampMonotonic"))
    rss = machine.run(f"grep VmRSS /proc/{pid}/status").stdout.split()[1]
    size = machine.run("du -sm /opt/asagoe").stdout.split()[0]
    print(f"READY after {usec / 1e6:.1f} s, resident {int(rss) / 1024:.0f} MB; /opt/asagoe {size} MB on disk")


def test_its_exposure_is_2_or_better(machine):
    said = machine.run("systemd-analyze security --no-pager --threshold=20 asagoe.service").stdout.strip().splitlines()
    print("\n" + said[-1])
    assert machine.run("systemd-analyze verify /usr/local/lib/systemd/system/asagoe.service").stderr == ""


def test_nothing_in_the_journal_is_worse_than_information(machine):
    assert machine.run("journalctl -q -o cat -u asagoe -p warning").stdout == ""


def test_a_message_is_heard(machine, amplifier):
    seconds, first = says(machine, amplifier)
    print(f"\n{seconds:.1f} s of sound, the first after {first:.2f} s")
    assert 1.0 < seconds < 6.0
    spoken, _ = says(machine, amplifier, "asagoe announce 'お風呂が沸きました'")
    assert 1.0 < spoken < 6.0
    facts = machine.run(f"cat /proc/{machine.show('MainPID')}/status").stdout
    figures = {key: facts.partition(f"{key}:")[2].split()[0] for key in ("VmRSS", "VmHWM", "RssFile", "Threads")}
    print(f"the service after two announcements, kB: {figures}")


def test_the_doctor_finds_nothing_that_does_not_work(machine):
    for who, play in (("root", " --play"), ("asagoe", "")):
        done = machine.run(f"asagoe doctor --json{play}", user=who, check=False, COLUMNS="120")
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert {finding["check"] for finding in found} == CHECKS
        texts = [finding["finding"] for finding in found]
        assert any(text.startswith("the service is active: 1 speaker(s)") for text in texts)
        assert any("we may listen to and publish on asagoe/home/" in text for text in texts)
        assert any(text.startswith("state: /var/lib/asagoe") for text in texts)
        assert any(("a quiet tone was played" if play else "default opens at 48000 Hz") in text for text in texts)
    print("\n" + machine.run("asagoe doctor", COLUMNS="120").stdout)
    assert (
        "home: 1 speaker(s)"
        in machine.run("asagoe doctor --health", user="asagoe", RUNTIME_DIRECTORY="/run/asagoe").stdout
    )


def test_a_command_is_run_as_the_service(machine):
    said = machine.run("asagoe as-service voices cached --help; asagoe as-service voices list --json").stdout
    assert "Show what the cache holds" in said or "Usage" in said
    assert '"state": "ready"' in said
    machine.write("/etc/credstore/asagoe.mqtt-password", "geheim\n")
    machine.run("chmod 600 /etc/credstore/asagoe.mqtt-password")
    assert machine.run("ls -d /run/asagoe-* 2>/dev/null", check=False).stdout == ""
    machine.run("rm /etc/credstore/asagoe.mqtt-password")
    done = machine.run("asagoe as-service check", user="asagoe", check=False)
    assert done.returncode == 1
    assert "needs root" in done.stderr


def test_the_doctor_names_what_is_wrong(machine):
    machine.run(
        "gpasswd -d asagoe audio; mkdir -p /dev/snd; touch /dev/snd/pcmC0D0p; chmod 660 /dev/snd/pcmC0D0p; chgrp audio /dev/snd/pcmC0D0p"
    )
    try:
        done = machine.run("asagoe doctor", check=False, COLUMNS="200")
        assert done.returncode == 1
        assert "user asagoe may not use /dev/snd/pcmC0D0p" in done.stdout
        assert "sudo usermod -aG audio asagoe" in done.stdout
    finally:
        machine.run("rm -r /dev/snd; usermod -aG audio asagoe")


def test_a_good_file_is_reloaded(machine):
    cursor = machine.cursor()
    change(machine, "schedule:", "schedule:\n  - {id: at-noon, at: '12:00', say: お昼です。}")
    machine.run("systemctl reload asagoe")
    wait_for(lambda: any("reloaded: " in line for line in machine.journal(cursor)), 10, "the reload")
    assert "at-noon" in machine.run("asagoe next").stdout
    assert machine.show("ActiveState") == "active"


def test_a_bad_file_is_refused_and_the_old_plan_goes_on(machine, amplifier):
    good = (machine.root / CONFIG.lstrip("/")).read_text()
    cursor, pid = machine.cursor(), machine.show("MainPID")
    change(machine, "max_queue: 50", "max_queue: many")
    line = next(n for n, text in enumerate(good.splitlines(), 1) if "max_queue" in text)
    done = machine.run("systemctl reload asagoe", check=False)
    assert done.returncode != 0
    assert machine.show("ActiveState") == "active"
    assert machine.show("MainPID") == pid
    assert any(f"asagoe.yaml:{line}: announcements.max_queue" in text for text in machine.journal(cursor))
    # The same without the check before it.
    machine.run("systemctl kill --kill-whom=main -s HUP asagoe")
    wait_for(lambda: any("the old one stays in force" in text for text in machine.journal(cursor)), 10, "the refusal")
    seconds, _ = says(machine, amplifier, SAY.replace("洗濯", "乾燥"))
    assert seconds > 1.0
    machine.write(CONFIG, good)
    machine.run("systemctl reload asagoe")


def test_a_sound_card_that_hangs_is_left_and_used_again_without_a_restart(machine, amplifier):
    cursor, pid, began = machine.cursor(), machine.show("MainPID"), time.monotonic()
    amplifier.freeze()
    machine.run(SAY.replace("洗濯が終わりました", "長い話をします。" * 20))
    wait_for(
        lambda: any("the sound device 'default' hangs" in line for line in machine.journal(cursor)), 40, "the word"
    )
    print(f"\nnoticed {time.monotonic() - began:.0f} s after the sound card hung")
    wait_for(lambda: "stuck" not in machine.show("StatusText"), 5, "a status that is well")
    time.sleep(75)  # longer than the watchdog of the unit is patient
    amplifier.thaw()
    wait_for(lambda: any("'default' answers again" in line for line in machine.journal(cursor)), 60, "the answer")
    seconds, _ = says(machine, amplifier, SAY.replace("洗濯", "二度目の洗濯"), timeout=60)
    assert seconds > 1.0
    assert (machine.show("MainPID"), machine.show("NRestarts")) == (pid, "0")
    assert not any("Watchdog timeout" in line for line in machine.journal(cursor))


def test_a_process_that_is_stopped_is_restarted(machine, amplifier):
    # A shorter watchdog than the unit's 60 s.
    drop_in = "/run/systemd/system/asagoe.service.d"
    machine.run(f"mkdir -p {drop_in}; printf '[Service]\\nWatchdogSec=15\\n' >{drop_in}/quick.conf")
    machine.run("systemctl daemon-reload; systemctl restart asagoe")
    cursor, began = machine.cursor(), time.monotonic()
    restarts = int(machine.show("NRestarts"))
    machine.run("systemctl kill --kill-whom=main -s STOP asagoe")
    wait_for(lambda: int(machine.show("NRestarts")) == restarts + 1, 100, "the restart")
    print(f"\nrestarted {time.monotonic() - began:.0f} s after SIGSTOP")
    lines = machine.journal(cursor)
    assert any("Watchdog timeout" in line for line in lines)
    stacks = "\n".join(lines).partition("Fatal Python error: Aborted")[2]
    assert 'base_events.py", line' in stacks or 'selectors.py", line' in stacks, stacks
    print("\n".join(lines[lines.index("Fatal Python error: Aborted") :][:14]))
    wait_for(lambda: machine.show("ActiveState") == "active", 30, "the new one")
    seconds, _ = says(machine, amplifier, SAY.replace("洗濯", "三度目の洗濯"))
    assert seconds > 1.0
    machine.run(f"rm -r {drop_in}; systemctl daemon-reload; systemctl restart asagoe")


def test_without_broker_network_and_clock_it_is_ready_and_keeps_its_schedule(machine, amplifier):
    good = (machine.root / CONFIG.lstrip("/")).read_text()
    change(machine, "broker: embedded", "#")
    change(
        machine,
        "port: 1883",
        "url: 'mqtt://127.0.0.1:1999'\n  username: asagoe\n  password: {credential: mqtt-password}",
    )
    machine.write("/etc/credstore/asagoe.mqtt-password", "geheim\n")
    due = machine.run("date -d '+12 seconds' +%H:%M:%S").stdout.strip()
    change(machine, "schedule:", f"schedule:\n  - {{id: soon, at: '{due}', say: 時間になりました。}}")
    machine.run("systemctl restart asagoe")
    assert machine.show("ActiveState") == "active"
    assert "waiting for the broker" in machine.show("StatusText")
    position = amplifier.position
    wait_for(lambda: amplifier.heard(position) > 1.0, 25, "the schedule")
    # A broker with a password comes up: it is found, and let in by the credential.
    machine.write(
        "/srv/mosquitto.conf", "listener 1999 127.0.0.1\npassword_file /srv/passwords\nallow_anonymous false\n"
    )
    machine.run("mosquitto_passwd -b -c /srv/passwords asagoe geheim; chmod 644 /srv/passwords")
    machine.run("systemd-run --unit=broker mosquitto -c /srv/mosquitto.conf")
    wait_for(lambda: "broker connected" in machine.show("StatusText"), 90, "the connection")
    seconds, _ = says(machine, amplifier, f"{SAY} -p 1999 -u asagoe -P geheim")
    assert seconds > 1.0
    machine.run("systemctl stop broker; rm /srv/mosquitto.conf /srv/passwords /etc/credstore/asagoe.mqtt-password")
    machine.write(CONFIG, good)
    machine.run("systemctl restart asagoe")


def test_a_cuda_device_that_is_not_there_is_told_and_the_documented_lines_are_ones_of_systemd(machine, amplifier):
    good = (machine.root / CONFIG.lstrip("/")).read_text()
    machine.write(CONFIG, f"{good}\ncompute_device: cuda\n")
    machine.run("systemctl restart asagoe")
    assert "voices are computed on cpu, not as configured" in machine.show("StatusText")
    told = "its unit keeps the service from CUDA devices"
    report = machine.run("asagoe doctor", check=False, COLUMNS="200").stdout
    assert told in report
    assert "voices are computed on the processor: the device 'cuda' needs torch" in report
    section = (ROOT / "docs/install.md").read_text().partition("## CUDA")[2]
    lines = re.search(r"```ini\n(.*?)```", section, re.DOTALL)[1]
    machine.run("mkdir -p /etc/systemd/system/asagoe.service.d")
    machine.write("/etc/systemd/system/asagoe.service.d/cuda.conf", lines)
    cursor = machine.cursor()
    try:
        machine.run("systemctl daemon-reload; systemctl restart asagoe")
        assert machine.show("MemoryDenyWriteExecute") == "no"
        assert not [line for line in machine.journal(cursor) if "cuda.conf" in line]  # an unknown key, a wrong value
        assert told not in machine.run("asagoe doctor", check=False, COLUMNS="200").stdout
        assert says(machine, amplifier)[0] > 1.0
    finally:
        machine.run("rm -r /etc/systemd/system/asagoe.service.d; systemctl daemon-reload")
        machine.write(CONFIG, good)
        machine.run("systemctl restart asagoe")


def test_a_mistake_in_the_configuration_ends_in_failed_with_one_line_and_no_storm(machine):
    good = (machine.root / CONFIG.lstrip("/")).read_text()
    cursor = machine.cursor()
    change(machine, "volume: 60", "volume: loud")
    line = next(n for n, text in enumerate(good.splitlines(), 1) if "volume: 60" in text)
    assert machine.run("systemctl restart asagoe", check=False).returncode != 0
    time.sleep(13)  # RestartSec and more
    assert machine.show("ActiveState") == "failed"
    assert machine.show("NRestarts") == "0"
    assert machine.show("ExecMainStatus") == "78"
    said = machine.journal(cursor, ours=True)
    mine = [text for text in said if "stopping" not in text]
    print(f"\n{mine}\nSTATUS: {machine.show('StatusText')}")
    assert len(mine) == 1
    assert mine[0].startswith(f"{CONFIG}:{line}: audio.volume: ")
    assert machine.run("journalctl -q -o cat -u asagoe -p err -n 50").stdout.count(mine[0]) == 1
    assert "the configuration is broken" in machine.show("StatusText")
    machine.write(CONFIG, good)
    machine.run("systemctl start asagoe")


def test_a_user_has_it_as_a_service_of_his_own(machine, amplifier):
    machine.run("systemctl stop asagoe; useradd --create-home kid; loginctl enable-linger kid")
    wait_for(lambda: machine.run("test -S /run/user/$(id -u kid)/bus", check=False).returncode == 0, 20, "the session")
    session = {
        "HOME": "/home/kid",
        "USER": "kid",
        "XDG_RUNTIME_DIR": f"/run/user/{machine.run('id -u kid').stdout.strip()}",
    }
    output = machine.run("/opt/asagoe/bin/asagoe install --user 2>&1", user="kid", **session).stdout
    print("\n" + output)
    assert "is installed" in output
    assert "enable-linger" not in output  # it is on
    show = "systemctl --user show asagoe --property=ActiveState --value"
    assert machine.run(show, user="kid", **session).stdout.strip() == "active"
    seconds, _ = says(machine, amplifier, SAY.replace("洗濯", "宿題"))
    assert seconds > 1.0
    found = json.loads(machine.run("asagoe doctor --json", user="kid", check=False, **session).stdout)
    assert any(finding["finding"].startswith("the service is active: ") for finding in found)
    assert {finding["check"] for finding in found if finding["level"] == "fail"} == set()
    left = machine.run("/opt/asagoe/bin/asagoe uninstall --user --purge", user="kid", **session).stdout
    assert "/opt/asagoe (the environment)" in left
    assert machine.run("systemctl --user cat asagoe", user="kid", check=False, **session).returncode != 0
    files = machine.run("find /home/kid -name '*asagoe*'").stdout
    assert files == ""
    machine.run("loginctl disable-linger kid; systemctl stop user@$(id -u kid); userdel -r kid; systemctl start asagoe")


def test_an_upgrade_keeps_configuration_and_state(machine, amplifier):
    machine.run("systemctl stop asagoe")
    kept = digest(machine, "etc/asagoe") | digest(machine, "var/lib/asagoe")
    (machine.root / "var/lib/asagoe/mine").write_text("kept")
    pid = machine.show("MainPID")
    output, seconds = install(machine)
    print(f"\nupgraded in {seconds:.0f} s")
    assert "keep /etc/asagoe/asagoe.yaml" in output
    after = digest(machine, "etc/asagoe") | digest(machine, "var/lib/asagoe")
    assert {path: sha for path, sha in kept.items() if after.get(path) != sha and not path.endswith(".pid")} == {}
    assert (machine.root / "var/lib/asagoe/mine").read_text() == "kept"
    assert machine.show("ActiveState") == "active"
    assert machine.show("MainPID") != pid
    assert says(machine, amplifier)[0] > 1.0


def test_its_removal_leaves_what_it_names_and_nothing_else(machine, before):
    output = machine.run("asagoe uninstall").stdout
    print("\n" + output)
    assert machine.run("systemctl cat asagoe", check=False).returncode != 0
    promised = ("/etc/asagoe", "/var/lib/asagoe", "/var/cache/asagoe", "/opt/asagoe")
    assert all(path in output for path in promised)
    left = {path for path in machine.files() - before if not path.startswith(promised)}
    assert left <= {"/etc/credstore", *USERS, *MACHINE_S_OWN}, left
    purged = machine.run("/opt/asagoe/bin/asagoe uninstall --purge").stdout
    assert "Left as it is" not in purged
    left = machine.files() - before
    assert left <= {"/etc/credstore", *USERS, *MACHINE_S_OWN}, left
    assert machine.run("id asagoe", check=False).returncode != 0


USERS = {"/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/.pwd.lock"}
"""Copies that the system keeps of its lists of users."""
MACHINE_S_OWN = {
    "/etc/subuid-", "/etc/subgid-", "/var/lib/systemd/random-seed", "/var/lib/systemd/timers",
    "/var/lib/systemd/credential.secret", "/var/log/lastlog", "/var/log/faillog",
}  # fmt: skip
"""What Debian writes by itself while it runs."""
