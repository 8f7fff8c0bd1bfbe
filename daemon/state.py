"""What the node says about itself: one JSON object, made from the parts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from daemon.announcer import Announcer
from daemon.schedule.scheduler import Occurrence
from engine import __version__


def snapshot(
    *,
    node: str,
    announcer: Announcer,
    upcoming: Occurrence | None,
    audio: Mapping[str, Any],
    speakers: Mapping[str, bool],
    problems: Mapping[str, str],
    now: datetime,
    zone: ZoneInfo,
) -> dict[str, Any]:
    """The state.

    Args:
        node: its name.
        announcer: what is being said and waits.
        upcoming: what is due next.
        audio: where sound goes, and what is wrong with it.
        speakers: whether each configured speaker is ready.
        problems: why those that are not are not.
        now: of the wall clock.
        zone: of the local times.
    """
    return {
        "node": node,
        "state": announcer.state,
        "current": announcer.current_id,
        "queue": announcer.waiting,
        "volume": announcer.mix.volume,
        "mute": announcer.mix.muted,
        "next": upcoming
        and {"id": upcoming.entry.id, "at": upcoming.due.astimezone(zone).isoformat(timespec="seconds")},
        "audio": dict(audio),
        "speakers": {name: "ready" if ready else "unavailable" for name, ready in speakers.items()},
        "unavailable": dict(problems),
        "counters": dict(announcer.counters),
        "clock": now.astimezone(zone).isoformat(timespec="seconds"),
        "timezone": zone.key,
        "version": __version__,
    }
