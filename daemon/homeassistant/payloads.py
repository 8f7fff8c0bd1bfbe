"""From entities to the messages of MQTT discovery: pure functions.

One message holds the whole device. A platform that an older Home Assistant does not know would make it refuse all of
that message; such platforms go on topics of their own, to which only those subscribe that know them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from daemon.homeassistant.entities import Entity, device_id, entities
from daemon.homeassistant.facts import Facts
from daemon.homeassistant.names import device_name

_AVAILABILITY = "{{ 'online' if value == 'online' else 'offline' }}"
"""A node that was stopped is as little available as one that was lost; a word that is neither would be ignored."""


@dataclass(frozen=True, slots=True)
class Told:
    """What Home Assistant was told, as far as it must be known to take it back.

    Attributes:
        topic: of the device.
        components: platform of each component in the device's message, by id.
        singles: topics of components on topics of their own.
    """

    topic: str
    components: Mapping[str, str]
    singles: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        """For the store."""
        return {"topic": self.topic, "components": dict(self.components), "singles": sorted(self.singles)}

    def with_those_of(self, before: Told) -> Told:
        """This, and the components of an earlier one; where both have one, as it was."""
        return replace(self, components=MappingProxyType({**self.components, **before.components}))

    @classmethod
    def of_json(cls, value: Any) -> Told | None:
        """From the store; None for what cannot be understood."""
        try:
            components = {str(name): str(platform) for name, platform in value["components"].items()}
            return cls(str(value["topic"]), components, frozenset(str(topic) for topic in value["singles"]))
        except (KeyError, TypeError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Device:
    """What is told now.

    Attributes:
        topic: of the device.
        head: what all components share.
        components: of the device's message.
        singles: the messages of other components, by topic.
    """

    topic: str
    head: Mapping[str, Any]
    components: Mapping[str, Entity]
    singles: Mapping[str, str]

    @property
    def told(self) -> Told:
        """What must be known to take it back."""
        platforms = {name: entity.platform for name, entity in self.components.items()}
        return Told(self.topic, MappingProxyType(platforms), frozenset(self.singles))

    def payload(self) -> str:
        """The message of the device."""
        return _dumped({**self.head, "components": {name: _component(item) for name, item in self.components.items()}})

    def farewell(self, before: Told) -> str | None:
        """The message of the device that takes leave of components which are no more; None where there are none.

        Home Assistant removes a component of which only the platform is left; the message after this one leaves it out.
        """
        now = self.told.components
        gone = {name: platform for name, platform in before.components.items() if now.get(name) != platform}
        if before.topic != self.topic or not gone:
            return None
        rest = {name: _component(item) for name, item in self.components.items() if name not in gone}
        removed = {name: {"platform": platform} for name, platform in gone.items()}
        return _dumped({**self.head, "components": rest | removed})


def device(facts: Facts, *, prefix: str, apart: Collection[str]) -> Device:
    """The messages that tell of a node.

    Args:
        facts: of the node.
        prefix: first part of the topics, Home Assistant's ``discovery_prefix``.
        apart: platforms that go on topics of their own.
    """
    name = device_id(facts.base)
    head = MappingProxyType(
        {
            "device": {
                "identifiers": [name],
                "name": device_name(facts.locale, facts.node),
                "manufacturer": "Asagoe",
                "model": facts.model,
                "sw_version": facts.version,
            },
            "origin": {"name": "Asagoe", "sw_version": facts.version},
            "availability_topic": f"{facts.base}/availability",
            "availability_template": _AVAILABILITY,
        }
    )
    everything = entities(facts)
    singles = {
        f"{prefix}/{item.platform}/{name}/{component}/config": _dumped(head | dict(item.keys))
        for component, item in everything.items()
        if item.platform in apart
    }
    within = {component: item for component, item in everything.items() if item.platform not in apart}
    return Device(f"{prefix}/device/{name}/config", head, MappingProxyType(within), MappingProxyType(singles))


def _component(entity: Entity) -> dict[str, Any]:
    return {"platform": entity.platform, **entity.keys}


def _dumped(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), ensure_ascii=False)
