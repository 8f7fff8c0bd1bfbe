"""Sound as bytes of WAV files: 16-bit PCM, mono or stereo, whole or as a stream."""

from __future__ import annotations

import base64
import binascii
import io
import struct
import wave
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine import Audio
from engine.audio import Samples, concatenate

Frames = npt.NDArray[np.int16]

_QUIET = 10 ** (-50 / 20)
"""Relative to the peak; what is below counts as silence."""
_UNKNOWN = 0xFFFFFFFF
"""Length of a file that is still being made."""
_RATES = range(8_000, 192_001)


def with_silence(audio: Audio, before: float, after: float) -> Audio:
    """The sound with silence of exactly these lengths at its ends, in seconds.

    What is almost silent at the ends is kept as far as it fits into them.
    """
    rate, samples = audio.sample_rate, audio.samples
    magnitude = np.abs(samples)
    sounding = np.flatnonzero(magnitude > magnitude.max(initial=0.0) * _QUIET)
    lead, tail = round(before * rate), round(after * rate)
    if not len(sounding):
        return Audio.silence(before + after, rate)
    first, last = int(sounding[0]), int(sounding[-1]) + 1
    start, end = max(0, first - lead), min(len(samples), last + tail)
    parts = [
        np.zeros(lead - (first - start), np.float32),
        samples[start:end],
        np.zeros(tail - (end - last), np.float32),
    ]
    return Audio(np.concatenate(parts), rate)


def wav_bytes(audio: Audio, *, stereo: bool = False) -> bytes:
    """A complete WAV file."""
    frames = pcm(audio, stereo=stereo)
    return header(audio.sample_rate, 2 if stereo else 1, frames.nbytes) + frames.tobytes()


def pcm(audio: Audio, *, stereo: bool = False) -> Frames:
    """16-bit samples, those of the channels in turn."""
    frames: Frames = np.repeat(audio.pcm16, 2) if stereo else audio.pcm16
    return frames


def header(rate: int, channels: int, size: int | None = None) -> bytes:
    """The 44 bytes before the samples.

    Args:
        rate: in Hz.
        channels: 1 or 2.
        size: of the samples in bytes; None for a stream, whose end tells.
    """
    width = 2 * channels
    riff = _UNKNOWN if size is None else 36 + size
    data = _UNKNOWN if size is None else size
    return (
        struct.pack("<4sI4s", b"RIFF", riff, b"WAVE")
        + struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * width, width, 16)
        + struct.pack("<4sI", b"data", data)
    )


def connected(files: Sequence[str]) -> bytes:
    """One WAV file of several that come in base64; at the highest of their rates, stereo if one of them is.

    Raises:
        ValueError: says which is not a WAV file of 16 bits.
    """
    if not files:
        message = "there is no wave to connect"
        raise ValueError(message)
    parts = [_decoded(number, text) for number, text in enumerate(files, start=1)]
    rate = max(channels[0].sample_rate for channels in parts)
    stereo = any(len(channels) > 1 for channels in parts)
    sides = [
        concatenate([channels[side if len(channels) > 1 else 0].resampled(rate) for channels in parts])
        for side in range(2 if stereo else 1)
    ]
    frames = np.stack([side.pcm16 for side in sides], axis=1).ravel()
    return header(rate, len(sides), frames.nbytes) + frames.tobytes()


def _decoded(number: int, text: str) -> list[Audio]:
    """The channels of a file, one or two."""
    try:
        data = base64.b64decode(text, validate=True)
        with wave.open(io.BytesIO(data), "rb") as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(len(data))
    except (ValueError, binascii.Error, wave.Error, EOFError, struct.error) as error:
        message = f"wave {number} is not a PCM WAV file in base64"
        raise ValueError(message) from error
    if width != 2 or channels not in (1, 2) or rate not in _RATES:
        message = (
            f"wave {number} has {8 * width} bits, {channels} channels, {rate} Hz; 16 bits, 1 or 2 channels are taken"
        )
        raise ValueError(message)
    samples = np.frombuffer(raw[: len(raw) // (2 * channels) * 2 * channels], "<i2").reshape(-1, channels)
    sides: list[Samples] = [samples[:, side].astype(np.float32) / 32767.0 for side in range(channels)]
    return [Audio(np.clip(side, -1.0, 1.0), rate) for side in sides]
