"""Between the broker and the service: messages become announcements and commands, events and state go out."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from daemon import events
from daemon.announcer import Announcer
from daemon.clock import Clock
from daemon.commands import Commands
from daemon.config import AnnouncementsConfig
from daemon.errors import RequestError
from daemon.events import Event
from daemon.mqtt.broker import Broker, Incoming
from daemon.mqtt.payloads import decode, parse_announcement
from daemon.mqtt.topics import Topics

_log = logging.getLogger("asagoe.mqtt")

ONLINE, OFFLINE, STOPPED = "online", "offline", "stopped"
"""Availability: there, gone without a word (the broker says so), stopped on purpose."""

_STATE_DELAY = 0.05
"""Changes within this many seconds are published as one."""


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
        self.ignored_retained = 0
        self.rejected = 0

    def attach(self, broker: Broker) -> None:
        """Use a connection."""
        self._broker = broker

    def on_connection(self, up: bool) -> None:
        """Say that we are here, and in what state."""
        if up and self._broker is not None:
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
            self.on_event(
                Event(
                    events.FAILED, error.request_id, str(error), {} if command == "announce" else {"command": command}
                )
            )
        finally:
            message.accepted()

    def _carry_out(self, message: Incoming) -> None:
        command = self._topics.command(message.topic)
        if command is None:
            return
        if message.retained:
            # The broker repeats a retained message at every reconnect: it is not a wish of this moment.
            self.ignored_retained += 1
            _log.warning("ignored a retained message on %s; publish commands without retain", message.topic)
            return
        if command == "announce":
            self._announce(message.payload)
            return
        self._commands.carry_out(command, decode(message.payload, self.settings.max_payload))

    def _announce(self, payload: bytes) -> None:
        announcement = parse_announcement(
            payload,
            self.settings,
            origin="mqtt",
            now=self._clock.now(),
            monotonic=self._clock.monotonic(),
            zone=self._zone,
        )
        if announcement is None:
            return
        problem = self._announcer.check(announcement)
        if problem is not None:
            raise RequestError(problem, announcement.id)
        self._announcer.submit(announcement)

    def _publish_state(self) -> None:
        if self._pending_state is not None:
            self._pending_state.cancel()
            self._pending_state = None
        if self._broker is not None:
            body = json.dumps(self._snapshot(), ensure_ascii=False)
            self._broker.publish(self._topics.out("state"), body, retain=True)
