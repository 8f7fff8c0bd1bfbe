"""The broker, wired: messages in, events and state out, what other nodes and programs speak over it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import partial

from daemon.errors import UnavailableError
from daemon.health import Health
from daemon.house import House
from daemon.mqtt.address import broker_address
from daemon.mqtt.broker import MQTT_3_1_1, MQTT_5, PahoBroker
from daemon.mqtt.embedded import EmbeddedBroker
from daemon.mqtt.gateway import OFFLINE, Gateway
from daemon.mqtt.hermes import SAY, Hermes
from daemon.mqtt.messages import Incoming, Will
from daemon.remote.client import RemoteRenderer, RemoteSpeaker
from daemon.remote.protocol import REQUEST
from daemon.remote.server import RenderServer

_log = logging.getLogger("asagoe.service")


async def start_mqtt(house: House, stack: AsyncExitStack) -> None:
    """Start the gateway and, unless there is to be none, the connection to the broker."""
    house.health = Health(
        house.clock,
        speakers=lambda: house.renderer.speakers,
        problems=lambda: house.problems,
        audio=lambda: house.audio,
        compute=lambda: house.compute,
        failing=lambda: house.renderer.failing,
        counters=lambda: house.announcer.counters,
        mqtt=lambda: house.gateway.report(),  # noqa: PLW0108 - it is made below
    )
    gateway = Gateway(
        announcer=house.announcer,
        commands=house.commands,
        settings=house.config.announcements,
        topics=house.topics,
        clock=house.clock,
        zone=house.zone,
        snapshot=house.snapshot,
        health=house.health.report,
        second_encoding=house.config.mqtt.second_encoding,
    )
    house.gateway = gateway
    house.bus.listen(gateway.on_event)
    house.bus.listen(house.health.on_event)
    house.announcer.on_change = house.quiet.on_change = house.changed
    mqtt = house.config.mqtt
    if mqtt.broker == "none":
        return
    try:
        address = broker_address(mqtt)
    except UnavailableError as error:
        _log.error("%s", error)
        return

    def on_message(message: Incoming) -> None:
        house.house_topics.on_message(message)
        gateway.on_message(message)

    own = mqtt.embedded and await _start_embedded_broker(house, stack)
    passing = _start_listeners(house, gateway, stack)
    house.notifier.status(f"connecting to the broker {address}")
    broker = PahoBroker(
        address,
        client_id=mqtt.client_id or f"asagoe-{house.config.node}",
        topics=[*house.topics.filters, *house.house_topics.filters],
        passing=passing,
        heartbeat=house.topics.out("heartbeat"),
        will=Will(house.topics.out("availability"), OFFLINE),
        session_expiry=round(house.config.announcements.defaults.expires_in),
        keepalive=round(mqtt.keepalive),
        on_message=on_message,
        on_connection=partial(_on_connection, house),
        protocol=MQTT_3_1_1 if own else MQTT_5,
    )
    gateway.attach(broker)
    broker.start()
    house.broker = broker
    stack.push_async_callback(broker.stop)
    stack.callback(gateway.say_goodbye)


def _start_listeners(house: House, gateway: Gateway, stack: AsyncExitStack) -> list[str]:
    """What else is spoken over the broker: Hermes, and speech that is made elsewhere; returns the topics."""
    mqtt, topics = house.config.mqtt, []
    if mqtt.hermes:
        hermes = Hermes(
            submit=house.announcer.submit,
            publish=gateway.publish,
            sites=[*house.topics.names, "all", *mqtt.hermes_sites],
            settings=lambda: house.config.announcements,
            clock=house.clock,
            zone=house.zone,
            second_encoding=mqtt.second_encoding,
        )
        gateway.listen(SAY, hermes.on_message)
        house.bus.listen(hermes.on_event)
        topics.append(SAY)
    if mqtt.render_for_others:
        house.render_server = RenderServer(
            base=mqtt.base_topic,
            node=house.config.node,
            publish=gateway.publish,
            renderer=house.renderer,
            speakers=lambda: house.tts.speakers,
            default=lambda: house.config.speaker_name,
        )
        gateway.listen(house.topics.out(REQUEST), house.render_server.on_message)
        topics.append(house.topics.out(REQUEST))
    if house.config.remote_speakers:
        house.remote = RemoteRenderer(
            base=mqtt.base_topic,
            node=house.config.node,
            publish=gateway.publish,
            connected=lambda: gateway.connected,
            configured={
                name: RemoteSpeaker(remote.node, remote.speaker, house.config.speakers[name].defaults())
                for name, remote in house.config.remote_speakers.items()
            },
            text=house.tts.text,
            clock=house.clock,
            timeout=mqtt.render_timeout,
            on_change=partial(_remote_changed, house),
        )
        house.remote.listen(gateway.listen)
        house.renderer.remote = lambda: house.remote.speakers if house.remote else {}
        stack.callback(house.remote.close)
        topics += house.remote.topics
    if house.discovery is not None and mqtt.discovers:
        gateway.listen(mqtt.discovery.birth_topic, house.discovery.on_birth, retained=True)
        topics.append(mqtt.discovery.birth_topic)
    return topics


def _remote_changed(house: House) -> None:
    house.gateway.on_change()
    house.rediscover()  # their styles may be others


def _on_connection(house: House, up: bool) -> None:
    house.gateway.on_connection(up)
    if house.remote is not None:
        house.remote.on_connection(up)
    if up and house.render_server is not None:
        house.render_server.publish_voices()
    if house.discovery is not None:
        house.discovery.on_connection(up)


async def _start_embedded_broker(house: House, stack: AsyncExitStack) -> bool:
    """Start the broker inside the service; where its port is taken, a broker that answers there will do."""
    embedded = EmbeddedBroker(house.config.mqtt.bind, house.config.mqtt.port)
    try:
        await asyncio.to_thread(embedded.start)
    except UnavailableError as error:
        _log.warning("%s; until then the broker that answers there is used", error)
        return False
    stack.callback(embedded.stop)
    return True
