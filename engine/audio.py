"""Rendered speech: samples, their rate, and what can be done with them."""

from __future__ import annotations

import io
import os
import wave
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PhonemeTiming:
    """When a phoneme sounds.

    Attributes:
        phoneme: its name in the voice's own set.
        start: seconds from the beginning of the audio.
        duration: seconds.
    """

    phoneme: str
    start: float
    duration: float

    @property
    def end(self) -> float:
        """Seconds from the beginning of the audio to the end of the phoneme."""
        return self.start + self.duration


@dataclass(frozen=True, slots=True)
class Audio:
    """Mono audio.

    Attributes:
        samples: float32, shape [N], in [-1, 1]; read-only.
        sample_rate: samples per second, in Hz.
        timings: phonemes in order, where the voice gives them; else empty.
    """

    samples: Samples = field(repr=False)
    sample_rate: int
    timings: tuple[PhonemeTiming, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        samples = np.ascontiguousarray(self.samples, dtype=np.float32)
        if samples.ndim != 1:
            message = f"audio is mono: expected samples of shape [N], got {samples.shape}"
            raise ValueError(message)
        if self.sample_rate <= 0:
            message = f"sample rate must be above 0 Hz, got {self.sample_rate}"
            raise ValueError(message)
        if samples is self.samples and samples.flags.writeable:
            samples = samples.copy()
        samples.flags.writeable = False
        object.__setattr__(self, "samples", samples)

    @classmethod
    def silence(cls, seconds: float, sample_rate: int) -> Audio:
        """Digital silence of the given length in seconds."""
        return cls(np.zeros(round(seconds * sample_rate), np.float32), sample_rate)

    @classmethod
    def load(cls, path: Path | str) -> Audio:
        """Read a PCM WAV file of 16 bits; several channels are averaged.

        Raises:
            ValueError: the file is not a 16-bit PCM WAV.
        """
        try:
            with wave.open(str(path), "rb") as file:
                channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
                data = file.readframes(file.getnframes())
        except (wave.Error, EOFError) as error:
            message = f"{path} is not a PCM WAV file ({error})"
            raise ValueError(message) from error
        if width != 2:
            message = f"{path} has {8 * width} bits a sample; 16-bit PCM is expected"
            raise ValueError(message)
        frames = np.frombuffer(data, "<i2").reshape(-1, channels).astype(np.float32) / 32768.0
        return cls(frames.mean(axis=1, dtype=np.float32), rate)

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate

    @property
    def pcm16(self) -> npt.NDArray[np.int16]:
        """The samples as signed 16-bit integers, shape [N]; values beyond full scale are clipped."""
        scaled: npt.NDArray[np.int16] = np.clip(np.rint(self.samples * 32767.0), -32768, 32767).astype("<i2")
        return scaled

    def resampled(self, sample_rate: int) -> Audio:
        """The same audio at another rate in Hz, by soxr at its high quality."""
        if sample_rate == self.sample_rate:
            return self
        import soxr  # noqa: PLC0415 - only who resamples needs it

        samples = soxr.resample(self.samples, self.sample_rate, sample_rate, quality="HQ")
        return Audio(samples, sample_rate, self.timings)

    def to_bytes(self) -> bytes:
        """A complete WAV file: 16 bits, mono."""
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(self.sample_rate)
            file.writeframes(self.pcm16.tobytes())
        return buffer.getvalue()

    def save(self, path: Path | str) -> Path:
        """Write a WAV file, complete or not at all, and return its path.

        Raises:
            OSError: the folder is missing, full or not writable.
        """
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            temporary.write_bytes(self.to_bytes())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        return target


def concatenate(parts: list[Audio]) -> Audio:
    """Join audio of one sample rate; phoneme timings move along.

    Raises:
        ValueError: no parts, or different sample rates.
    """
    rates = {part.sample_rate for part in parts}
    if len(rates) != 1:
        message = f"audio of one sample rate can be joined, got {sorted(rates)}"
        raise ValueError(message)
    rate = rates.pop()
    timings: list[PhonemeTiming] = []
    offset = 0.0
    for part in parts:
        timings += [PhonemeTiming(t.phoneme, t.start + offset, t.duration) for t in part.timings]
        offset += part.duration
    return Audio(np.concatenate([part.samples for part in parts]), rate, tuple(timings))
