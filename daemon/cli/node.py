"""A running node, through its broker: what commands share that ask the service for something."""

from __future__ import annotations

import contextlib
import json
import queue
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import paho.mqtt.client as paho

from daemon import events
from daemon.announcement import new_id
from daemon.config import Config
from daemon.errors import UnavailableError
from daemon.mqtt.address import Address, broker_address
from daemon.mqtt.client import new_client
from daemon.mqtt.problems import connection_failure
from daemon.mqtt.topics import Topics

_CONNECT_TIMEOUT = 5.0
_ANSWER_TIMEOUT = 3.0
_STATE_TIMEOUT = 0.6
"""Seconds in which a state that a command changed is published; it comes 50 ms later."""
_DONE: str | None = getattr(events, "DONE", None)
"""The event that acknowledges a command, with its id; a service without it only says what it refuses."""


class NodeError(Exception):
    """The node cannot be asked, or refused; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something that the node published.

    Attributes:
        name: the topic after the node's base: ``event``, ``state``, ``availability``.
        body: its JSON, or its text where it is none.
    """

    name: str
    body: Any


class Node:
    """A node to which a connection is open.

    Args:
        client: connected.
        topics: of the node.
        arrivals: what it publishes.
    """

    def __init__(self, client: paho.Client, topics: Topics, arrivals: queue.Queue[Message | str]) -> None:
        self._client = client
        self._topics = topics
        self._arrivals = arrivals

    @property
    def name(self) -> str:
        """Of the node."""
        return self._topics.node

    def publish(self, name: str, payload: str) -> None:
        """Publish below the node's base topic.

        Raises:
            NodeError: the broker did not take it.
        """
        published = self._client.publish(f"{self._topics.own}/{name}", payload, qos=1)
        with contextlib.suppress(RuntimeError, ValueError):  # the connection is gone: it is not published
            published.wait_for_publish(_CONNECT_TIMEOUT)
        if not published.is_published():
            message = "the broker did not take the message"
            raise NodeError(message)

    def wait(self, timeout: float) -> Message | None:
        """The next thing that the node publishes; None when nothing comes in so many seconds."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                arrival = self._arrivals.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return None
            if isinstance(arrival, Message):
                return arrival

    def state(self) -> dict[str, Any]:
        """The state that the node retains.

        Raises:
            NodeError: there is none, or the node does not run.
        """
        availability, state = None, None
        deadline = time.monotonic() + _ANSWER_TIMEOUT
        while (availability is None or state is None) and time.monotonic() < deadline:
            message = self.wait(deadline - time.monotonic())
            if message is not None and message.name == "availability":
                availability = message.body
            elif message is not None and message.name == "state" and isinstance(message.body, dict):
                state = message.body
        if availability in ("offline", "stopped"):
            message_ = f"node {self.name!r} is {availability}; start it with asagoe run"
            raise NodeError(message_)
        if state is None:
            message_ = f"no answer from node {self.name!r}; is the service running with this configuration?"
            raise NodeError(message_)
        return state

    def ask(
        self, command: str, value: str = "", before: Callable[[dict[str, Any]], object] = lambda _: None
    ) -> dict[str, Any]:
        """Let the node carry out a command; returns the state after it.

        Args:
            command: its name, such as ``do/stop``.
            value: its value, as text.
            before: called with the state before it.

        Raises:
            NodeError: it refused, with its reason, or does not answer.
        """
        state = self.state()
        before(state)
        name = new_id()
        payload = value if _DONE is None else json.dumps({"value": value, "id": name}, ensure_ascii=False)
        self.publish(command, payload)
        answered = _DONE is None
        deadline = time.monotonic() + (_STATE_TIMEOUT if answered else _ANSWER_TIMEOUT)
        while (message := self.wait(deadline - time.monotonic())) is not None:
            body = message.body
            if not isinstance(body, dict):
                continue
            if message.name == "state":
                state = body
                if answered and _DONE is not None:
                    break
            elif body.get("command") == command and body.get("id") == (None if _DONE is None else name):
                if body.get("event_type") == events.FAILED:
                    raise NodeError(str(body.get("reason")))
                answered = answered or body.get("event_type") == _DONE
                deadline = time.monotonic() + _STATE_TIMEOUT
        if not answered:
            message_ = f"no answer from node {self.name!r}; is the service running with this configuration?"
            raise NodeError(message_)
        return state


@contextlib.contextmanager
def connected_node(config: Config, node: str | None, names: Sequence[str]) -> Iterator[Node]:
    """Open a connection to a node's broker.

    Args:
        config: names the broker and the base topic.
        node: its name; None for that of the configuration.
        names: the topics to listen to, after the node's base.

    Raises:
        NodeError: there is no broker, it does not answer, or it refuses.
    """
    if config.mqtt.broker == "none":
        message = "mqtt.broker is none: the service listens to no broker"
        raise NodeError(message)
    try:
        address = broker_address(config.mqtt)
    except UnavailableError as error:
        raise NodeError(str(error)) from error
    topics = Topics(config.mqtt.base_topic, node or config.node)
    arrivals: queue.Queue[Message | str] = queue.Queue()
    client = _client(address, [topics.out(name) for name in names], arrivals, len(topics.own) + 1)
    try:
        client.connect(address.host, address.port)
    except OSError as error:
        message = f"{connection_failure(error, address)}; is the service running? start it with asagoe run"
        raise NodeError(message) from error
    client.loop_start()
    try:
        _wait_for_subscription(arrivals)
        yield Node(client, topics, arrivals)
    finally:
        client.disconnect()
        client.loop_stop()


def _wait_for_subscription(arrivals: queue.Queue[Message | str]) -> None:
    kept: list[Message] = []
    while True:
        try:
            first = arrivals.get(timeout=_CONNECT_TIMEOUT)
        except queue.Empty as error:
            message = "the broker does not answer"
            raise NodeError(message) from error
        if isinstance(first, Message):
            kept.append(first)  # a retained message may overtake the acknowledgement
        elif first == _SUBSCRIBED:
            break
        else:
            message = f"the broker refuses the connection: {first}"
            raise NodeError(message)
    for message_ in kept:
        arrivals.put(message_)


_SUBSCRIBED = "subscribed"


def _client(
    address: Address, topics: Sequence[str], arrivals: queue.Queue[Message | str], base_length: int
) -> paho.Client:
    client = new_client(address, f"asagoe-cli-{secrets.token_hex(4)}")

    def connected(client: paho.Client, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            arrivals.put(str(reason))
        else:
            client.subscribe([(topic, 1) for topic in topics])

    def heard(_client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        if message.topic not in topics:
            return  # amqtt sends retained messages to whoever subscribes to anything
        text = message.payload.decode("utf-8", errors="replace")
        try:
            body = json.loads(text)
        except ValueError:
            body = text
        arrivals.put(Message(message.topic[base_length:], body))

    client.on_connect = connected
    client.on_subscribe = lambda *_: arrivals.put(_SUBSCRIBED)
    client.on_message = heard
    return client
