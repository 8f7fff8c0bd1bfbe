"""Sounds before and after speech: bundled ones by name, the user's own by path."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from daemon.resources import resource
from engine import Audio

NONE = "none"
"""Says that there is to be no chime, where a default would add one."""
OFF = "off"
"""The same in Home Assistant, where ``none`` means that nothing is known."""


def chime_names() -> list[str]:
    """Names of the bundled chimes."""
    return sorted(path.stem for path in resource("chimes").glob("*.wav"))


def chime_path(chime: str) -> Path | None:
    """The file of a chime by bundled name or absolute path; None when there is none."""
    if chime in chime_names():
        return resource("chimes", f"{chime}.wav")
    path = Path(chime).expanduser()
    return path if path.is_absolute() and path.is_file() else None


@lru_cache(maxsize=16)
def load_chime(chime: str, sample_rate: int) -> Audio:
    """A chime at a sample rate.

    Raises:
        ValueError: no such chime, or its file is not a 16-bit WAV.
    """
    path = chime_path(chime)
    if path is None:
        message = f"there is no chime {chime!r}; there are {', '.join(chime_names())}"
        raise ValueError(message)
    return Audio.load(path).resampled(sample_rate)
