"""What Home Assistant is told of, as frozen facts of the node."""

from __future__ import annotations

from dataclasses import dataclass

from daemon.homeassistant.names import Locale


@dataclass(frozen=True, slots=True)
class Named:
    """Something with an id and a name for people."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class AlarmFact:
    """An alarm.

    Attributes:
        id: its id.
        name: for people.
        has_time: whether it has one time of day, which can be set.
    """

    id: str
    name: str
    has_time: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What the node has, as far as entities depend on it.

    Attributes:
        node: its name.
        base: its base topic, such as ``asagoe/kitchen``.
        locale: of the names.
        version: of Asagoe.
        model: of the machine.
        alarms: all of them.
        entries: entries of the schedule.
        briefings: names of the briefings.
        speakers: names of the configured speakers.
        styles: of the default speaker.
        chimes: that can be chosen.
        devices: that can be chosen.
        tones: of the siren.
    """

    node: str
    base: str
    locale: Locale
    version: str
    model: str
    alarms: tuple[AlarmFact, ...] = ()
    entries: tuple[Named, ...] = ()
    briefings: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    chimes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    tones: tuple[str, ...] = ()
