"""Home Assistant, wired."""

from __future__ import annotations

from contextlib import AsyncExitStack

from daemon.alarms.siren import add_siren_command
from daemon.homeassistant.discovery import Discovery
from daemon.homeassistant.gather import gather_facts
from daemon.house import House


def plan_discovery(house: House, stack: AsyncExitStack) -> None:
    """Make what Home Assistant needs; the listeners of the broker hear its birth message."""
    add_siren_command(house.commands, house.keeper)
    mqtt = house.config.mqtt
    if mqtt.broker == "none":
        return
    house.discovery = Discovery(
        gateway=lambda: house.gateway,
        records=house.records,
        facts=lambda: gather_facts(house.config, house.topics.own, house.agenda, house.preferences),
        enabled=mqtt.discovers,
        prefix=mqtt.discovery.prefix,
        birth_payload=mqtt.discovery.birth_payload,
        apart=mqtt.discovery.optional_platforms,
    )
    stack.callback(house.discovery.close)


def start_discovery(house: House) -> None:
    """Alarms and the schedule are known: there is something to tell."""
    if house.discovery is not None:
        house.discovery.begin()
