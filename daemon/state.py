"""What the node says about itself: one JSON object, made from the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from daemon.agenda.agenda import Agenda, Coming, first_alarm
from daemon.alarms.alarm import Alarm
from daemon.alarms.keeper import AlarmKeeper
from daemon.alarms.life import Ring
from daemon.alarms.life import State as RingState
from daemon.announcer import Announcer
from daemon.schedule.scheduler import Occurrence
from engine import __version__


def snapshot(
    *,
    node: str,
    announcer: Announcer,
    upcoming: Occurrence | None,
    agenda: Agenda,
    keeper: AlarmKeeper,
    audio: Mapping[str, Any],
    speakers: Mapping[str, bool],
    problems: Mapping[str, str],
    quiet: Mapping[str, Any],
    more: Mapping[str, Any],
    now: datetime,
    zone: ZoneInfo,
) -> dict[str, Any]:
    """The state.

    Args:
        node: its name.
        announcer: what is being said and waits.
        upcoming: what is due next.
        agenda: everything that comes.
        keeper: what rings or is snoozed.
        audio: where sound goes, and what is wrong with it.
        speakers: whether each configured speaker is ready.
        problems: why those that are not are not.
        quiet: whether it is quiet, and what is deferred.
        more: further facts: what people chose, and what was said last.
        now: of the wall clock.
        zone: of the local times.
    """
    coming = agenda.coming()
    alarms = [item for item in coming if isinstance(item.definition, Alarm)]
    first = first_alarm(coming)
    vacation = agenda.vacation
    return {
        "node": node,
        "state": keeper.state or announcer.state,
        "speaking": announcer.state == "playing",
        "current": announcer.current_id,
        "paused": announcer.held and announcer.held.id,
        "queue": announcer.waiting,
        "volume": announcer.mix.volume,
        "mute": announcer.mix.muted,
        **quiet,
        **more,
        "next": upcoming
        and {"id": upcoming.entry.id, "at": upcoming.due.astimezone(zone).isoformat(timespec="seconds")},
        "next_alarm": first and {"id": first.id, "at": _local(first.due, zone)},
        "alarms": {item.id: _alarm(item, keeper.rings.get(item.id), zone) for item in alarms},
        "schedule": {item.id: _entry(item, zone) for item in coming if not isinstance(item.definition, Alarm)},
        "ringing": [ring.alarm for ring in keeper.rings.values() if ring.state is RingState.RINGING],
        "snoozed": {
            ring.alarm: _local(ring.until, zone) for ring in keeper.rings.values() if ring.state is RingState.SNOOZED
        },
        "vacation": vacation and {"from": str(vacation.first), "until": str(vacation.last)},
        "audio": dict(audio),
        "speakers": {name: "ready" if ready else "unavailable" for name, ready in speakers.items()},
        "unavailable": dict(problems),
        "counters": dict(announcer.counters),
        "clock": now.astimezone(zone).isoformat(timespec="seconds"),
        "timezone": zone.key,
        "version": __version__,
    }


def _alarm(item: Coming, ring: Ring | None, zone: ZoneInfo) -> dict[str, Any]:
    assert isinstance(item.definition, Alarm)  # noqa: S101
    alarm, at = item.definition, item.rule.time_of_day
    return _entry(item, zone) | {
        "name": alarm.name,
        "state": str(ring.state) if ring else "armed" if item.due else "off",
        "time": at and at.isoformat(timespec="seconds"),
        "made_here": alarm.made_here,
    }


def _entry(item: Coming, zone: ZoneInfo) -> dict[str, Any]:
    """What comes of an alarm or entry, and at what moment before that it does not, and why."""
    left_out = item.left_out and {"at": _local(item.left_out.due, zone), "reason": item.left_out.reason}
    return {"enabled": item.enabled, "next": _local(item.due, zone), "left_out": left_out}


def _local(moment: datetime | None, zone: ZoneInfo) -> str | None:
    return None if moment is None else moment.astimezone(zone).isoformat(timespec="seconds")


def summary(
    *,
    speakers: Sequence[str],
    problems: Mapping[str, str],
    audio: Mapping[str, Any],
    compute: Mapping[str, Any],
    connected: bool | None,
    clock_is_set: bool,
    upcoming: Occurrence | None,
    zone: ZoneInfo,
) -> str:
    """The state in one line, for `systemctl status` and the log: what works, what it waits for, what is next.

    Args:
        speakers: those that are ready.
        problems: why others are not.
        audio: where sound goes, and what is wrong with it.
        compute: the device of neural voices, and what is wrong with the configured one.
        connected: whether the broker is there; None without one.
        clock_is_set: whether the wall clock can be right.
        upcoming: what is due next.
        zone: of the local times.
    """
    parts = [f"{len(speakers)} speaker(s)"]
    if problems:
        parts.append(f"waiting for speaker {', '.join(problems)}")
    if compute["problem"]:
        parts.append(f"voices are computed on {compute['device']}, not as configured")
    if audio["problem"]:
        parts.append(f"sound goes to {audio['sink']} ({audio['problem']})")
    elif audio["sink"]:
        parts.append(f"sound goes to {audio['sink']}")
    if connected is not None:
        parts.append("broker connected" if connected else "waiting for the broker")
    if not clock_is_set:
        parts.append("waiting for the clock to be set")
    parts.append(f"next {upcoming.entry.id} at {upcoming.due.astimezone(zone):%a %H:%M}" if upcoming else "no schedule")
    return ", ".join(parts)
