"""What paho tells in its own thread, handed over to the event loop.

No work is done in a paho callback: an exception there would end paho's thread without a word, and a slow one would
miss the keepalive. Callbacks hand over to the loop and return.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import LogLevel
from paho.mqtt.reasoncodes import ReasonCode

from daemon.mqtt.address import Address
from daemon.mqtt.client import Client
from daemon.mqtt.messages import Incoming
from daemon.mqtt.problems import connection_failure, tls_failure
from daemon.mqtt.subscriptions import Subscriptions

_log = logging.getLogger("asagoe.mqtt")
_paho_log = logging.getLogger("asagoe.mqtt.paho")


@dataclass(frozen=True, slots=True)
class Handlers:
    """Who is told, on the event loop; each first gets the client that it comes from.

    Attributes:
        opened: a connection is open, the broker has not answered yet.
        connected: its answer, and whether it kept our session.
        disconnected: the reason, whether the broker gave it, and the TLS alert of this connection, if there was one.
        problem: what does not work, for people.
        arrived: a message, with its packet's number and whether it may have come before; None at QoS 0.
        ended: paho's thread ended, with the error that ended it.
    """

    opened: Callable[[Client], None]
    connected: Callable[[Client, ReasonCode, bool], None]
    disconnected: Callable[[Client, ReasonCode, bool, str | None], None]
    problem: Callable[[Client, str], None]
    arrived: Callable[[Client, Incoming, tuple[int, bool] | None], None]
    ended: Callable[[Client, Exception | None], None]


class Callbacks:
    """The callbacks of one client.

    Args:
        client: that gets them.
        loop: that the handlers are called on.
        handlers: who is told.
        address: of the broker, for messages.
        subscriptions: renewed with each connection, here: no message may be missed between.
    """

    def __init__(
        self,
        client: Client,
        *,
        loop: asyncio.AbstractEventLoop,
        handlers: Handlers,
        address: Address,
        subscriptions: Subscriptions,
    ) -> None:
        self._client = client
        self._loop = loop
        self._handlers = handlers
        self._address = address
        self._subscriptions = subscriptions
        self._tls_alert: str | None = None  # of the connection at hand
        client.on_log = self._on_log
        client.on_socket_open = self._on_open
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_end = lambda error: self._hand_over(handlers.ended, error)

    def _hand_over(self, action: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(action, self._client, *arguments)
        except RuntimeError:
            _log.debug("the event loop has ended")

    def _on_log(self, _client: paho.Client, _data: Any, level: int, text: str) -> None:
        if level in (LogLevel.MQTT_LOG_ERR, LogLevel.MQTT_LOG_WARNING):
            # An alert that comes after the handshake is told nowhere else.
            self._tls_alert = tls_failure(text) or self._tls_alert
            _paho_log.debug("%s", text)  # once at every attempt to connect: for whoever looks for more than the cause

    def _on_open(self, _client: paho.Client, _data: Any, _socket: Any) -> None:
        self._tls_alert = None
        self._hand_over(self._handlers.opened)

    def _on_connect(
        self, client: paho.Client, _data: Any, flags: paho.ConnectFlags, reason: ReasonCode, _properties: Any
    ) -> None:
        if not reason.is_failure:
            self._subscriptions.renew(client)
        self._hand_over(self._handlers.connected, reason, flags.session_present)

    def _on_subscribe(
        self, _client: paho.Client, _data: Any, mid: int, reasons: list[ReasonCode], _properties: Any
    ) -> None:
        refused = self._subscriptions.refused(mid, reasons)
        if refused:
            names = ", ".join(refused)
            problem = f"the broker at {self._address} does not let us listen to {names}; let its rules allow it"
            self._hand_over(self._handlers.problem, problem)

    def _on_connect_fail(self, _client: paho.Client, _data: Any) -> None:
        # paho calls this while it handles the error, which it gives to nobody.
        problem = connection_failure(sys.exception(), self._address, tls=self._address.tls is not None)
        self._hand_over(self._handlers.problem, problem)

    def _on_disconnect(
        self, _client: paho.Client, _data: Any, flags: paho.DisconnectFlags, reason: ReasonCode, _properties: Any
    ) -> None:
        by_broker = flags.is_disconnect_packet_from_server
        self._hand_over(self._handlers.disconnected, reason, by_broker, self._tls_alert)

    def _on_message(self, client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        mid, qos = message.mid, message.qos

        def accepted() -> None:
            if qos:
                client.ack(mid, qos)

        expires_in = getattr(message.properties, "MessageExpiryInterval", None)
        incoming = Incoming(message.topic, bytes(message.payload), bool(message.retain), accepted, expires_in)
        self._hand_over(self._handlers.arrived, incoming, (mid, bool(message.dup)) if qos else None)
