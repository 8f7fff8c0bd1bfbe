"""From the configuration to schedule entries, and from an occurrence to an announcement."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from daemon.announcement import Announcement, Priority
from daemon.clock import Clock
from daemon.config import AnnouncementDefaults, Config, ScheduleEntryConfig
from daemon.schedule.plan import Exceptions
from daemon.schedule.scheduler import Entry, Occurrence


def schedule_of(config: Config) -> dict[str, ScheduleEntryConfig]:
    """The schedule entries of a configuration, by id."""
    return {item.id or f"schedule-{index + 1}": item for index, item in enumerate(config.schedule)}


def entries_of(config: Config) -> Mapping[str, tuple[Entry, str]]:
    """What is due by a configuration alone, with its words; for whoever only looks ahead."""
    found = {
        name: (Entry(name, item.rule(), timedelta(seconds=item.grace), Exceptions(item.enabled)), item.what)
        for name, item in schedule_of(config).items()
    }
    for name, alarm in config.alarms.items():
        entry = Entry(name, alarm.rule(), timedelta(seconds=alarm.grace), Exceptions(alarm.enabled))
        found[name] = (entry, f"alarm: {alarm.text}")
    return found


def announcement_of(
    occurrence: Occurrence, config: ScheduleEntryConfig, defaults: AnnouncementDefaults, clock: Clock
) -> Announcement:
    """What is said at an occurrence, at its very moment. Its id names the occurrence, so that it is said once."""
    ahead = (occurrence.due - clock.now()).total_seconds()
    options = config.model_dump(include={"style", "speed", "pitch", "intonation"}, exclude_none=True)
    priority = Priority.named(config.priority or defaults.priority)
    return Announcement(
        id=f"{occurrence.entry.id}@{occurrence.due:%Y%m%dT%H%M%SZ}",
        text=config.what,
        origin="schedule",
        received=clock.now(),
        received_at=clock.monotonic(),
        priority=priority,
        interrupt=priority is Priority.CRITICAL,
        speaker=config.speaker,
        options=MappingProxyType(options),
        volume=config.volume,
        chime=config.chime if config.chime is not None else defaults.chime,
        end_chime=config.end_chime if config.end_chime is not None else defaults.end_chime,
        max_wait=defaults.expires_in + max(0.0, ahead),
        start_at=clock.monotonic() + ahead if ahead > 0 else None,
    )
