"""How loud things are, and how a volume becomes an amplitude."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from daemon.announcement import Announcement, Priority


@dataclass(frozen=True, slots=True)
class Mix:
    """How loud things are.

    Attributes:
        volume: 0 to 100, of announcements that name none.
        muted: only alarms and critical announcements are heard.
        by_priority: volumes of announcements that name none, where their priority has one of its own.
    """

    volume: int
    muted: bool = False
    by_priority: Mapping[Priority, int] = field(default_factory=lambda: MappingProxyType({}))

    def volume_of(self, announcement: Announcement) -> int:
        """How loud an announcement is, 0 to 100: by its own volume, its priority, or the node's."""
        volume = announcement.volume
        if volume is None:
            volume = self.by_priority.get(announcement.priority, self.volume)
        return volume if announcement.loudest is None else min(volume, announcement.loudest)

    def silences(self, announcement: Announcement) -> bool:
        """Whether an announcement is not heard because the node is muted."""
        return self.muted and announcement.priority < Priority.ALARM

    def gain_of(self, announcement: Announcement, now: float) -> float:
        """Amplitude factor of an announcement at a moment of the monotonic clock."""
        if self.silences(announcement):
            return 0.0
        volume = self.volume_of(announcement)
        return amplitude(volume if announcement.fade is None else announcement.fade.volume(volume, now))


def amplitude(volume: float) -> float:
    """From a volume of 0 to 100 to an amplitude factor.

    The square makes steps of equal size sound about equal: 50 is -12 dB, 25 is -24 dB, 10 is -40 dB.
    """
    return (volume / 100) ** 2
