"""The sound device, by PortAudio (sounddevice) with blocking writes.

Blocking writes rather than callbacks: a callback would need memory that is writable and executable at once, which the
hardened unit forbids, and would run Python in a real-time thread.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from daemon.errors import SinkError, SinkMissingError
from daemon.sinks.alsa import AlsaPcm, pcm_names
from daemon.sinks.base import Block

_RATES = (48_000, 44_100, 96_000, 32_000, 24_000, 22_050, 16_000)
# Error codes of PortAudio (portaudio.h).
_INVALID_RATE, _INVALID_CHANNELS, _UNAVAILABLE = -9997, -9998, -9985

_portaudio = threading.Lock()
"""Held by the sink that is in PortAudio, from its opening to its closing: also by one that hangs there. Its list of
devices is read anew at each opening, which no stream may be open for, and which no second thread may do meanwhile."""
_known: tuple[str, ...] = ()
"""The names of the devices when the list was last read."""


class DeviceSink:
    """A sound device that is found by name each time it is opened.

    While another sink hangs in PortAudio, the device is opened by ALSA alone.

    Args:
        device: ``default``, or part of the device's name (an exact match wins).
        preferred_rate: tried first, in Hz.
    """

    audible = True
    continuous = True

    def __init__(self, device: str, preferred_rate: int) -> None:
        self._device = device
        self._preferred = preferred_rate
        self._stream: Any = None
        self._pcm: AlsaPcm | None = None
        self._holds_portaudio = False
        self._channels = 1
        self.sample_rate = preferred_rate
        self.latency = 0.0
        self.underflows = 0

    @property
    def name(self) -> str:
        """The device as it is configured."""
        return self._device

    def open(self, title: str) -> None:
        """Find the device, agree on rate and channels, and start the stream."""
        del title
        self.close()
        self._holds_portaudio = _portaudio.acquire(blocking=False)
        if not self._holds_portaudio:
            self._pcm = AlsaPcm(self._device, pcm_names(self._device, _known), self._preferred)
            self._channels, self.sample_rate, self.latency = self._pcm.channels, self._preferred, self._pcm.latency
            return
        try:
            self._open_by_portaudio()
        except BaseException:
            self._release()
            raise

    def _open_by_portaudio(self) -> None:
        sounddevice = _library()
        found = _find(_read_outputs(), self._device)
        refused = ""
        for rate in dict.fromkeys((self._preferred, found.rate, *_RATES)):
            for channels in dict.fromkeys((1, min(2, found.channels), found.channels)):
                try:
                    self._start(sounddevice, found.index, rate, channels)
                except sounddevice.PortAudioError as error:
                    refused = _text(error)
                    if _code(error) not in (_INVALID_RATE, _INVALID_CHANNELS):
                        raise SinkError(self._sentence(refused, _code(error))) from error
                else:
                    return
        raise SinkError(self._sentence(refused, _INVALID_RATE))

    def write(self, block: Block) -> None:
        """Hand samples to the device; waits while its buffer is full."""
        if self._stream is None and self._pcm is None:
            message = f"the sound device {self._device!r} is not open"
            raise SinkError(message)
        mono = np.rint(np.clip(block, -1.0, 1.0) * 32767.0).astype(np.int16)
        frames = np.ascontiguousarray(np.repeat(mono[:, None], self._channels, axis=1))
        if self._pcm is not None:
            self.underflows += self._pcm.write(frames)
            return
        try:
            self.underflows += bool(self._stream.write(frames))
        except _library().PortAudioError as error:
            raise SinkError(self._sentence(_text(error), _code(error))) from error

    def close(self) -> None:
        """Let the buffer play out, then free the device."""
        pcm, self._pcm = self._pcm, None
        if pcm is not None:
            pcm.close()
        stream, self._stream = self._stream, None
        if stream is not None:
            errors = _library().PortAudioError
            with contextlib.suppress(errors):
                stream.stop()
            with contextlib.suppress(errors):
                stream.close()
        self._release()

    def renewed(self) -> DeviceSink:
        """Another one for the same device."""
        return DeviceSink(self._device, self._preferred)

    def _release(self) -> None:
        if self._holds_portaudio:
            self._holds_portaudio = False
            _portaudio.release()

    def _start(self, sounddevice: ModuleType, index: int, rate: int, channels: int) -> None:
        stream = sounddevice.OutputStream(
            device=index, samplerate=rate, channels=channels, dtype="int16", latency="high"
        )
        try:
            stream.start()
        except sounddevice.PortAudioError:
            stream.close()
            raise
        self._stream, self._channels, self.sample_rate = stream, channels, rate
        self.latency = float(stream.latency)

    def _sentence(self, text: str, code: int | None) -> str:
        remedy = {
            _UNAVAILABLE: "; another program uses it, or its cable is out",
            _INVALID_RATE: "; name a device that converts rates, such as default or plughw",
        }.get(code or 0, "")
        return f"the sound device {self._device!r} cannot be used: {text}{remedy}"


@dataclass(frozen=True, slots=True)
class OutputDevice:
    """A device as PortAudio lists it.

    Attributes:
        index: PortAudio's, valid until the list is read anew.
        name: PortAudio's.
        channels: the most it takes.
        rate: its default, in Hz.
        default: whether it is the system's default.
    """

    index: int
    name: str
    channels: int
    rate: int
    default: bool


def list_outputs() -> list[OutputDevice]:
    """All devices that can play, read anew.

    Raises:
        SinkError: PortAudio is missing or does not start, or a sink is open or hangs in it.
    """
    if not _portaudio.acquire(blocking=False):
        message = "the sound devices cannot be listed while one of them is open"
        raise SinkError(message)
    try:
        return _read_outputs()
    finally:
        _portaudio.release()


def _read_outputs() -> list[OutputDevice]:
    global _known  # noqa: PLW0603 - PortAudio is one for the whole process, and so is what it showed
    sounddevice = _library()
    _refresh(sounddevice)
    try:
        outputs = _outputs(sounddevice)
    except sounddevice.PortAudioError as error:
        message = f"the sound devices cannot be listed: {_text(error)}"
        raise SinkError(message) from error
    _known = tuple(output.name for output in outputs)
    return outputs


def _library() -> ModuleType:
    try:
        import sounddevice  # noqa: PLC0415 - starts PortAudio, which takes 0.1 s
    except OSError as error:
        message = "PortAudio is not installed: sudo apt-get install -y libportaudio2"
        raise SinkMissingError(message) from error
    return sounddevice  # type: ignore[no-any-return]


def _refresh(sounddevice: ModuleType) -> None:
    """Read the list of devices anew: PortAudio freezes it when it starts. No stream may be open."""
    with contextlib.suppress(sounddevice.PortAudioError):
        sounddevice._terminate()  # noqa: SLF001 - there is no public way (python-sounddevice #3)
    try:
        sounddevice._initialize()  # noqa: SLF001
    except sounddevice.PortAudioError as error:
        message = f"PortAudio does not start: {_text(error)}"
        raise SinkError(message) from error


def _outputs(sounddevice: ModuleType) -> list[OutputDevice]:
    default = sounddevice.default.device[1]
    if default < 0 and sounddevice.query_hostapis():
        default = sounddevice.query_hostapis(0)["default_output_device"]
    return [
        OutputDevice(
            index, d["name"], d["max_output_channels"], round(d["default_samplerate"]), default=index == default
        )
        for index, d in enumerate(sounddevice.query_devices())
        if d["max_output_channels"] > 0
    ]


def _find(devices: list[OutputDevice], wanted: str) -> OutputDevice:
    if not devices:
        message = "there is no sound device"
        raise SinkMissingError(message)
    if wanted == "default":
        return next((d for d in devices if d.default), devices[0])
    lowered = wanted.casefold()
    exact = [d for d in devices if d.name.casefold() == lowered]
    partial = [d for d in devices if lowered in d.name.casefold()]
    if exact or partial:
        return (exact or partial)[0]
    listed = ", ".join(repr(d.name) for d in devices)
    message = f"there is no sound device {wanted!r}; there are {listed}"
    raise SinkMissingError(message)


def _code(error: Exception) -> int | None:
    return error.args[1] if len(error.args) > 1 and isinstance(error.args[1], int) else None


def _text(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
