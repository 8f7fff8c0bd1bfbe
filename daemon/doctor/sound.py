"""Checks of the sound device, with the remedies for the traps that are known."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from daemon.doctor.findings import Finding, Patient, fail, ok, warn
from daemon.errors import SinkError
from daemon.sinks import make_sink
from daemon.sinks.device import OutputDevice, list_outputs

_CARD = re.compile(r"^\s*(\d+) \[(\S+)\s*\]: (.*)$", re.MULTILINE)
_RATE = 48_000


@dataclass(frozen=True, slots=True)
class Card:
    """A sound card, as ALSA's kernel part lists it.

    Attributes:
        number: its place, which may be another after the next start.
        id: its stable name.
        text: driver and product.
    """

    number: int
    id: str
    text: str

    @property
    def is_hdmi(self) -> bool:
        """Whether it sounds through a monitor."""
        return "hdmi" in f"{self.id} {self.text}".casefold()


def cards(patient: Patient) -> list[Card]:
    """The sound cards of the machine."""
    return [Card(int(number), name, text) for number, name, text in _CARD.findall(patient.text("proc/asound/cards"))]


def check_sound(patient: Patient) -> Iterator[Finding]:
    """Is there a sound device, may it be used, is it the right one, does it open?"""
    audio = patient.config.audio if patient.config else None
    device = audio.device if audio else "default"
    if device == "null" or device.startswith("file:"):
        yield warn(f"audio.device is {device}: nothing is heard", "set audio.device: default")
        return
    try:
        outputs = list_outputs()
    except SinkError as error:
        yield fail(str(error), "apt-get install -y libportaudio2")
        return
    found = cards(patient)
    reasons = [*explain_silence(patient, found, outputs), *explain_session(patient)]
    if not outputs:
        yield fail(
            "there is no sound device that can play", "see the following lines" if reasons else _no_card(patient)
        )
    else:
        yield ok(f"{len(outputs)} device(s): {', '.join(output.name for output in outputs)}")
    yield from reasons
    yield from explain_card(patient, found, device)
    if outputs:
        yield from _open(device, play=patient.play)


def explain_silence(patient: Patient, found: Sequence[Card], outputs: Sequence[OutputDevice]) -> Iterator[Finding]:
    """Why the cards of the machine cannot be used by this user."""
    nodes = sorted((patient.root / "dev/snd").glob("pcm*p"))
    if found and not nodes:
        yield fail(
            f"the machine has the card {found[0].id}, but its device files are not here",
            "in a container: docker run --device /dev/snd …" if patient.in_container else "sudo udevadm trigger",
        )
    for node in nodes:
        status = node.stat()
        if not _may_write(patient, status):
            if patient.in_container:
                remedy = f"docker run --group-add {status.st_gid} … (the group of /dev/snd on this machine)"
            else:
                remedy = f"sudo usermod -aG audio {_name(patient.uid)}, then log in again or restart the service"
            yield fail(f"user {_name(patient.uid)} may not use {node}", remedy)
            return
    if nodes and not outputs:
        yield warn(
            "cards are there, but none can be opened",
            "another program may hold them: sudo fuser -v /dev/snd/*; or a broken /etc/asound.conf or ~/.asoundrc",
        )


def explain_session(patient: Patient) -> Iterator[Finding]:
    """What there is to know about sound servers, which belong to a user's session."""
    server = patient.environment.get("PULSE_SERVER", "").removeprefix("unix:")
    if server.startswith("/") and not os.access(patient.root / server.lstrip("/"), os.W_OK):
        yield fail(
            f"PULSE_SERVER names {server}, which is not there or may not be used",
            "mount the socket of the user whose session it is, and run with that user's id; see docs/docker.md",
        )
    mine = patient.root / "run/user" / str(patient.uid)
    if patient.uid >= 1000 and not patient.environment.get("XDG_RUNTIME_DIR"):
        if mine.is_dir():
            yield warn(
                "XDG_RUNTIME_DIR is not set, so PipeWire and PulseAudio are not found",
                f"export XDG_RUNTIME_DIR=/run/user/{patient.uid}",
            )
        else:
            yield warn(
                "there is no session of this user, so no PipeWire or PulseAudio",
                f"sudo loginctl enable-linger {_name(patient.uid)}",
            )
    others = [
        session
        for session in sorted((patient.root / "run/user").glob("*"))
        if session != mine and (session.joinpath("pipewire-0").exists() or session.joinpath("pulse/native").exists())
    ]
    if others and not mine.is_dir():
        user = _name(int(others[0].name)) if others[0].name.isdigit() else others[0].name
        yield warn(
            f"PipeWire or PulseAudio runs in the session of {user} and holds the sound cards there",
            f"run Asagoe as {user}: `asagoe install --user`; or let it use the card alone: without a desktop",
        )


