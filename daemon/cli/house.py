"""The retained messages of a few topics, asked for once, beside the service."""

from __future__ import annotations

import queue
import secrets
import time
from collections.abc import Sequence
from typing import Any

import paho.mqtt.client as paho

from daemon.config import MqttConfig
from daemon.errors import UnavailableError
from daemon.mqtt.address import broker_address
from daemon.mqtt.client import new_client
from daemon.mqtt.messages import Incoming

_CONNECT_TIMEOUT = 3.0
_SETTLE = 0.5
"""Seconds for messages after the last one: nothing says that there are no more."""


def retained_messages(config: MqttConfig, topics: Sequence[str]) -> list[Incoming]:
    """What the broker has kept, at most one message a topic; nothing where no broker answers."""
    if config.broker == "none" or not topics:
        return []
    try:
        address = broker_address(config)
    except UnavailableError:
        return []
    arrivals: queue.Queue[Incoming] = queue.Queue()
    client = new_client(address, f"asagoe-briefing-{secrets.token_hex(4)}")

    def connected(client: paho.Client, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if not reason.is_failure:
            client.subscribe([(topic, 0) for topic in topics])

    def heard(_client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        arrivals.put(Incoming(message.topic, bytes(message.payload), bool(message.retain)))

    client.on_connect = connected
    client.on_message = heard
    client.connect_timeout = _CONNECT_TIMEOUT
    try:
        client.connect(address.host, address.port)
    except OSError:
        return []
    client.loop_start()
    try:
        return _collected(arrivals, set(topics))
    finally:
        client.disconnect()
        client.loop_stop()


def _collected(arrivals: queue.Queue[Incoming], missing: set[str]) -> list[Incoming]:
    found: dict[str, Incoming] = {}
    until = time.monotonic() + _CONNECT_TIMEOUT
    while missing:
        try:
            message = arrivals.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            break
        found[message.topic] = message
        missing.discard(message.topic)
        until = time.monotonic() + _SETTLE
    return list(found.values())
