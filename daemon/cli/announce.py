"""``asagoe announce``: through the broker to the running service, and what became of it."""

from __future__ import annotations

import contextlib
import json
import queue
import secrets
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho

from daemon import events
from daemon.announcement import new_id
from daemon.cli.common import err, fail, out, printable, read_config, text_or_stdin
from daemon.mqtt.address import Address, broker_address
from daemon.mqtt.client import new_client
from daemon.mqtt.problems import connection_failure
from daemon.mqtt.topics import Topics

_CONNECT_TIMEOUT = 5.0
_ANSWER_TIMEOUT = 3.0
_SPEECH_TIMEOUT = 600.0


def announce_text(explicit: Path | None, text: str, node: str | None, message: dict[str, Any], *, wait: bool) -> int:
    """Publish an announcement and follow its events; returns the exit code."""
    config, _ = read_config(explicit)
    if config.mqtt.broker == "none":
        return fail("mqtt.broker is none: the service listens to no broker; use asagoe say")
    address = broker_address(config.mqtt)
    topics = Topics(config.mqtt.base_topic, node or config.node)
    body = {"text": text_or_stdin(text), "id": new_id(), **message}
    arrivals: queue.Queue[Any] = queue.Queue()
    client = _client(address, topics, arrivals)
    try:
        client.connect(address.host, address.port)
    except OSError as error:
        return fail(f"{connection_failure(error, address)}; is the service running? start it with asagoe run")
    client.loop_start()
    try:
        return _converse(client, topics, body, arrivals, wait=wait and node != "all")
    finally:
        client.disconnect()
        client.loop_stop()


def _converse(
    client: paho.Client, topics: Topics, body: dict[str, Any], arrivals: queue.Queue[Any], *, wait: bool
) -> int:
    try:
        first = arrivals.get(timeout=_CONNECT_TIMEOUT)
    except queue.Empty:
        return fail("the broker does not answer")
    if first != "subscribed":
        return fail(f"the broker refuses the connection: {first}")
    published = client.publish(f"{topics.own}/announce", json.dumps(body, ensure_ascii=False), qos=1)
    published.wait_for_publish(_CONNECT_TIMEOUT)
    if not published.is_published():
        return fail("the broker did not take the message")
    if not wait:
        return 0
    timeout = _ANSWER_TIMEOUT
    while True:
        try:
            event = arrivals.get(timeout=timeout)
        except queue.Empty:
            return fail(f"no answer from node {topics.node!r}; is the service running with this configuration?")
        if not isinstance(event, dict) or event.get("id") != body["id"]:
            continue
        timeout = _SPEECH_TIMEOUT
        kind = event.get("event_type")
        if kind == events.STARTED:
            err.print(f"speaking ({event.get('speaker')})", markup=False)
        if kind in events.TERMINAL:
            return _report(event)


def _report(event: dict[str, Any]) -> int:
    if event["event_type"] != events.FINISHED:
        return fail(f"{event['event_type']}: {event.get('reason')}")
    for unread in event.get("unread", ()):
        err.print(f"not read: {printable(unread['text'])} ({unread['reason']})", style="yellow")
    if not event.get("audible", True):
        out.print(f"nobody can hear it: it went to {event.get('sink')}", style="yellow", markup=False)
    else:
        out.print(f"said, first sample after {event.get('first_sample_ms')} ms", markup=False)
    return 0


def _client(address: Address, topics: Topics, arrivals: queue.Queue[Any]) -> paho.Client:
    client = new_client(address, f"asagoe-announce-{secrets.token_hex(4)}")

    def connected(client: paho.Client, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            arrivals.put(str(reason))
        else:
            client.subscribe(topics.out("event"), 1)

    def heard(_client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        if message.topic != topics.out("event"):
            return  # amqtt sends retained messages to whoever subscribes to anything
        with contextlib.suppress(ValueError):  # somebody else's message on our topic
            arrivals.put(json.loads(message.payload))

    client.on_connect = connected
    client.on_subscribe = lambda *_: arrivals.put("subscribed")
    client.on_message = heard
    return client
