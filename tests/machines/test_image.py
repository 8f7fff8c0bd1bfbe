"""The Dockerfile, built by buildah where no engine runs, and what it makes, started without a network. In order."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.fakes.published import VOICE, unpack_published
from tests.machines.nspawn import machines_folder, wait_for
from tests.system.house import RATE, Pulse

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/engine/sources"))

from hub_server import HubServer, Repository

TOKEN = "hf_aSecretThatMustNotBeInAnyLayer"
IMAGE = "asagoe:test"
SPEAKERS = {
    "mei": {"source": "openjtalk:mei"},
    "private": {"source": "hf://me/private", "name": VOICE},
}
CONFIG = {
    "node": "box",
    "speakers": SPEAKERS,
    "default_speaker": "private",
    "mqtt": {"broker": "embedded"},
    "announcements": {"defaults": {"chime": "none"}},
    "phrase_cache": {"folder": "/var/lib/asagoe/phrases"},
}


def buildah(*arguments, check=True, timeout=1500, **options):
    store = machines_folder() / "containers"
    command = ["buildah", "--root", f"{store}/root", "--runroot", f"{store}/run", "--storage-driver", "vfs", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, **options)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(map(str, arguments))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout.strip()


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub that gives a voice to who has the token."""
    tree = unpack_published(tmp_path_factory.mktemp("tree"))
    server = HubServer()
    server.repositories["me/private"] = Repository(tokens={TOKEN})
    server.repositories["me/private"].commit(
        {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    )
    yield server
    server.stop()


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """What git would hand out, with a configuration of our own beside it."""
    folder = tmp_path_factory.mktemp("context")
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    names = "\n".join(name for name in files if name and (ROOT / name).is_file())
    tar = subprocess.run(["tar", "-C", str(ROOT), "-cT", "-"], input=names.encode(), capture_output=True, check=True)
    subprocess.run(["tar", "-C", str(folder), "-x"], input=tar.stdout, check=True)
    (folder / "my-voices.yaml").write_text(yaml.safe_dump({"speakers": SPEAKERS}))
    return folder


@pytest.fixture(scope="module")
def base():
    """The image that the Dockerfile begins with, from a Debian folder."""
    name = "debian:bookworm-slim"
    if buildah("images", "--quiet", name, check=False) == "":
        container = buildah("from", "scratch")
        buildah("add", container, os.environ["ASAGOE_DEBIAN"], "/")
        buildah("commit", "--rm", container, name)
    return name


@pytest.fixture(scope="module")
def image(base, context, hub, tmp_path_factory):
    secret = tmp_path_factory.mktemp("secret") / "token"
    secret.write_text(TOKEN)
    began = time.monotonic()
    buildah(
        "build", "--isolation", "chroot", "--format", "docker", "--pull=never", "--layers=false",
        "--secret", f"id=hf-token,src={secret}",
        "--build-arg", "VOICES=my-voices.yaml", "--build-arg", f"HF_ENDPOINT={hub.url}",
        "--build-arg", "PIP_FIND_LINKS=/wheels", "--build-arg", "PIP_NO_INDEX=1",
        "--volume", f"{os.environ['ASAGOE_WHEELS']}:/wheels:ro",
        "--tag", IMAGE, str(context),
    )  # fmt: skip
    print(f"\nbuilt in {time.monotonic() - began:.0f} s")
    yield IMAGE
    buildah("rmi", "--force", IMAGE, check=False)


@pytest.fixture(scope="module")
def container(image):
    name = buildah("from", "--pull=never", image)
    yield name
    buildah("rm", name, check=False)


@pytest.fixture(scope="module")
def root(container):
    yield Path(buildah("mount", container))
    buildah("umount", container, check=False)


def size(folder):
    return (
        int(subprocess.run(["du", "-sb", folder], capture_output=True, text=True, check=True).stdout.split()[0]) / 1e6
    )


def test_the_image_is_small_and_holds_no_torch_and_no_installer(root):
    packages = next(root.glob("opt/asagoe/lib/python3*/site-packages"))
    parts = {name: size(root / name) for name in ("opt/asagoe", "voices", "usr")}
    print(f"\nimage {size(root):.0f} MB: " + ", ".join(f"{name} {mb:.0f}" for name, mb in parts.items()))
    largest = sorted(packages.iterdir(), key=size, reverse=True)[:8]
    print("largest: " + ", ".join(f"{path.name} {size(path):.0f}" for path in largest))
    for name in ("torch", "transformers", "pip", "setuptools"):
        assert not (packages / name).exists()
    assert size(root) < 900


def test_the_image_runs_as_a_user_of_its_own_and_has_a_health_check(image):
    facts = json.loads(buildah("inspect", "--type", "image", image))["Docker"]["config"]
    assert facts["User"] == "asagoe"
    assert facts["Healthcheck"]["Test"] == ["CMD", "asagoe", "doctor", "--health"]
    assert facts["Entrypoint"] == ["asagoe"]


def test_the_token_is_nowhere_in_the_image(image, root, hub):
    assert any(headers.get("Authorization") == f"Bearer {TOKEN}" for _, _, headers in hub.requests)
    assert TOKEN not in buildah("inspect", "--type", "image", image)
    found = subprocess.run(["grep", "-rlF", TOKEN, str(root)], capture_output=True, text=True, check=False)
    assert found.stdout == ""
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
        store = machines_folder() / "containers"
        start = ["buildah", "--root", f"{store}/root", "--runroot", f"{store}/run", "--storage-driver", "vfs", "run"]
        start += ["--isolation", "chroot", "--volume", f"{self.config}:/etc/asagoe/asagoe.yaml:ro"]
        start += ["--volume", f"{self.pulse.socket}:/pulse", "--env", "PULSE_SERVER=unix:/pulse"]
        return [*start, self.container, "--", *command]

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
def box(container, root, tmp_path_factory, pulse):
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
