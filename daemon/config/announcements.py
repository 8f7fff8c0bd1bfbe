"""Keys of `announcements` and `phrase_cache`."""

from __future__ import annotations

from pydantic import Field

from daemon.config.base import Model, Priority
from daemon.config.values import Duration


class AnnouncementDefaults(Model):
    """What an announcement has when it does not say otherwise."""

    chime: str | None = Field(default=None, description="sound before the speech: the name of a chime or a WAV file")
    end_chime: str | None = Field(default=None, description="sound after the speech")
    priority: Priority = "normal"
    expires_in: Duration = Field(default=600.0, description="how long an announcement may wait before it is dropped")


class AnnouncementsConfig(Model):
    """The queue of announcements."""

    defaults: AnnouncementDefaults = AnnouncementDefaults()
    max_queue: int = Field(default=50, ge=1, le=10_000, description="how many may wait; one more is refused")
    max_characters: int = Field(default=3000, ge=1, le=100_000, description="longest text of an announcement")
    max_payload: int = Field(default=16_384, ge=256, le=1_048_576, description="largest message, in bytes")


class CacheConfig(Model):
    """The phrase cache: speech that was rendered before."""

    folder: str | None = Field(default=None, description="default: `phrases` in the cache folder")
    max_mb: int = Field(default=200, ge=0, le=100_000, description="bound on disk; 0 turns the cache off")
