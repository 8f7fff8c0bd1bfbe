"""The connection to the broker, by paho in its own thread; everything else happens on the event loop.

No work is done in a paho callback: an exception there would end paho's thread without a word, and a slow one would
miss the keepalive. Callbacks hand over to the loop and return.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

_log = logging.getLogger("asagoe.mqtt")

MQTT_5 = MQTTProtocolVersion.MQTTv5
MQTT_3_1_1 = MQTTProtocolVersion.MQTTv311

_UNSUPPORTED_VERSION = 132  # reason code 0x84 of MQTT 5, section 3.2.2.2
_MAX_QUEUED = 20_000
"""Messages that wait for the broker's acknowledgement: a burst of a thousand announcements has four events each."""
_MAX_AWAY = 200
"""Messages that are kept while the broker is away; what is newer than these is told by the retained state."""
_RECONNECT = (1, 60)
_STOP_TIMEOUT = 2.5
_FLUSH_TIMEOUT = 1.5
_SHORT_LIVED = 5.0
_SUSPICIOUS = 3
_ANSWER_TIMEOUT = 5.0
_HANG_UPS = 2
"""So many connections that were closed without an answer, and the other version of MQTT is tried. A broker that knows
only 3.1.1 may answer a CONNECT of MQTT 5 with a refusal, hang up, or wait for ever for the rest of it."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message from the broker.

    Attributes:
        topic: it was published to.
        payload: its bytes.
        retained: whether the broker had kept it: it is old, nobody sent it just now.
        accepted: call when the message needs no second delivery.
    """

    topic: str
    payload: bytes
    retained: bool
    accepted: Callable[[], None] = field(default=lambda: None, repr=False)


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes when the connection breaks."""

    topic: str
    payload: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where the broker is, and how to get in.

    Attributes:
        host: name or address.
        port: TCP port.
        tls: context for an encrypted connection, or None.
        username: or None.
        password: or None.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Broker(Protocol):
    """A connection that keeps itself up. All calls and callbacks are on the event loop."""

    def start(self) -> None:
        """Begin to connect, and to reconnect for ever."""

    async def stop(self) -> None:
        """Send what is waiting, for a moment, and disconnect cleanly."""

    def publish(self, topic: str, payload: str, *, retain: bool = False, qos: int = 1) -> None:
        """Publish, or queue while the connection is down; QoS 0 is dropped then."""

    @property
    def connected(self) -> bool:
        """Whether messages get through now."""


class PahoBroker:
    """``Broker`` by paho-mqtt 2: MQTT 5, or 3.1.1 when the broker refuses that.

    Args:
        address: of the broker.
        client_id: fixed, so that the session survives a restart.
        topics: filters to subscribe to, at QoS 1.
        will: published by the broker when the connection breaks.
        session_expiry: seconds for which an MQTT 5 broker keeps messages for us while we are away. MQTT 3.1.1 knows
            no such bound and would deliver messages of any age, so there a clean session is taken.
        keepalive: seconds.
        on_message: gets every message.
        on_connection: told whether the connection is up, after the subscriptions were sent.
        protocol: version of MQTT that is tried first.
    """

    def __init__(
        self,
        address: Address,
        *,
        client_id: str,
        topics: Sequence[str],
        will: Will,
        session_expiry: int,
        keepalive: int,
        on_message: Callable[[Incoming], None],
        on_connection: Callable[[bool], None],
        protocol: MQTTProtocolVersion = MQTT_5,
    ) -> None:
        self._address = address
        self._client_id = client_id
        self._topics = tuple(topics)
        self._will = will
        self._session_expiry = session_expiry
        self._keepalive = keepalive
        self._on_message = on_message
        self._on_connection = on_connection
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: paho.Client | None = None
        self._connected = False
        self._last_problem: str | None = None
        self._switching: asyncio.Task[None] | None = None
        self._unanswered = 0
        self._kept = 0
        self._proved = False  # whether the broker has answered in this version of MQTT
        self._connected_at = 0.0
        self._short_lived = 0
        self._last: paho.MQTTMessageInfo | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self.protocol = protocol

    @property
    def connected(self) -> bool:
        """Whether the broker has acknowledged the connection."""
        return self._connected

    def start(self) -> None:
        """Begin to connect."""
        self._loop = asyncio.get_running_loop()
        self._client = self._new_client()
        self._connect()

    async def stop(self) -> None:
        """Wait a moment for what is in flight, then disconnect."""
        client, self._client = self._client, None
        if client is None:
            return
        self._stop_timer()
        if self._switching is not None:
            self._switching.cancel()
        await _disconnected(client, self._last if self._connected else None)
        self._connected = False

    def publish(self, topic: str, payload: str, *, retain: bool = False, qos: int = 1) -> None:
        """Publish, or keep while the connection is down (QoS 1, at most 200)."""
        if self._client is None:
            return
        if not self._connected:
            self._kept += 1
            if self._kept > _MAX_AWAY:
                return
        info = self._last = self._client.publish(topic, payload.encode("utf-8"), qos=qos, retain=retain)
        if info.rc == MQTTErrorCode.MQTT_ERR_QUEUE_SIZE:
            _log.warning("%d messages wait for the broker; one on %s is lost", _MAX_QUEUED, topic)

    def _new_client(self) -> paho.Client:
        v5 = self.protocol == MQTT_5
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._client_id,
            protocol=self.protocol,
            clean_session=None if v5 else True,
            manual_ack=True,
        )
        client.suppress_exceptions = True  # an exception must not end the thread; callbacks have none to raise anyway
        client.enable_logger(logging.getLogger("asagoe.mqtt.paho"))
        client.max_queued_messages_set(_MAX_QUEUED)
        low, high = _RECONNECT
        client.reconnect_delay_set(low + random.random(), high + 10 * random.random())  # type: ignore[arg-type]  # noqa: S311
        client.will_set(self._will.topic, self._will.payload, qos=1, retain=True)
        if self._address.username is not None:
            client.username_pw_set(self._address.username, self._address.password)
        if self._address.tls is not None:
            client.tls_set_context(self._address.tls)
        client.on_socket_open = self._opened_in_thread
        client.on_connect = self._connected_in_thread
        client.on_connect_fail = self._failed_in_thread
        client.on_disconnect = self._disconnected_in_thread
        client.on_message = self._message_in_thread
        return client

    def _connect(self) -> None:
        assert self._client is not None  # noqa: S101
        options: dict[str, Any] = {}
        if self.protocol == MQTT_5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = self._session_expiry
            options = {"clean_start": False, "properties": properties}
        # In this order the first attempt is made at once; the other way round it waits for a whole reconnect delay.
        self._client.connect_async(self._address.host, self._address.port, self._keepalive, **options)
        self._client.loop_start()

    # In paho's thread: hand over, nothing else.

    def _opened_in_thread(self, client: paho.Client, _data: Any, _socket: Any) -> None:
        self._hand_over(self._on_open, client)

    def _connected_in_thread(
        self, client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, _properties: Any
    ) -> None:
        if not reason.is_failure:
            client.subscribe([(topic, 1) for topic in self._topics])
        self._hand_over(self._on_connect, client, reason)

    def _failed_in_thread(self, client: paho.Client, _data: Any) -> None:
        self._hand_over(self._on_problem, client, f"no connection to the broker at {self._address}")

    def _disconnected_in_thread(
        self, client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, _properties: Any
    ) -> None:
        self._hand_over(self._on_disconnect, client, str(reason))

    def _message_in_thread(self, client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        mid, qos = message.mid, message.qos

        def accepted() -> None:
            if qos:
                client.ack(mid, qos)

        incoming = Incoming(message.topic, bytes(message.payload), bool(message.retain), accepted)
        self._hand_over(self._on_message, incoming)

    def _hand_over(self, action: Callable[..., None], *arguments: Any) -> None:
        assert self._loop is not None  # noqa: S101
        try:
            self._loop.call_soon_threadsafe(action, *arguments)
        except RuntimeError:
            _log.debug("the event loop has ended")

    # On the event loop.

    def _on_open(self, client: paho.Client) -> None:
        if client is self._client:
            self._stop_timer()
            loop = asyncio.get_running_loop()
            self._answer_timer = loop.call_later(_ANSWER_TIMEOUT, self._no_answer, client, False)

    def _no_answer(self, client: paho.Client, hung_up: bool) -> None:
        """A connection was opened and the broker said nothing, or hung up."""
        self._stop_timer()
        if client is not self._client:
            return
        self._unanswered += 1
        self._on_problem(client, f"the broker at {self._address} does not answer")
        if not self._proved and (not hung_up or self._unanswered >= _HANG_UPS):
            self._switch(client)

    def _stop_timer(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    def _on_connect(self, client: paho.Client, reason: ReasonCode) -> None:
        if client is not self._client:
            return
        self._stop_timer()
        if reason.value == _UNSUPPORTED_VERSION and self.protocol == MQTT_5:
            _log.info("the broker at %s does not speak MQTT 5; going on with 3.1.1", self._address)
            self._switch(client)
        elif reason.is_failure:
            self._on_problem(client, f"the broker at {self._address} refuses the connection: {reason}")
        else:
            version = "5" if self.protocol == MQTT_5 else "3.1.1"
            _log.info("connected to the broker at %s with MQTT %s", self._address, version)
            self._last_problem = None
            self._unanswered = 0
            self._proved = True
            self._connected = True
            self._connected_at = asyncio.get_running_loop().time()
            self._kept = 0
            self._on_connection(True)

    def _switch(self, old: paho.Client) -> None:
        """Go on with the other version of MQTT: a client keeps its version for life."""
        self._unanswered = 0
        self.protocol = MQTT_3_1_1 if self.protocol == MQTT_5 else MQTT_5
        self._client = self._new_client()

        async def change_over() -> None:
            await _disconnected(old)
            self._connect()

        self._switching = asyncio.create_task(change_over(), name="switch the version of MQTT")

    def _on_disconnect(self, client: paho.Client, reason: str) -> None:
        if client is not self._client:
            return
        if self._answer_timer is not None:
            self._no_answer(client, hung_up=True)
        elif self._connected:
            _log.warning("the connection to the broker at %s broke: %s; trying again", self._address, reason)
            self._connected = False
            self._count_short_lived()
            self._on_connection(False)

    def _count_short_lived(self) -> None:
        """A broker ends a connection when another client comes with the same id: two of them end each other."""
        lasted = asyncio.get_running_loop().time() - self._connected_at
        self._short_lived = self._short_lived + 1 if lasted < _SHORT_LIVED else 0
        if self._short_lived == _SUSPICIOUS:
            _log.warning(
                "connections last only moments: perhaps another client has the client id %r too; give each its own "
                "node or mqtt.client_id",
                self._client_id,
            )

    def _on_problem(self, client: paho.Client, problem: str) -> None:
        if client is self._client and problem != self._last_problem:  # once, not at every attempt
            self._last_problem = problem
            _log.warning("%s; trying again until it works", problem)


async def _disconnected(client: paho.Client, last: paho.MQTTMessageInfo | None = None) -> None:
    """Wait until ``last`` is acknowledged, disconnect, and wait for paho's thread; not for long, it may be stuck."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def disconnect() -> None:
        if last is not None:
            with contextlib.suppress(ValueError, RuntimeError):  # it was never queued
                last.wait_for_publish(_FLUSH_TIMEOUT)
        client.disconnect()
        client.loop_stop()
        with contextlib.suppress(RuntimeError):  # the loop did not wait for this
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=disconnect, name="mqtt-disconnect", daemon=True).start()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), _STOP_TIMEOUT)
