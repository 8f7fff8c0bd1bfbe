"""One ALSA device, by the system's ALSA library alone, for while PortAudio hangs.

PortAudio asks every device when it starts, and its state is one for the whole process: when one device hangs in it,
no other can be found through it. ALSA's own library opens the one device that is named, and nothing else.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from daemon.errors import SinkError, SinkMissingError

# Constants of alsa/pcm.h and errno.
_PLAYBACK, _NONBLOCK, _S16_LE, _INTERLEAVED = 0, 1, 2, 3
_ENOENT, _ENODEV, _EPIPE = 2, 19, 32
LATENCY = 0.2
"""Seconds that the device is asked to buffer."""
_CARDS = Path("/proc/asound/cards")


def pcm_names(wanted: str, known: Sequence[str], cards: Path = _CARDS) -> list[str]:
    """The names that ALSA may have for a device, the likeliest first.

    Args:
        wanted: ``default``, or part of a device's name as PortAudio shows it.
        known: the names of devices that PortAudio showed when it last answered.
        cards: the kernel's list of cards (proc(5)), for when PortAudio never answered.
    """
    if wanted == "default":
        return [wanted]
    lowered = wanted.casefold()
    found = sorted((name for name in known if lowered in name.casefold()), key=lambda name: name.casefold() != lowered)
    names = [_pcm_of(name) for name in found[:1]]
    if not found:
        names.append(_pcm_of(wanted))
        names += [f"plughw:{number}" for number, name in _cards(cards) if lowered in name.casefold()]
    return names


def _pcm_of(name: str) -> str:
    """PortAudio shows hardware as ``Card: Device (hw:1,0)``; everything else by ALSA's own name."""
    match = re.search(r"\((hw:\d+,\d+)\)$", name)
    return f"plug{match[1]}" if match else name


def _cards(path: Path) -> list[tuple[int, str]]:
    """Number and name of each card; lines such as `` 1 [Device         ]: USB-Audio - USB Audio Device``."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [(int(m[1]), m[2].strip()) for m in re.finditer(r"^\s*(\d+) \[.*?\]: .*? - (.*)$", text, re.MULTILINE)]


class AlsaPcm:
    """A device that is open for 16-bit samples.

    Args:
        wanted: as it is configured, for messages.
        names: tried in this order.
        rate: in Hz; ALSA converts it where the device has another.

    Raises:
        SinkMissingError: there is no ALSA here, or no such device.
        SinkError: the device refuses.
    """

    latency = LATENCY

    def __init__(self, wanted: str, names: Sequence[str], rate: int) -> None:
        self._wanted = wanted
        self._alsa = _library(wanted)
        self._pcm = self._open(names)
        self.channels = self._configure(rate)

    def write(self, frames: npt.NDArray[np.int16]) -> int:
        """Write frames, shape [N, channels]; returns how often the device had run empty.

        Raises:
            SinkError: the device is gone.
        """
        underflows = 0
        while len(frames):
            written = self._alsa.snd_pcm_writei(self._pcm, frames.ctypes.data, len(frames))
            if written < 0:
                underflows += written == -_EPIPE
                self._check(self._alsa.snd_pcm_recover(self._pcm, int(written), 1))
            else:
                frames = frames[written:]
        return underflows

    def close(self) -> None:
        """Play what was written, then let go of the device."""
        self._alsa.snd_pcm_drain(self._pcm)
        self._alsa.snd_pcm_close(self._pcm)

    def _open(self, names: Sequence[str]) -> ctypes.c_void_p:
        pcm, code = ctypes.c_void_p(), -_ENOENT
        for name in names:
            # Non-blocking: else it would wait for a device that another program uses.
            code = self._alsa.snd_pcm_open(ctypes.byref(pcm), name.encode(), _PLAYBACK, _NONBLOCK)
            if code == 0:
                self._alsa.snd_pcm_nonblock(pcm, 0)
                return pcm
            if code not in (-_ENOENT, -_ENODEV):
                break
        self._check(code)
        raise AssertionError(code)

    def _configure(self, rate: int) -> int:
        code = 0
        for channels in (1, 2):
            code = self._alsa.snd_pcm_set_params(
                self._pcm, _S16_LE, _INTERLEAVED, channels, rate, 1, round(LATENCY * 1e6)
            )
            if code == 0:
                return channels
        self._alsa.snd_pcm_close(self._pcm)
        self._check(code)
        raise AssertionError(code)

    def _check(self, code: int) -> None:
        if code < 0:
            kind = SinkMissingError if code in (-_ENOENT, -_ENODEV) else SinkError
            text = self._alsa.snd_strerror(code).decode(errors="replace")
            message = f"the sound device {self._wanted!r} cannot be used: {text}"
            raise kind(message)


def _library(wanted: str) -> ctypes.CDLL:
    try:
        alsa = ctypes.CDLL("libasound.so.2")  # PortAudio needs it too: where that is, this is
    except OSError as error:
        message = f"the sound device {wanted!r} cannot be used: PortAudio hangs in another one, and there is no ALSA"
        raise SinkMissingError(message) from error
    pcm = ctypes.c_void_p
    alsa.snd_pcm_open.argtypes = [ctypes.POINTER(pcm), ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    alsa.snd_pcm_nonblock.argtypes = [pcm, ctypes.c_int]
    alsa.snd_pcm_set_params.argtypes = [pcm, *[ctypes.c_int] * 2, *[ctypes.c_uint] * 2, ctypes.c_int, ctypes.c_uint]
    alsa.snd_pcm_writei.argtypes = [pcm, ctypes.c_void_p, ctypes.c_ulong]
    alsa.snd_pcm_writei.restype = ctypes.c_long
    alsa.snd_pcm_recover.argtypes = [pcm, ctypes.c_int, ctypes.c_int]
    alsa.snd_pcm_drain.argtypes = alsa.snd_pcm_close.argtypes = [pcm]
    alsa.snd_strerror.argtypes = [ctypes.c_int]
    alsa.snd_strerror.restype = ctypes.c_char_p
    return alsa
