"""A house for system tests: a real mosquitto, a real PulseAudio whose null sink is recorded, the real service."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import paho.mqtt.client as paho
import yaml
from paho.mqtt.enums import CallbackAPIVersion

RATE = 48_000
_numbers = itertools.count(1)
LATE = 200
"""Milliseconds: nothing that is late by less fails a test, on a machine where several houses run; the benchmark of
punctuality measures how late things are."""
TERMINAL = {"finished", "failed", "dropped", "expired", "missed"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, timeout=10.0, what="a condition"):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError(f"waited {timeout} s for {what() if callable(what) else what}")


def end(process: subprocess.Popen, timeout: float = 6.0) -> int:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait(5)


class Mosquitto:
    """A broker on a free port of the loopback address."""

    def __init__(self, folder: Path):
        self.port = free_port()
        self.config = folder / "mosquitto.conf"
        self.config.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n")
        self.process: subprocess.Popen | None = None

    def start(self):
        binary = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        self.process = subprocess.Popen(
            [binary, "-c", str(self.config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self._answers, 5, "mosquitto")

    def kill(self):
        self.process.kill()
        self.process.wait(5)

    def stop(self):
        if self.process is not None:
            end(self.process)

    def _answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.2):
            return True
        return False


class Pulse:
    """A PulseAudio server with a null sink, and a recorder of what it plays."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.socket = folder / "pulse.sock"
        self.raw = folder / "monitor.raw"
        self.asound = folder / "asound.conf"
        server = f"unix:{self.socket}"
        self.asound.write_text(
            f'pcm.!default {{ type pulse server "{server}" hint {{ show on description "default" }} }}\n'
            f'ctl.!default {{ type pulse server "{server}" }}\n'
        )
        self.environment = {
            "ALSA_CONFIG_PATH": f"/usr/share/alsa/alsa.conf:{self.asound}",
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "HOME": str(folder),
            "PULSE_SERVER": server,
        }
        self.server: subprocess.Popen | None = None
        self.recorder: subprocess.Popen | None = None

    def start(self):
        (self.folder / "run").mkdir(exist_ok=True, mode=0o700)
        modules = (
            f"module-native-protocol-unix socket={self.socket} auth-anonymous=1",
            f"module-null-sink sink_name=speaker rate={RATE} channels=2 format=s16le",
        )
        self.server = subprocess.Popen(
            ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--log-level=error"]
            + [part for module in modules for part in ("-L", module)],
            env=os.environ | self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self.socket.exists, 5, "pulseaudio")
        # A recorder with low latency: without one a null sink takes two seconds of sound at a time.
        with self.raw.open("ab") as out:
            self.recorder = subprocess.Popen(
                [
                    "parec",
                    "-d",
                    "speaker.monitor",
                    "--latency-msec=20",
                    "--format=s16le",
                    f"--rate={RATE}",
                    "--channels=1",
                    "--raw",
                ],
                env=os.environ | self.environment,
                stdout=out,
                stderr=subprocess.DEVNULL,
            )
        size = self.position
        wait_for(lambda: self.position > size, 5, "the recorder")

    def stop(self):
        for process in (self.recorder, self.server):
            if process is not None:
                end(process)
        self.socket.unlink(missing_ok=True)

    @property
    def position(self) -> int:
        """How many samples were recorded."""
        return self.raw.stat().st_size // 2 if self.raw.exists() else 0

    def recording(self, start: int = 0, end: int | None = None) -> np.ndarray:
        """Samples in [-1, 1]."""
        samples = np.fromfile(self.raw, "<i2", offset=2 * start)
        return (samples[: None if end is None else end - start] / 32768.0).astype(np.float32)

    def quiet(self, seconds: float = 0.4):
        """Wait until the sink has been silent for a while."""
        time.sleep(seconds)
        wait_for(
            lambda: not np.abs(self.recording(self.position - round(seconds * RATE))).max(initial=0) > 1e-3,
            20,
            "silence",
        )


def sounds(samples: np.ndarray, *, gap: float = 0.25, threshold: float = 2e-3) -> list[tuple[float, float]]:
    """Stretches of sound as (start, end) in seconds; shorter silences than ``gap`` do not part them."""
    loud = np.flatnonzero(np.abs(samples) > threshold)
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > gap * RATE)
    starts = [loud[0], *loud[breaks + 1]]
    ends = [*loud[breaks], loud[-1]]
    return [(a / RATE, b / RATE) for a, b in zip(starts, ends)]


def close(client: paho.Client) -> None:
    """Disconnect, and leave no socket open; paho does where its thread ends before it comes to that."""
    client.disconnect()
    client.loop_stop()
    connection = client.socket()
    if connection is not None:
        connection.close()
    # Without what may know the client it is freed at once, and closes the other sockets that it has.
    client.on_message = client.on_connect = client.on_subscribe = None


@contextlib.contextmanager
def sender(port: int) -> Iterator[paho.Client]:
    """A client of MQTT 5 that is connected, to publish."""
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id=f"sender-{next(_numbers)}", protocol=paho.MQTTv5)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        yield client
    finally:
        close(client)


