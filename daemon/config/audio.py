"""Keys of `audio`."""

from __future__ import annotations

from pydantic import Field

from daemon.config.base import Model
from daemon.config.values import Duration, Percent


class AudioConfig(Model):
    """The sound device."""

    device: str = Field(
        default="default",
        min_length=1,
        description="`default`, part of a device's name (see `asagoe devices`), `file:FOLDER` or `null`",
    )
    fallback_device: str | None = Field(default=None, description="tried when `device` cannot be opened")
    volume: Percent = Field(default=60, description="loudness at start-up, 0 to 100, on a perceptual scale")
    lead_in_ms: int = Field(
        default=200, ge=0, le=5000, description="silence that wakes the amplifier before the first syllable"
    )
    keep_open: Duration = Field(default=3.0, description="how long the device stays open after the last sound")
    recordings: int = Field(
        default=100, ge=1, le=100_000, description="how many WAV files are kept when sound goes to a folder"
    )
