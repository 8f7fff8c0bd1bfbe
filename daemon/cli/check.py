"""``asagoe check``, ``next`` and ``devices``: what the configuration means on this machine."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from rich.table import Table

from daemon.cli.common import fail, out, read_config
from daemon.clock import SystemClock
from daemon.config import Config
from daemon.errors import SinkError
from daemon.schedule.entries import entries_of
from daemon.schedule.scheduler import Occurrence, merged


def check_configuration(explicit: Path | None) -> int:
    """Print what a valid configuration amounts to; returns the exit code."""
    config, path = read_config(explicit)
    out.print(f"{path or 'no file, all defaults'}: valid", style="green", markup=False)
    speakers = Table("speaker", "source", "options", title="Speakers", title_justify="left")
    for name, speaker in config.speakers.items():
        options = ", ".join(f"{key} {value}" for key, value in speaker.defaults().items())
        mark = " (default)" if name == config.speaker_name else ""
        speakers.add_row(f"{name}{mark}", speaker.source + (f" {speaker.name}" if speaker.name else ""), options)
    out.print(speakers)
    mqtt = config.mqtt
    broker = "none" if mqtt.broker == "none" else (mqtt.url or f"embedded on {mqtt.bind}:{mqtt.port}")
    out.print(f"Broker: {broker}, topics {mqtt.base_topic}/{config.node}/…", markup=False)
    if config.dictionary is not None:
        count = len(config.words.words)
        out.print(f"Dictionary: {config.words.source}, {count} word{'s' if count != 1 else ''}")
    for name, briefing in config.briefings.items():
        out.print(f"Briefing {name}: {', '.join(briefing.section_ids)}")
    show_devices()
    out.print(f"Configured device: {config.audio.device}, volume {config.audio.volume}", markup=False)
    _print_occurrences(_upcoming(config, 5), config)
    return 0


def show_next(explicit: Path | None, count: int, *, as_json: bool) -> int:
    """Print the coming occurrences; returns the exit code."""
    config, _ = read_config(explicit)
    occurrences = _upcoming(config, count)
    if as_json:
        zone = config.zone
        planned = entries_of(config)
        for occurrence in occurrences:
            at = occurrence.due.astimezone(zone).isoformat(timespec="seconds")
            entry = occurrence.entry.id
            print(json.dumps({"at": at, "id": entry, "say": planned[entry][1]}, ensure_ascii=False))
        return 0
    _print_occurrences(occurrences, config)
    return 0


def show_devices() -> int:
    """Print the sound devices; returns the exit code."""
    from daemon.sinks.device import list_outputs

    try:
        found = list_outputs()
    except SinkError as error:
        return fail(str(error))
    if not found:
        out.print("No sound device. Announcements are written as WAV files.", style="yellow", markup=False)
        return 0
    table = Table("device", "channels", "rate", title="Sound devices", title_justify="left")
    for device in found:
        table.add_row(device.name + (" (default)" if device.default else ""), str(device.channels), f"{device.rate} Hz")
    out.print(table)
    return 0


def _upcoming(config: Config, count: int) -> list[Occurrence]:
    entries = [entry for entry, _ in entries_of(config).values()]
    return merged(entries, SystemClock().now(), config.calendar, count)


def _print_occurrences(occurrences: list[Occurrence], config: Config) -> None:
    if not occurrences:
        out.print("The schedule is empty.", markup=False)
        return
    zone, planned, now = config.zone, entries_of(config), SystemClock().now()
    table = Table("when", "in", "entry", "what", title=f"Next ({zone.key})", title_justify="left")
    for occurrence in occurrences:
        local = occurrence.due.astimezone(zone)
        text = planned[occurrence.entry.id][1]
        table.add_row(f"{local:%a %Y-%m-%d %H:%M:%S}", _distance(now, occurrence.due), occurrence.entry.id, text)
    out.print(table)


def _distance(now: datetime, then: datetime) -> str:
    minutes = int((then - now).total_seconds() // 60)
    days, rest = divmod(minutes, 1440)
    return f"{days} d {rest // 60} h" if days else f"{rest // 60} h {rest % 60} min"
