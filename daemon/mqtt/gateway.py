"""Between the broker and the service: messages become announcements and commands, events and state go out."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from daemon import events
from daemon.announcer import Announcer
from daemon.clock import Clock
from daemon.commands import Commands
from daemon.config import AnnouncementsConfig
from daemon.errors import RequestError
from daemon.events import Event
from daemon.mqtt.envelope import parse_envelope
from daemon.mqtt.messages import Broker, Incoming
from daemon.mqtt.payloads import parse_announcement
from daemon.mqtt.strict import decode
from daemon.mqtt.topics import Topics

_log = logging.getLogger("asagoe.mqtt")

ONLINE, OFFLINE, STOPPED = "online", "offline", "stopped"
"""Availability: there, gone without a word (the broker says so), stopped on purpose."""

_STATE_DELAY = 0.05
"""Changes within this many seconds are published as one."""
_REMEMBERED = 500
"""So many ids of commands are remembered: one that comes twice is carried out once."""
_MOST_TOLD = 100
"""So many topics with retained messages are named in the log, each once."""


class Gateway:
    """Carries out messages and publishes what happens.

    Args:
        announcer: says what is sent.
        commands: what else can be asked.
        settings: of announcements; may be replaced at run time.
        topics: of this node.
        clock: for receiving times.
        zone: of times without an offset.
        snapshot: gives the state as a JSON object.
        health: gives the health as a JSON object.
        second_encoding: tried where a payload is not UTF-8.
    """

    def __init__(
        self,
        *,
        announcer: Announcer,
        commands: Commands,
        settings: AnnouncementsConfig,
        topics: Topics,
        clock: Clock,
        zone: ZoneInfo,
        snapshot: Callable[[], dict[str, Any]],
        health: Callable[[], dict[str, Any]],
        second_encoding: str | None = None,
    ) -> None:
        self._announcer = announcer
        self._commands = commands
        self.settings = settings
        self._topics = topics
        self._clock = clock
        self._zone = zone
        self._snapshot = snapshot
        self._health = health
        self._broker: Broker | None = None
        self._pending_state: asyncio.TimerHandle | None = None
        self._closing = False
        self._second_encoding = second_encoding
        self._listeners: dict[str, tuple[Callable[[Incoming], None], bool]] = {}
        self._told_retained: set[str] = set()
        self._done: OrderedDict[str, None] = OrderedDict()
        self.ignored_retained = 0
        self.rejected = 0

    def attach(self, broker: Broker) -> None:
        """Use a connection."""
        self._broker = broker

    @property
    def connected(self) -> bool:
        """Whether messages get through now."""
        return self._broker is not None and self._broker.connected

    def report(self) -> dict[str, Any]:
        """How the connection is and what was refused, fit for JSON."""
        connection = {} if self._broker is None else self._broker.report()
        return connection | {"refused": self.rejected, "ignored_retained": self.ignored_retained}

    def on_connection(self, up: bool) -> None:
        """Say that we are here, and in what state."""
        if up:
            self.publish_everything()

    def publish_everything(self) -> None:
        """Publish availability, state and health."""
        if self._broker is not None and not self._closing:
            self._broker.publish(self._topics.out("availability"), ONLINE, retain=True)
            self._publish_state()
            self.publish_health()

    def publish_health(self) -> None:
        """Publish how the service is, if the broker is there to hear it."""
        if self._broker is not None and self._broker.connected:
            self._broker.publish(
                self._topics.out("health"), json.dumps(self._health(), ensure_ascii=False), retain=True
            )

    def say_goodbye(self) -> None:
        """Say that the service stops on purpose; what comes from now on is left to the broker."""
        self._closing = True
        if self._pending_state is not None:
            self._pending_state.cancel()
        if self._broker is not None:
            self._broker.publish(self._topics.out("availability"), STOPPED, retain=True)

    def on_event(self, event: Event) -> None:
        """Publish an event; never retained."""
        if self._broker is not None:
            body = json.dumps(event.as_json(), ensure_ascii=False)
            self._broker.publish(self._topics.out("event"), body)

    def on_change(self) -> None:
        """Publish the state soon."""
        if self._broker is not None and self._pending_state is None:
            loop = asyncio.get_running_loop()
            self._pending_state = loop.call_later(_STATE_DELAY, self._publish_state)

    def listen(self, topic: str, handler: Callable[[Incoming], None], *, retained: bool = False) -> None:
        """Hand messages on a topic of its own to somebody else.

        Args:
            topic: exact; who wants it must have it subscribed to.
            handler: may raise ``RequestError``.
            retained: whether it wants retained messages too.
        """
        self._listeners[topic] = (handler, retained)

    def publish(self, topic: str, payload: str | bytes, *, retain: bool = False, qos: int = 1) -> None:
        """Publish something for whoever listens to a topic of its own."""
        if self._broker is not None:
            self._broker.publish(topic, payload, retain=retain, qos=qos)

    def on_message(self, message: Incoming) -> None:
        """Carry out a message; whatever is wrong with it ends here."""
        if self._closing:
            return
        try:
            self._carry_out(message)
        except RequestError as error:
            self.rejected += 1
            _log.warning("refused a message on %s: %s", message.topic, error)
            command = self._topics.command(message.topic)
            if command is not None:
                details = {} if command == "announce" else {"command": command}
                self.on_event(Event(events.FAILED, error.request_id, str(error), details))
        finally:
            message.accepted()

    def _carry_out(self, message: Incoming) -> None:
        command = self._topics.command(message.topic)
        handler, wants_retained = self._listeners.get(message.topic, (None, False))
        if command is None and handler is None:
            return
        if message.retained and not wants_retained:
            self._ignore_retained(message)
        elif handler is not None:
            handler(message)
        elif command == "announce":
            self._announce(message, "mqtt")
        elif command is not None:
            self._command(command, message.payload)

    def _ignore_retained(self, message: Incoming) -> None:
        """The broker repeats a retained message at every reconnect: it is not a wish of this moment."""
        self.ignored_retained += 1
        if message.topic not in self._told_retained and len(self._told_retained) < _MOST_TOLD:
            self._told_retained.add(message.topic)
            _log.warning("ignored a retained message on %s; publish commands without retain", message.topic)

    def announce_from(self, origin: str) -> Callable[[bytes], str | None]:
        """What takes the payload of an announcement that came another way, as one of the broker's is taken.

        It returns the id, None for an empty payload, and raises ``RequestError`` for one that is refused.
        """
        topic = f"{self._topics.own}/announce"
        return lambda payload: self._announce(Incoming(topic, payload, retained=False), origin)

    def _announce(self, message: Incoming, origin: str) -> str | None:
        announcement = parse_announcement(
            message.payload,
            self.settings,
            origin=origin,
            now=self._clock.now(),
            monotonic=self._clock.monotonic(),
            zone=self._zone,
            second_encoding=self._second_encoding,
            is_for_us=lambda nodes: self._is_for_us(nodes, message.topic),
        )
        if announcement is None:
            return None
        if message.expires_in is not None:
            wait = min(message.expires_in, announcement.max_wait or message.expires_in)
            announcement = replace(announcement, max_wait=wait, default_wait=False)
        problem = self._announcer.check(announcement)
        if problem is not None:
            raise RequestError(problem, announcement.id)
        self._announcer.submit(announcement)
        return announcement.id

    def _is_for_us(self, nodes: Sequence[str], topic: str) -> bool:
        if self._topics.names.isdisjoint(nodes):
            if topic.startswith(f"{self._topics.own}/"):  # to nobody else: without a word it would be lost
                message = f"nodes: {', '.join(nodes)[:80]} is not this node, {self._topics.node}"
                raise RequestError(message)
            return False
        return True

    def _command(self, name: str, payload: bytes) -> None:
        """Carry out a command and acknowledge it."""
        envelope = parse_envelope(decode(payload, self.settings.max_payload, self._second_encoding))
        if envelope.id is not None and envelope.id in self._done:
            self.on_event(Event(events.DONE, envelope.id, None, {"command": name, "duplicate": True}))
            return
        try:
            result = self._commands.carry_out(name, envelope.text)
        except RequestError as error:
            raise RequestError(str(error), envelope.id) from error
        if envelope.id is not None:
            self._done[envelope.id] = None
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        ids = [result] if isinstance(result, str) else result
        details: dict[str, Any] = {"command": name}
        if isinstance(ids, list) and all(isinstance(item, str) for item in ids):
            details["ids"] = ids
        self.on_event(Event(events.DONE, envelope.id, None, details))

    def _publish_state(self) -> None:
        if self._pending_state is not None:
            self._pending_state.cancel()
            self._pending_state = None
        if self._broker is not None and self._broker.connected:  # else it is published on connection, as it is then
            body = json.dumps(self._snapshot(), ensure_ascii=False)
            self._broker.publish(self._topics.out("state"), body, retain=True)
