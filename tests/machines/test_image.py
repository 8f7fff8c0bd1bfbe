"""The Dockerfile, built by buildah where no engine runs, and what it makes, started without a network. In order."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.fakes.published import unpack_published
from tests.machines.images import (
    SPEAKERS,
    TOKEN,
    buildah,
    built,
    has_token,
    make_base,
    make_context,
    megabytes,
    private_hub,
    show_sizes,
    wheels_folders,
    with_voices,
)
from tests.machines.nspawn import wait_for
from tests.system.house import RATE, Pulse

CONFIG = {
    "node": "box",
    "speakers": SPEAKERS,
    "default_speaker": "private",
    "mqtt": {"broker": "embedded"},
    "announcements": {"defaults": {"chime": "none"}},
    "phrase_cache": {"folder": "/var/lib/asagoe/phrases"},
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    with private_hub(unpack_published(tmp_path_factory.mktemp("tree"))) as server:
        yield server


@pytest.fixture(scope="module")
def image(hub, tmp_path_factory):
    make_base("bookworm", os.environ["ASAGOE_DEBIAN"])
    context, secret = make_context(tmp_path_factory.mktemp("context")), tmp_path_factory.mktemp("secret") / "token"
    with built("asagoe:test", context, *with_voices(hub, secret), wheels=wheels_folders()) as tag:
        yield tag


@pytest.fixture(scope="module")
def root(container):
    return container.root


def test_the_image_is_small_and_holds_no_torch_and_no_installer(root):
    show_sizes(root)
    packages = next(root.glob("opt/asagoe/lib/python3*/site-packages"))
    for name in ("torch", "transformers", "pip", "setuptools"):
        assert not (packages / name).exists()
    assert megabytes(root) < 900


def test_the_image_runs_as_a_user_of_its_own_and_has_a_health_check(image):
    facts = json.loads(buildah("inspect", "--type", "image", image))["Docker"]["config"]
    assert facts["User"] == "asagoe"
    assert facts["Healthcheck"]["Test"] == ["CMD", "asagoe", "doctor", "--health"]
    assert facts["Entrypoint"] == ["asagoe"]


def test_the_token_is_nowhere_in_the_image(image, root, hub):
    assert any(headers.get("Authorization") == f"Bearer {TOKEN}" for _, _, headers in hub.requests)
    assert not has_token(image, root)
    assert list((root / "voices").rglob("synthesizer.onnx"))


@pytest.fixture(scope="module")
def pulse(tmp_path_factory):
    server = Pulse(tmp_path_factory.mktemp("pulse"))
    server.start()
    server.socket.chmod(0o666)
    yield server
    server.stop()


class Box:
    """The container, running in a network of its own that holds nothing but the loopback device."""

    def __init__(self, container, folder, pulse):
        self.container, self.log = container, folder / "log"
        self.config = folder / "asagoe.yaml"
        self.config.write_text(yaml.safe_dump(CONFIG))
        self.config.chmod(0o644)
        self.pulse = pulse
        self.process = None

    def command(self, *command):
        options = [f"--volume={self.config}:/etc/asagoe/asagoe.yaml:ro", f"--volume={self.pulse.socket}:/pulse"]
        return self.container.command(*command, options=[*options, "--env=PULSE_SERVER=unix:/pulse"])

    def start(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *self.command("asagoe", "run")],
                stdout=log, stderr=log,
            )  # fmt: skip

    def run(self, *command, timeout=60):
        inside = ["nsenter", f"--target={self.process.pid}", "--net", *self.command(*command)]
        return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=timeout)


@pytest.fixture(scope="module")
def box(container, tmp_path_factory, pulse):
    made = Box(container, tmp_path_factory.mktemp("box"), pulse)
    assert made.config.exists()
    made.start()
    yield made
    with contextlib.suppress(ProcessLookupError):
        made.process.kill()
    made.process.wait(10)


def test_without_a_network_it_becomes_healthy(box):
    began = time.monotonic()
    wait_for(lambda: "ready: " in box.log.read_text() or box.process.poll() is not None, 60, box.log.read_text())
    print(f"\nready after {time.monotonic() - began:.1f} s\n{box.log.read_text()}")
    assert "2 speaker(s), sound goes to default" in box.log.read_text()
    began = time.monotonic()
    done = box.run("asagoe", "doctor", "--health")
    print(f"{done.stdout.strip()} ({time.monotonic() - began:.2f} s)")
    assert done.returncode == 0, done.stdout + done.stderr
    assert box.run("python3", "-c", "import os; print(os.geteuid())").stdout.strip() == "10001"
    assert box.run("python3", "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 2)").returncode == 1


def test_it_speaks_with_the_voice_that_was_built_in(box, pulse):
    for speaker in ("private", "mei"):
        position = pulse.position
        done = box.run("asagoe", "announce", "--speaker", speaker, "洗濯が終わりました")
        assert done.returncode == 0, done.stdout + done.stderr + box.log.read_text()
        time.sleep(0.5)
        sound = np.abs(pulse.recording(position)) > 2e-3
        print(f"\n{speaker}: {sound.sum() / RATE:.2f} s of sound")
        assert sound.sum() / RATE > 0.3
    assert "instead of" not in box.log.read_text()


def test_it_stops_in_time_when_it_is_asked(box):
    pid = next(int(p.parent.name) for p in Path("/proc").glob("[0-9]*/cmdline") if _is_service(p))
    began = time.monotonic()
    os.kill(pid, 15)
    assert box.process.wait(15) == 0
    print(f"\nstopped after {time.monotonic() - began:.1f} s")
    assert "stopping" in box.log.read_text()


def _is_service(cmdline):
    with contextlib.suppress(OSError):
        if b"/opt/asagoe/bin/asagoe\0run" in cmdline.read_bytes():
            return b"chroot" not in cmdline.read_bytes()
    return False
