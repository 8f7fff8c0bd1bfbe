"""Checks of the machine: clock, memory, disk, folders."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from daemon.clock import SystemClock
from daemon.doctor.findings import Finding, Patient, fail, ok, warn
from daemon.folders import cache_root, phrase_folder, recordings_folder, state_folder
from daemon.service.pulse import runtime_folder

_RELEASED = datetime(2025, 1, 1, tzinfo=UTC)
_LITTLE_DISK, _NO_DISK = 300e6, 30e6
_LITTLE_MEMORY = 150e6
_NEURAL_MEMORY = 1_200e6
_TIME_ERROR = 5


def check_clock(patient: Patient) -> Iterator[Finding]:
    """Is the time right, will it be after a power cut, and is it local?"""
    now = SystemClock().now()
    if now < _RELEASED:
        yield fail(
            f"the clock says {now:%Y-%m-%d}",
            "let it be set by the network (systemd-timesyncd or chrony), or set it: timedatectl set-time; until then "
            "certificates are refused and the schedule is wrong",
        )
    synchronized = _synchronized()
    if synchronized:
        yield ok("the clock is synchronised by the network")
    elif synchronized is None:
        yield ok("whether the clock is synchronised cannot be seen from here")
    else:
        yield warn(
            "the clock is not synchronised by the network", "sudo timedatectl set-ntp true (needs systemd-timesyncd)"
        )
    if not patient.in_container and not any(patient.root.glob("sys/class/rtc/rtc*")):
        yield warn(
            "there is no real-time clock: after a power cut the time is wrong until the network answers",
            "add an RTC module (Raspberry Pi 5: a battery on J5), or live with it: the schedule is planned anew then",
        )
    yield from _zone(patient)


def _zone(patient: Patient) -> Iterator[Finding]:
    if patient.config is None:
        return
    zone = patient.config.zone.key
    if patient.config.timezone is None and zone in {"UTC", "Etc/UTC"}:
        yield warn(
            "the time zone is UTC: `7:00` means 7:00 in Greenwich",
            "set the key timezone, for example Asia/Tokyo, or the system's: sudo timedatectl set-timezone Asia/Tokyo",
        )
    else:
        yield ok(f"the time zone is {zone}: it is {SystemClock().now().astimezone(patient.config.zone):%H:%M}")


def _synchronized() -> bool | None:
    """By timedated, else by the kernel (adjtimex(2)); None where neither tells."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            ["timedatectl", "show", "--property=NTPSynchronized", "--value"],
            capture_output=True,
            text=True,
            check=False,
            timeout=5,
        )
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip() == "yes"
    with contextlib.suppress(OSError, AttributeError):
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))  # modes=0: it only reads
        if state >= 0:
            return bool(state != _TIME_ERROR)
    return None


def check_memory(patient: Patient) -> Iterator[Finding]:
    """Is there memory for the configured voices?"""
    facts = {
        match[1]: int(match[2]) * 1024 for match in re.finditer(r"(\w+):\s+(\d+) kB", patient.text("proc/meminfo"))
    }
    if "MemTotal" not in facts or "MemAvailable" not in facts:
        yield warn("/proc/meminfo tells nothing", "mount /proc")
        return
    total, available = facts["MemTotal"], facts["MemAvailable"]
    limit = patient.text("sys/fs/cgroup/memory.max").strip()
    if limit.isdigit() and int(limit) < total:
        total, available = int(limit), min(available, int(limit))
    text = f"{available / 1e6:,.0f} of {total / 1e6:,.0f} MB are free"
    neural = patient.config is not None and any(
        not speaker.source.startswith("openjtalk:") for speaker in patient.config.speakers.values()
    )
    if available < _LITTLE_MEMORY:
        yield fail(text, "end other programs, or raise the container's limit; the embedded voice takes about 150 MB")
    elif neural and total < _NEURAL_MEMORY:
        yield warn(
            text, "a neural voice takes about 1 GB; use the embedded voice (openjtalk:mei) or a board with 2 GB or more"
        )
    else:
        yield ok(text)


def check_disk(patient: Patient) -> Iterator[Finding]:
    """Is there room for voices, phrases and state?"""
    cache = patient.config.phrase_cache if patient.config else None
    places = {
        "voices": cache_root(),
        "phrases": phrase_folder(cache.folder if cache else None),
        "state": state_folder(),
    }
    seen: set[int] = set()
    for what, path in places.items():
        there = next((folder for folder in (path, *path.parents) if folder.exists()), Path("/"))
        try:
            device, free = there.stat().st_dev, shutil.disk_usage(there).free
        except OSError as error:
            yield fail(f"{path} cannot be looked at: {error.strerror}", "see the line on folders")
            continue
        if device in seen:
            continue
        seen.add(device)
        text = f"{free / 1e6:,.0f} MB are free for {what} ({path})"
        if free < _NO_DISK:
            yield fail(text, "free some: `asagoe voices cached` shows what voices take")
        elif free < _LITTLE_DISK:
            yield warn(text, "a neural voice takes 250 to 800 MB; `asagoe voices cached` shows what is there")
        else:
            yield ok(text)


def check_folders(patient: Patient) -> Iterator[Finding]:
    """Can the user write where the service must, and nobody else read what is secret?"""
    for what, path in {"state": state_folder(), "cache": cache_root(), "runtime": runtime_folder()}.items():
        problem = _cannot_write(path)
        if not path.exists() and f"{what.upper()}_DIRECTORY" in patient.environment:
            yield ok(f"{what}: {path}, which systemd makes when the service starts")
        elif problem:
            yield fail(
                f"the {what} folder {path} cannot be written by user {patient.uid}: {problem}",
                f"sudo chown -R {patient.uid} {path}, or name another: see the folders in docs/install.md",
            )
        else:
            yield ok(f"{what}: {path}")
    if patient.config is not None:
        yield from _secrets(patient)
    device = patient.config.audio.device if patient.config else "default"
    if not device.startswith("file:"):
        yield ok(f"without a sound device, WAV files go to {recordings_folder()}")


def _secrets(patient: Patient) -> Iterator[Finding]:
    password = patient.config.mqtt.password if patient.config else None
    if password is not None and password.value is not None and patient.path is not None:
        with contextlib.suppress(OSError):
            if patient.path.stat().st_mode & 0o004:
                yield warn(
                    f"the broker's password stands in {patient.path}, which everybody can read",
                    "put it into /etc/credstore/asagoe.mqtt-password and write password: {credential: mqtt-password}",
                )


def _cannot_write(path: Path) -> str:
    """Why a file cannot be made in a folder; empty where it can. One that is not there yet is judged by its parent."""
    there = next((folder for folder in (path, *path.parents) if folder.is_dir()), Path("/"))
    try:
        if there == path:
            with tempfile.TemporaryFile(dir=there):
                return ""
        return "" if os.access(there, os.W_OK | os.X_OK) else f"it cannot be made in {there}"
    except OSError as error:
        return error.strerror or str(error)
