"""From the facts of the node to the entities that Home Assistant shows: pure functions.

Keys and values are those of Home Assistant's MQTT integration (its documentation, "MQTT discovery"). Values come from
the retained topics ``state`` and ``health`` by templates. A template takes keys that may be missing by ``.get``, and
texts reach it as values: nothing of them is ever put into JSON by hand, or into a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from daemon import events
from daemon.chimes import NONE, OFF
from daemon.homeassistant.facts import Facts
from daemon.homeassistant.names import entity_name
from daemon.preferences import LONGEST_SNOOZE

ONE_OFF = "one-off"
"""Id of the alarm that is made by setting a date and time."""

STATES = ("idle", "synthesizing", "playing", "ringing", "snoozed")

ANNOUNCEMENT_EVENTS = (
    events.ACCEPTED,
    events.QUEUED,
    events.DEFERRED,
    events.STARTED,
    events.INTERRUPTED,
    events.FINISHED,
    events.FAILED,
    events.DROPPED,
    events.EXPIRED,
    events.MISSED,
)
ALARM_EVENTS = (
    events.ALARM_PRE,
    events.ALARM_RINGING,
    events.ALARM_SNOOZED,
    events.ALARM_DISMISSED,
    events.ALARM_MISSED,
    events.ALARM_FAILED,
)

_LONGEST_STATE = 255
"""Characters: Home Assistant makes a longer state unknown."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity.

    Attributes:
        platform: such as ``switch``.
        keys: of its configuration, without those that all share.
    """

    platform: str
    keys: Mapping[str, Any]


def device_id(base: str) -> str:
    """What the device is called in topics and unique ids: ASCII, whatever the base topic is."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda found: "_" if found[0] == "/" else f"x{ord(found[0]):x}", base)


def entities(facts: Facts) -> dict[str, Entity]:
    """All entities, by the id of their component. Ids are ASCII and stay the same when names change."""
    found: dict[str, Entity] = {}
    for component, entity in _all(facts):
        slug = re.sub(r"[^a-z0-9_]", "_", f"{device_id(facts.base)}_{component}".lower())
        common = {
            "unique_id": f"{device_id(facts.base)}_{component}",
            # Else it would be made of the name, by a transcription that reads Japanese as Chinese.
            "default_entity_id": f"{entity.platform}.{slug}",
        }
        found[component] = Entity(entity.platform, MappingProxyType({**entity.keys, **common}))
    return found


def _all(facts: Facts) -> Iterator[tuple[str, Entity]]:
    make = _Maker(facts)
    yield from make.buttons()
    yield from make.switches()
    yield from make.numbers()
    yield from make.selects()
    yield from make.sensors()
    yield from make.others()