class Listener:
    """An MQTT client that keeps what a node publishes."""

    def __init__(self, port: int, base: str):
        self.base = base
        self.messages: list[tuple[float, str, str, bool]] = []
        # A second listener of the same client id would throw the first one out.
        self.client = paho.Client(CallbackAPIVersion.VERSION2, client_id=f"test-{os.getpid()}-{next(_numbers)}")
        self.client.on_message = lambda _c, _u, m: self.messages.append(
            (time.time(), m.topic, m.payload.decode(errors="replace"), m.retain)
        )
        self.client.on_connect = lambda c, *_: c.subscribe(f"{base}/#", 1)
        self.client.reconnect_delay_set(1, 1)
        self.client.connect_async("127.0.0.1", port)
        self.client.loop_start()

    def stop(self):
        close(self.client)

    def of(self, name: str) -> list[str]:
        return [payload for _, topic, payload, _ in list(self.messages) if topic == f"{self.base}/{name}"]

    @property
    def events(self) -> list[dict]:
        return [json.loads(payload) for payload in self.of("event")]

    def state(self) -> dict:
        return json.loads(self.of("state")[-1])


@dataclass
class Service:
    """A running `asagoe run`."""

    folder: Path
    config: dict
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen | None = None
    command: list[str] = field(default_factory=lambda: ["-m", "daemon"])

    @property
    def path(self) -> Path:
        return self.folder / "asagoe.yaml"

    @property
    def log(self) -> str:
        return (self.folder / "service.log").read_text()

    @property
    def full_environment(self) -> dict[str, str]:
        own = {
            "ASAGOE_CACHE": str(self.folder / "cache"),
            "STATE_DIRECTORY": str(self.folder / "state"),
            "PYTHONUNBUFFERED": "1",
        }
        return os.environ | own | self.environment

    def write_config(self):
        self.path.write_text(yaml.safe_dump(self.config, allow_unicode=True))

    def start(self, ready: bool = True):
        self.write_config()
        before = len(self.log) if (self.folder / "service.log").exists() else 0
        with (self.folder / "service.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.command, "run", "--config", str(self.path)],
                env=self.full_environment,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        if ready:
            wait_for(
                lambda: "service: ready" in self.log[before:] or self.process.poll() is not None, 30, "the service"
            )
            assert self.process.poll() is None, self.log

    def stop(self) -> int:
        return end(self.process)

    def kill(self):
        self.process.kill()
        self.process.wait(5)

    def signal(self, number: signal.Signals):
        self.process.send_signal(number)

    def resident(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class House:
    """Broker, sound, service and a listener together."""

    base = "asagoe/kitchen"

    def __init__(self, folder: Path, config: dict | None = None, *, sound: bool = True):
        self.folder = folder
        self.mosquitto = Mosquitto(folder)
        self.pulse = Pulse(folder) if sound else None
        settings = {
            "node": "kitchen",
            "timezone": "Asia/Tokyo",
            "mqtt": {"url": f"mqtt://127.0.0.1:{self.mosquitto.port}", "keepalive": "5s"},
            "audio": {"volume": 100, "keep_open": "1s"},
        }
        self.service = Service(folder, settings | (config or {}), self.pulse.environment if self.pulse else {})
        self.listener: Listener | None = None

    def __enter__(self):
        self.mosquitto.start()
        if self.pulse:
            self.pulse.start()
        self.listener = Listener(self.mosquitto.port, self.base)
        self.service.start()
        wait_for(lambda: "online" in self.listener.of("availability"), 10, "availability")
        return self

    def __exit__(self, *_):
        if self.service.process is not None:
            self.service.stop()
        self.listener.stop()
        if self.pulse:
            self.pulse.stop()
        self.mosquitto.stop()

    def publish(self, name: str, payload: str | bytes | dict, **options):
        if isinstance(payload, dict):
            payload = json.dumps(payload, ensure_ascii=False)
        client = self.listener.client
        wait_for(client.is_connected, 10, "the listener to be connected")
        client.publish(f"{self.base}/{name}", payload, qos=options.pop("qos", 1), **options).wait_for_publish(5)

    def announce(self, text: str, **fields) -> str:
        name = fields.pop("id", None) or f"t{len(self.listener.messages)}-{time.monotonic_ns()}"
        self.publish("announce", {"text": text, "id": name} | fields)
        return name

    def ended(self, *names: str, timeout: float = 30.0) -> list[dict]:
        """Wait until announcements have ended; their last events."""

        def last():
            ends = {e["id"]: e for e in self.listener.events if e["event_type"] in TERMINAL}
            return [ends[name] for name in names] if all(name in ends for name in names) else None

        return wait_for(last, timeout, lambda: f"the end of {names[-3:]}; log:\n{self.service.log[-3000:]}")

    def event(self, kind: str, name: str, timeout: float = 15.0) -> dict:
        return wait_for(
            lambda: next((e for e in self.listener.events if e["event_type"] == kind and e["id"] == name), None),
            timeout,
            lambda: f"{kind} of {name}; log:\n{self.service.log[-3000:]}",
        )

    def story(self, name: str) -> list[str]:
        return [e["event_type"] for e in self.listener.events if e["id"] == name]