def explain_card(patient: Patient, found: Sequence[Card], device: str) -> Iterator[Finding]:
    """Whether the card that `default` stands for is one that is heard."""
    if not found or patient.exists("etc/asound.conf") or device != "default":
        return
    first, others = found[0], [card for card in found[1:] if not card.is_hdmi]
    connected = [
        status
        for status in (patient.root / "sys/class/drm").glob("card*-HDMI-A-*/status")
        if status.read_text(encoding="ascii", errors="replace").strip() == "connected"
    ]
    if first.is_hdmi and not connected:
        remedy = "connect a monitor with loudspeakers before the machine starts, or name another card in audio.device"
        if others:
            remedy = f"set audio.device: {others[0].id} (see `asagoe devices`)"
        yield warn(f"the default card is {first.id}, HDMI, and no monitor is connected", remedy)
    elif first.is_hdmi and others:
        yield warn(
            f"the default card is the monitor ({first.id}), though {others[0].id} is there too",
            f"if nothing is heard, set audio.device: {others[0].id}",
        )


def _open(device: str, *, play: bool) -> Iterator[Finding]:
    sink = make_sink(device, recordings=1, preferred_rate=_RATE)
    began = time.monotonic()
    try:
        sink.open("doctor")
        try:
            if play:
                for block in np.array_split(tone(sink.sample_rate), 50):
                    sink.write(block)
        finally:
            sink.close()
    except SinkError as error:
        yield fail(str(error), "`asagoe devices` lists what can be named in audio.device; sudo fuser -v /dev/snd/*")
        return
    took = time.monotonic() - began
    text = f"{device} opens at {sink.sample_rate} Hz"
    yield ok(f"a quiet tone was played on {device} ({took:.1f} s)" if play else f"{text}; --play plays a tone")


def tone(rate: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """A quiet tone: 0.2 s of silence, 0.6 s of 440 Hz at -26 dBFS with soft edges, 0.2 s of silence.

    Args:
        rate: in Hz.

    Returns:
        float32 samples in [-1, 1], shape [N].
    """
    length = round(0.6 * rate)
    edge = np.minimum(1.0, np.minimum(np.arange(length), np.arange(length)[::-1]) / (0.02 * rate))
    sound = 0.05 * np.sin(2 * np.pi * 440.0 * np.arange(length) / rate) * edge
    silence = np.zeros(round(0.2 * rate))
    return np.concatenate([silence, sound, silence]).astype(np.float32)


def _no_card(patient: Patient) -> str:
    if patient.in_container:
        return "docker run --device /dev/snd --group-add audio …, or the socket of a sound server; see docs/docker.md"
    model = patient.text("proc/device-tree/model")
    if "Raspberry Pi" in model:
        return "dtparam=audio=on in /boot/firmware/config.txt, or connect a USB card; see docs/raspberry-pi.md"
    return "connect a sound card; a virtual machine needs one in its settings"


def _may_write(patient: Patient, status: os.stat_result) -> bool:
    if patient.uid in {0, status.st_uid}:
        return True
    return bool(status.st_mode & (0o020 if status.st_gid in patient.groups else 0o002))


def _name(uid: int) -> str:
    for line in Path("/etc/passwd").read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[2] == str(uid):
            return fields[0]
    return str(uid)
