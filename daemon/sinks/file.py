"""A sink that writes each announcement as a WAV file, and keeps the newest of them."""

from __future__ import annotations

import contextlib
import io
import re
import time
import wave
from pathlib import Path
from typing import IO

import numpy as np

from daemon.errors import SinkError
from daemon.sinks.base import Block


class FileSink:
    """WAV files in a folder, 16 bits, mono.

    Args:
        folder: made when first needed.
        sample_rate: of the files, in Hz.
        keep: how many files stay; the oldest go.
    """

    audible = False
    continuous = False
    latency = 0.0

    def __init__(self, folder: Path, sample_rate: int, *, keep: int) -> None:
        self.sample_rate = sample_rate
        self._folder = folder
        self._keep = keep
        self._file: wave.Wave_write | None = None
        self._raw: IO[bytes] = io.BytesIO()
        self._part = folder
        self._target = folder

    @property
    def name(self) -> str:
        """The folder."""
        return f"file:{self._folder}"

    def open(self, title: str) -> None:
        """Begin a file; it is hidden until it is complete."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        safe = re.sub(r"[^A-Za-z0-9_-]+", "-", title)[:60] or "sound"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._target = self._free(f"{stamp}-{safe}")
            self._part = self._target.with_name(f".{self._target.name}.part")
            self._raw = self._part.open("wb")
        except OSError as error:
            raise SinkError(self._sentence(error)) from error
        self._file = wave.open(self._raw, "wb")  # noqa: SIM115 - open for as long as the sound lasts
        self._file.setnchannels(1)
        self._file.setsampwidth(2)
        self._file.setframerate(self.sample_rate)

    def write(self, block: Block) -> None:
        """Append samples."""
        if self._file is None:
            message = "the file is not open"
            raise SinkError(message)
        try:
            self._file.writeframesraw(np.rint(block * 32767.0).astype("<i2").tobytes())
            self._raw.flush()  # a full disk is to be noticed here, not when nobody asks any more
        except OSError as error:
            raise SinkError(self._sentence(error)) from error

    def close(self) -> None:
        """Show the file under its name and remove the oldest ones."""
        file, self._file = self._file, None
        if file is None:
            return
        with contextlib.suppress(OSError):  # a full disk was reported by write
            file.close()
            self._raw.close()
            self._part.replace(self._target)
            for old in sorted(self._folder.glob("*.wav"))[: -self._keep]:
                old.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._raw.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)

    def renewed(self) -> FileSink:
        """Another one for the same folder."""
        return FileSink(self._folder, self.sample_rate, keep=self._keep)

    def _sentence(self, error: OSError) -> str:
        return f"{self._folder} cannot be written ({error.strerror})"

    def _free(self, stem: str) -> Path:
        path = self._folder / f"{stem}.wav"
        number = 2
        while path.exists():
            path = self._folder / f"{stem}-{number}.wav"
            number += 1
        return path
