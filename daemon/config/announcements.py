"""Keys of `announcements` and `phrase_cache`."""

from __future__ import annotations

from pydantic import Field

from daemon.announcement import Priority as Level
from daemon.config.base import Model, Priority
from daemon.config.values import Duration, Percent


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
    volume_by_priority: dict[Priority, Percent] = Field(
        default={}, description="volume of announcements that name none, by priority, instead of the node's"
    )
    deferred_summary: str = Field(
        default="おやすみの間のお知らせが{count}件あります。",
        max_length=200,
        description="said before what quiet hours deferred; {count} is the number; empty for none",
    )
    max_payload: int = Field(default=16_384, ge=256, le=1_048_576, description="largest message, in bytes")

    @property
    def volumes(self) -> dict[Level, int]:
        """Volumes by priority, as the service uses them."""
        return {Level.named(name): volume for name, volume in self.volume_by_priority.items()}


class CacheConfig(Model):
    """The phrase cache: speech that was rendered before."""

    folder: str | None = Field(default=None, description="default: `phrases` in the cache folder")
    max_mb: int = Field(default=200, ge=0, le=100_000, description="bound on disk; 0 turns the cache off")
