"""The facts of the node, gathered from its parts."""

from __future__ import annotations

import platform
from pathlib import Path

from daemon.agenda.agenda import Agenda
from daemon.alarms.alarm import Alarm
from daemon.alarms.siren import siren_tones
from daemon.config import Config
from daemon.homeassistant.facts import AlarmFact, Facts, Named
from daemon.preferences import Preferences
from engine import __version__

_DEVICE_TREE = Path("/proc/device-tree/model")


def gather_facts(config: Config, base: str, agenda: Agenda, preferences: Preferences) -> Facts:
    """What Home Assistant is told of, as it is now.

    Args:
        config: in force.
        base: base topic of the node.
        agenda: alarms and entries of the schedule.
        preferences: what can be chosen.
    """
    items = agenda.items
    return Facts(
        node=config.node,
        base=base,
        locale=config.mqtt.discovery.locale,
        version=__version__,
        model=machine(),
        alarms=tuple(
            AlarmFact(name, item.name or name, item.rule.time_of_day is not None and not item.once)
            for name, item in items.items()
            if isinstance(item, Alarm)
        ),
        entries=tuple(Named(name, name) for name, item in items.items() if not isinstance(item, Alarm)),
        briefings=tuple(config.briefings),
        speakers=tuple(config.speakers),
        styles=tuple(preferences.styles),
        chimes=tuple(preferences.chimes),
        devices=tuple(preferences.devices),
        tones=tuple(siren_tones()),
    )


def machine() -> str:
    """What the machine calls itself, such as ``Raspberry Pi 4 Model B Rev 1.4``, else its architecture."""
    try:
        model = _DEVICE_TREE.read_text(encoding="utf-8", errors="replace").strip("\0 \n")
    except OSError:
        model = ""
    return model or platform.machine()
