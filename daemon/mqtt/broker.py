"""The connection to the broker, by paho in its own thread; everything here happens on the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from daemon.mqtt.address import Address
from daemon.mqtt.arrivals import Arrivals
from daemon.mqtt.callbacks import Callbacks, Handlers
from daemon.mqtt.client import Client, disconnected, hang_up, new_client
from daemon.mqtt.heartbeat import LOST_AFTER, Heartbeat
from daemon.mqtt.messages import Incoming, Will
from daemon.mqtt.patience import Patience
from daemon.mqtt.problems import (
    SESSION_TAKEN_OVER,
    UNSUPPORTED_VERSION,
    connection_failure,
    refusal,
    twin,
)
from daemon.mqtt.subscriptions import Subscriptions

_log = logging.getLogger("asagoe.mqtt")

MQTT_5 = MQTTProtocolVersion.MQTTv5
MQTT_3_1_1 = MQTTProtocolVersion.MQTTv311

_MAX_QUEUED = 20_000
"""Messages that wait for the broker's acknowledgement: a burst of a thousand announcements has four events each."""
_MAX_AWAY = 200
"""Messages that are kept while the broker is away; what is newer than these is told by the retained state."""
_MAX_PACKET = 4_194_304
"""Bytes; a broker of MQTT 5 keeps larger messages to itself. Without a bound one message could take all memory."""
_LASTING = 60.0
"""Seconds after which a connection was sound: what goes wrong after it is told again."""
_ANSWER_TIMEOUT = 5.0
_HANG_UPS = 2
"""So many connections that were closed without an answer, and the other version of MQTT is tried. A broker that knows
only 3.1.1 may answer a CONNECT of MQTT 5 with a refusal, hang up, or wait for ever for the rest of it."""


