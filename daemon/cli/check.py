"""``asagoe check`` and ``devices``: what the configuration means on this machine."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from daemon.cli.common import fail, out, read_config
from daemon.cli.next import print_next
from daemon.clock import SystemClock
from daemon.errors import SinkError


def check_configuration(explicit: Path | None) -> int:
    """Print what a valid configuration amounts to; returns the exit code."""
    config, path = read_config(explicit)
    out.print(f"{path or 'no file, all defaults'}: valid", style="green", markup=False)
    speakers = Table("speaker", "source", "options", title="Speakers", title_justify="left")
    for name, speaker in config.speakers.items():
        options = ", ".join(f"{key} {value}" for key, value in speaker.defaults().items())
        mark = " (default)" if name == config.speaker_name else ""
        remote = config.remote_speakers.get(name)
        source = speaker.source if remote is None else f"node:{remote.node}"
        speakers.add_row(f"{name}{mark}", source + (f" {speaker.name}" if speaker.name else ""), options)
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
    print_next(config, SystemClock().now(), 5)
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