class _Maker:
    """Makes entities of one node."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def _entity(self, platform: str, key: str, icon: str | None = None, name: str = "", **keys: Any) -> Entity:
        shown = {"name": entity_name(self._facts.locale, key, name)}
        return Entity(platform, shown | ({"icon": f"mdi:{icon}"} if icon else {}) | keys)

    def _topic(self, name: str) -> str:
        return f"{self._facts.base}/{name}"

    def _state(self, template: str) -> dict[str, Any]:
        return {"state_topic": self._topic("state"), "value_template": template}

    def _health(self, template: str) -> dict[str, Any]:
        return {"state_topic": self._topic("health"), "value_template": template}

    def _command(self, name: str) -> dict[str, Any]:
        return {"command_topic": self._topic(name), "qos": 1}

    def buttons(self) -> Iterator[tuple[str, Entity]]:
        for key, icon in (
            ("stop", "stop"),
            ("skip", "skip-next"),
            ("replay", "replay"),
            ("snooze", "alarm-snooze"),
            ("dismiss", "alarm-off"),
            ("skip_next", "alarm-multiple"),
        ):
            yield key, self._entity("button", key, icon, **self._command(f"do/{key}"))
        yield (
            "test",
            self._entity("button", "test", "account-voice", entity_category="diagnostic", **self._command("do/test")),
        )
        for name in self._facts.briefings:
            keys = self._command("do/run") | {"payload_press": name}
            yield f"run_briefing_{name}", self._entity("button", "run_briefing", "newspaper-variant", name, **keys)

    def switches(self) -> Iterator[tuple[str, Entity]]:
        mute = self._command("set/mute") | self._state(_on("value_json.mute"))
        yield "mute", self._entity("switch", "mute", "volume-off", **mute)
        # Off is the clock's again: a switch that turned tonight's quiet hours off would leave every night loud.
        quiet = self._command("set/quiet") | self._state(_on("value_json.quiet_mode == 'on'"))
        quiet |= {"payload_off": "auto", "state_on": "ON", "state_off": "OFF"}
        yield "quiet", self._entity("switch", "quiet", "weather-night", **quiet)
        vacation = self._command("set/vacation") | self._state(_on("value_json.vacation"))
        yield "vacation", self._entity("switch", "vacation", "beach", **vacation)
        for alarm in self._facts.alarms:
            on = _on(f"value_json.alarms.get('{alarm.id}', {{}}).get('enabled')")
            keys = self._command(f"set/alarm/{alarm.id}/enabled") | self._state(on)
            yield f"alarm_{alarm.id}", self._entity("switch", "alarm", "alarm", alarm.name, **keys)
        for entry in self._facts.entries:
            on = _on(f"value_json.schedule.get('{entry.id}', {{}}).get('enabled')")
            keys = self._command(f"set/schedule/{entry.id}/enabled") | self._state(on) | {"entity_category": "config"}
            yield f"schedule_{entry.id}", self._entity("switch", "schedule", "calendar-clock", entry.name, **keys)

    def numbers(self) -> Iterator[tuple[str, Entity]]:
        percent = {"min": 0, "max": 100, "step": 1, "unit_of_measurement": "%", "mode": "slider"}
        volume = self._command("set/volume") | self._state("{{ value_json.volume }}") | percent
        yield "volume", self._entity("number", "volume", "volume-high", **volume)
        alarm = self._command("set/alarm_volume") | self._state("{{ value_json.alarm_volume }}") | percent
        alarm |= {"min": 1, "entity_category": "config"}
        yield "alarm_volume", self._entity("number", "alarm_volume", "alarm-bell", **alarm)
        snooze = self._command("set/snooze_minutes") | self._state("{{ value_json.snooze_minutes }}")
        snooze |= {"min": 1, "max": LONGEST_SNOOZE, "step": 1, "unit_of_measurement": "min", "mode": "box"}
        snooze |= {"device_class": "duration"}
        yield (
            "snooze_minutes",
            self._entity("number", "snooze_minutes", "alarm-snooze", entity_category="config", **snooze),
        )

    def selects(self) -> Iterator[tuple[str, Entity]]:
        facts = self._facts
        for key, icon, options in (
            ("speaker", "account-voice", facts.speakers),
            ("style", "emoticon-outline", facts.styles if len(facts.styles) > 1 else ()),
            ("chime", "bell-ring", facts.chimes),
            ("device", "speaker", facts.devices),
        ):
            if options:
                # Home Assistant takes the word none, as a state, for no state.
                shown = f"'{OFF}' if value_json.{key} == '{NONE}' else value_json.{key}"
                keys = self._command(f"set/{key}") | self._state(f"{{{{ {shown} }}}}")
                words = [OFF if option == NONE else option for option in options]
                keys |= {"options": words, "entity_category": "config"}
                yield key, self._entity("select", key, icon, **keys)
        mode = self._command("set/quiet") | self._state("{{ value_json.quiet_mode }}")
        mode |= {"options": ["auto", "on", "off"], "entity_category": "config", "enabled_by_default": False}
        yield "quiet_mode", self._entity("select", "quiet_mode", "weather-night", **mode)

    def sensors(self) -> Iterator[tuple[str, Entity]]:
        state = self._state("{{ value_json.state }}") | {"device_class": "enum", "options": list(STATES)}
        yield "state", self._entity("sensor", "state", "state-machine", **state)
        following = self._state("{{ (value_json.next_alarm or {}).get('at') }}") | {"device_class": "timestamp"}
        following |= self._attributes("state", "value_json.next_alarm or {}")
        yield "next_alarm", self._entity("sensor", "next_alarm", "alarm", **following)
        diagnostic = {"entity_category": "diagnostic"}
        queue = self._state("{{ value_json.queue }}") | diagnostic | {"state_class": "measurement"}
        yield "queue", self._entity("sensor", "queue", "tray-full", enabled_by_default=False, **queue)
        last = self._state(_cut("(value_json.last_announcement or {}).get('text')"))
        last |= self._attributes("state", "value_json.last_announcement or {}")
        yield "last_announcement", self._entity("sensor", "last_announcement", "message-text", **last)
        error = self._health(_cut("(value_json.last_error or {}).get('reason')")) | diagnostic
        error |= self._attributes("health", "value_json.last_error or {}")
        yield "last_error", self._entity("sensor", "last_error", "alert-circle-outline", **error)
        memory = self._health("{{ value_json.memory_mb }}") | diagnostic
        memory |= {"device_class": "data_size", "unit_of_measurement": "MB", "state_class": "measurement"}
        yield "memory", self._entity("sensor", "memory", enabled_by_default=False, **memory)
        synthesis = self._state("{{ (value_json.last_announcement or {}).get('rendered_ms') }}") | diagnostic
        synthesis |= {"device_class": "duration", "unit_of_measurement": "ms", "state_class": "measurement"}
        yield "synthesis_time", self._entity("sensor", "synthesis_time", enabled_by_default=False, **synthesis)
        yield (
            "speaking",
            self._entity("binary_sensor", "speaking", "account-voice", **self._state(_on("value_json.speaking"))),
        )
        yield "ringing", self._entity("binary_sensor", "ringing", "alarm", **self._state(_on("value_json.ringing")))
        quiet = self._state(_on("value_json.quiet")) | diagnostic
        yield "quiet_now", self._entity("binary_sensor", "quiet_now", "weather-night", **quiet)
        problem = self._state(_on("value_json.audio.get('problem') or value_json.unavailable")) | diagnostic
        problem |= {"device_class": "problem"}
        problem |= self._attributes("state", "{'audio': value_json.audio, 'unavailable': value_json.unavailable}")
        yield "problem", self._entity("binary_sensor", "problem", **problem)

    def others(self) -> Iterator[tuple[str, Entity]]:
        # As JSON, whatever is in it: the text is then said as it is, also one that looks like JSON itself.
        announce = self._command("announce") | {"command_template": '{"text": {{ value | to_json }}}'}
        yield "announce", self._entity("notify", "announce", "bullhorn", **announce)
        for key, types in (("announcement_event", ANNOUNCEMENT_EVENTS), ("alarm_event", ALARM_EVENTS)):
            keys: dict[str, Any] = {"state_topic": self._topic("event")}
            keys |= {"event_types": list(types), "value_template": _events(types)}
            icon = "alarm" if key == "alarm_event" else "message-processing"
            yield key, self._entity("event", key, icon, **keys)
        siren = self._command("set/siren") | {"state_topic": self._topic("state")}
        siren |= {
            "state_value_template": _on("'siren' in value_json.ringing"),
            "available_tones": list(self._facts.tones),
        }
        yield "siren", self._entity("siren", "siren", "bell-ring", **siren)
        version = self._state("{{ {'installed_version': value_json.version} | to_json }}")
        version |= {"entity_category": "diagnostic", "enabled_by_default": False}
        yield "version", self._entity("update", "version", **version)
        for alarm in self._facts.alarms:
            if alarm.has_time:
                template = f"{{{{ value_json.alarms.get('{alarm.id}', {{}}).get('time') }}}}"
                keys = self._command(f"set/alarm/{alarm.id}/time") | self._state(template)
                keys |= {"entity_category": "config"}
                yield f"alarm_time_{alarm.id}", self._entity("time", "alarm_time", "clock-edit", alarm.name, **keys)
        if any(alarm.id == ONE_OFF and alarm.has_time for alarm in self._facts.alarms):
            return  # the configuration has an alarm of that name
        one_off = self._command(f"set/alarm/{ONE_OFF}") | {"command_template": '{"at": "{{ value }}"}'}
        one_off |= self._state(f"{{{{ value_json.alarms.get('{ONE_OFF}', {{}}).get('next') }}}}")
        yield "one_off", self._entity("datetime", "one_off", "alarm-plus", **one_off)

    def _attributes(self, topic: str, expression: str) -> dict[str, Any]:
        return {
            "json_attributes_topic": self._topic(topic),
            "json_attributes_template": f"{{{{ ({expression}) | to_json }}}}",
        }


def _on(expression: str) -> str:
    return f"{{{{ 'ON' if {expression} else 'OFF' }}}}"


def _cut(expression: str) -> str:
    """A text that fits into a state; ``None`` makes it unknown."""
    return f"{{% set text = {expression} %}}{{{{ text[:{_LONGEST_STATE}] if text else None }}}}"


def _events(types: tuple[str, ...]) -> str:
    """The event as it came, or nothing for what is not listed: commands are answered on the same topic."""
    listed = ", ".join(f"'{name}'" for name in types)
    return f"{{{{ value if value_json.event_type in [{listed}] and value_json.get('command') is none else '' }}}}"