class PahoBroker:
    """``Broker`` by paho-mqtt 2: MQTT 5, or 3.1.1 when the broker refuses that.

    Args:
        address: of the broker.
        client_id: fixed, so that the session survives a restart.
        topics: filters to subscribe to, at QoS 1: the broker keeps messages while we are away.
        passing: filters of messages that mean something only now, at QoS 0.
        heartbeat: topic of our own, for messages to ourselves that prove the way through the broker; None for none.
        will: published by the broker when the connection breaks.
        session_expiry: seconds for which an MQTT 5 broker keeps messages for us while we are away. MQTT 3.1.1 knows
            no such bound and would deliver messages of any age, so there a clean session is taken.
        keepalive: seconds; also between two heartbeats.
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
        passing: Sequence[str] = (),
        heartbeat: str | None = None,
        will: Will,
        session_expiry: int,
        keepalive: int,
        on_message: Callable[[Incoming], None],
        on_connection: Callable[[bool], None],
        protocol: MQTTProtocolVersion = MQTT_5,
    ) -> None:
        self._address = address
        self._client_id = client_id
        self._subscriptions = Subscriptions(topics, [*passing, *([] if heartbeat is None else [heartbeat])])
        self._heartbeat_topic = heartbeat
        self._heartbeat = Heartbeat()
        self._arrivals = Arrivals(self._heartbeat, keepalive)
        self._patience = Patience()
        self._will = will
        self._session_expiry = session_expiry
        self._keepalive = keepalive
        self._on_message = on_message
        self._on_connection = on_connection
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Client | None = None
        self._connected = False
        self._told: set[str] = set()
        self._problem: str | None = None
        self._switching: asyncio.Task[None] | None = None
        self._unanswered = 0
        self._refused_with: str | None = None  # the last TLS alert since there was a connection
        self._kept = 0
        self._proved = False  # whether the broker has answered in this version of MQTT
        self._connected_at = 0.0
        self._connections = 0
        self._last: paho.MQTTMessageInfo | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._beat_timer: asyncio.TimerHandle | None = None
        self._revival: asyncio.TimerHandle | None = None
        self._handlers = Handlers(
            opened=self._on_open,
            connected=self._on_connect,
            disconnected=self._on_disconnect,
            problem=self._on_problem,
            arrived=self._on_arrival,
            ended=self._on_thread_end,
        )
        self.protocol = protocol

    @property
    def connected(self) -> bool:
        """Whether the broker has acknowledged the connection."""
        return self._connected

    def report(self) -> dict[str, Any]:
        """How the connection is, fit for JSON; times in milliseconds."""
        trip = self._heartbeat.round_trip
        return {
            "connected": self._connected,
            "protocol": "5" if self.protocol == MQTT_5 else "3.1.1",
            "heartbeat": self._heartbeat.state if self._connected else "lost",
            "round_trip_ms": None if trip is None else round(trip * 1000, 1),
            "connections": self._connections,
            "redelivered": self._arrivals.redelivered,
            "problem": self._problem,
        }

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
        for timer in (self._beat_timer, self._revival):
            if timer is not None:
                timer.cancel()
        if self._switching is not None:
            self._switching.cancel()
        await disconnected(client, self._last if self._connected else None)
        self._connected = False

    def publish(self, topic: str, payload: str | bytes, *, retain: bool = False, qos: int = 1) -> None:
        """Publish, or keep while the connection is down (QoS 1, at most 200)."""
        if self._client is None:
            return
        if not self._connected:
            if qos == 0:
                return
            self._kept += 1
            if self._kept > _MAX_AWAY:
                return
        body = payload.encode("utf-8") if isinstance(payload, str) else payload
        info = self._client.publish(topic, body, qos=qos, retain=retain)
        if qos:
            self._last = info
        if info.rc == MQTTErrorCode.MQTT_ERR_QUEUE_SIZE:
            _log.warning("%d messages wait for the broker; one on %s is lost", _MAX_QUEUED, topic)

    def listen(self, *, more: Sequence[str] = (), less: Sequence[str] = ()) -> None:
        """Listen to more topics, at QoS 1, and to some no longer, at once and on every connection to come."""
        self._subscriptions.change(self._client if self._connected else None, more=more, less=less)

    def _new_client(self) -> Client:
        v5 = self.protocol == MQTT_5
        client = new_client(
            self._address,
            self._client_id,
            protocol=self.protocol,
            clean_session=None if v5 else True,
            manual_ack=True,
        )
        client.max_queued_messages_set(_MAX_QUEUED)
        client.reconnect_delay_set(*self._patience.pauses())  # type: ignore[arg-type]  # paho reckons with floats
        client.will_set(self._will.topic, self._will.payload, qos=1, retain=True)
        assert self._loop is not None  # noqa: S101
        Callbacks(
            client,
            loop=self._loop,
            handlers=self._handlers,
            address=self._address,
            subscriptions=self._subscriptions,
        )
        return client

    def _connect(self) -> None:
        assert self._client is not None  # noqa: S101
        options: dict[str, Any] = {}
        if self.protocol == MQTT_5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = self._session_expiry
            properties.MaximumPacketSize = _MAX_PACKET
            options = {"clean_start": False, "properties": properties}
        # In this order the first attempt is made at once; the other way round it waits for a whole reconnect delay.
        self._client.connect_async(self._address.host, self._address.port, self._keepalive, **options)
        self._client.loop_start()

    # What paho tells.

    def _on_arrival(self, client: Client, message: Incoming, packet: tuple[int, bool] | None) -> None:
        if client is not self._client:
            return  # not acknowledged: it comes again
        again = packet is not None and packet[1]
        message = self._arrivals.aged(message, asyncio.get_running_loop().time(), again=again)
        if message.topic == self._heartbeat_topic:
            self._heartbeat_arrived(client, message)
        elif packet is not None and self._arrivals.is_repeated(message, packet[0], again=again):
            _log.debug("a message on %s was delivered again; it was handled before", message.topic)
            message.accepted()
        else:
            self._on_message(message)

    def _on_open(self, client: Client) -> None:
        if client is self._client:
            self._stop_timer()
            loop = asyncio.get_running_loop()
            self._answer_timer = loop.call_later(_ANSWER_TIMEOUT, self._no_answer, client, False, None)

    def _no_answer(self, client: Client, hung_up: bool, alert: str | None) -> None:
        """A connection was opened and the broker said nothing, or hung up."""
        self._stop_timer()
        if client is not self._client:
            return
        self._unanswered += 1
        # An alert may be lost with the connection that it ends: then the one of another attempt tells the cause.
        self._refused_with = alert = alert or self._refused_with
        did = (
            f"refuses the connection: {alert}"
            if alert
            else "hangs up without an answer"
            if hung_up
            else "does not answer"
        )
        if alert or not hung_up or self._address.tls is None or self._unanswered >= _HANG_UPS:
            self._on_problem(client, f"the broker at {self._address} {did}")
        if not self._proved and alert is None and (not hung_up or self._unanswered >= _HANG_UPS):
            self._switch(client)

    def _stop_timer(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    def _on_connect(self, client: Client, reason: ReasonCode, session_present: bool) -> None:
        if client is not self._client:
            return
        self._stop_timer()
        if reason.value == UNSUPPORTED_VERSION and self.protocol == MQTT_5:
            _log.info("the broker at %s does not speak MQTT 5; going on with 3.1.1", self._address)
            self._switch(client)
        elif reason.is_failure:
            self._on_problem(client, refusal(reason.value, str(reason), self._address, self._client_id))
        else:
            version = "5" if self.protocol == MQTT_5 else "3.1.1"
            _log.info("connected to the broker at %s with MQTT %s", self._address, version)
            self._problem = None
            self._unanswered = 0
            self._refused_with = None
            self._proved = True
            self._connected = True
            self._connections += 1
            self._connected_at = asyncio.get_running_loop().time()
            self._kept = 0
            self._arrivals.connected(session_present=session_present)
            self._heartbeat.connected(self._connected_at)
            self._beat()
            self._on_connection(True)

    def _switch(self, old: Client) -> None:
        """Go on with the other version of MQTT: a client keeps its version for life."""
        self._unanswered = 0
        self.protocol = MQTT_3_1_1 if self.protocol == MQTT_5 else MQTT_5
        self._client = self._new_client()

        async def change_over() -> None:
            await disconnected(old)
            self._connect()

        self._switching = asyncio.create_task(change_over(), name="switch the version of MQTT")

    def _on_disconnect(self, client: Client, reason: ReasonCode, by_broker: bool, alert: str | None) -> None:
        if client is not self._client:
            return
        if self._answer_timer is not None:
            self._no_answer(client, hung_up=True, alert=alert)
        elif self._connected:
            self._lost(client, str(reason), taken_over=by_broker and reason.value == SESSION_TAKEN_OVER)

    def _lost(self, client: Client, reason: str, *, taken_over: bool = False) -> None:
        self._connected = False
        if self._beat_timer is not None:
            self._beat_timer.cancel()
        self._problem = f"the connection to the broker at {self._address} broke: {reason}"
        lasted = asyncio.get_running_loop().time() - self._connected_at
        if lasted >= _LASTING:
            self._told.clear()
        _log.warning("%s; trying again", self._problem)
        # A broker ends a connection when another client comes with the same id: two of them end each other.
        if self._patience.ended(lasted, taken_over=taken_over) or taken_over:
            self._on_problem(client, twin(self._client_id, certain=taken_over))
        client.reconnect_delay_set(*self._patience.pauses())  # type: ignore[arg-type]
        self._on_connection(False)

    def _on_problem(self, client: Client, problem: str) -> None:
        if client is not self._client:
            return
        self._problem = problem
        if problem not in self._told:  # once, not at every attempt
            self._told.add(problem)
            _log.warning("%s; trying again until it works", problem)

    # The heartbeat.

    def _beat(self) -> None:
        """Send a message to ourselves; when messages do not come back any more, have a new connection."""
        client = self._client
        if self._heartbeat_topic is None or client is None or not self._connected:
            return
        payload = self._heartbeat.beat(asyncio.get_running_loop().time())
        if self._heartbeat.state == "lost":
            self._on_problem(client, f"the broker at {self._address} passes on nothing any more; connecting anew")
            hang_up(client)
            return
        if self._heartbeat.unanswered:
            problem = f"the broker at {self._address} does not return our messages on {self._heartbeat_topic}"
            if problem not in self._told:
                self._told.add(problem)
                _log.warning("%s after %d of them; let its rules allow that topic", problem, LOST_AFTER)
        self._arrivals.beat()
        self.publish(self._heartbeat_topic, payload, qos=0, retain=True)
        self._beat_timer = asyncio.get_running_loop().call_later(self._keepalive, self._beat)

    def _heartbeat_arrived(self, client: Client, message: Incoming) -> None:
        message.accepted()
        payload = message.payload.decode("utf-8", "replace")
        if message.retained:
            other = self._heartbeat.twin(payload)
            if other is not None:
                self._patience.ended(0.0, taken_over=True)
                self._on_problem(client, twin(self._client_id, certain=True, who=other))
        elif self._heartbeat.heard(payload, asyncio.get_running_loop().time()):
            self._arrivals.beat_returned(asyncio.get_running_loop().time())

    # The end of paho's thread.

    def _on_thread_end(self, client: Client, error: Exception | None) -> None:
        if client is not self._client:
            return  # it was asked to end
        self._stop_timer()
        self._on_problem(client, connection_failure(error, self._address))
        if error is not None:
            _log.debug("paho's thread ended", exc_info=error)
        if self._connected:
            self._lost(client, "its thread ended")
        else:
            self._patience.failed()
        self._revival = asyncio.get_running_loop().call_later(self._patience.pauses()[0], self._revive, client)

    def _revive(self, client: Client) -> None:
        if client is self._client:
            self._connect()
