"""amqtt's broker, made dependable: nothing that was published is lost, and no client can harm the others.

What amqtt 0.12 does otherwise, and what is done here instead:

- It keeps what a client published in a queue, and drops it when the client goes: it is passed on at once.
- It waits for each subscriber's acknowledgement of retained messages before it hears the client again: it does not.
- It leaves the old connection open when a client comes again under its id: it is closed, and its will published.
- It keeps connections that never say anything, break the rules or are dead: they are closed (``embedded_wire``).
- It keeps every session that is not clean, but mixes up their connections: here all are clean.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from amqtt.broker import Broker, RetainedApplicationMessage
from amqtt.contexts import ListenerConfig
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from amqtt.mqtt.pubcomp import PubcompPacket
from amqtt.mqtt.pubrel import PubrelPacket
from amqtt.session import ApplicationMessage, Session

from daemon.mqtt.embedded_wire import BoundedWriter, PacketReader

_log = logging.getLogger("asagoe.mqtt")

_MAX_CLIENTS = 400
"""Connections at a time: each takes a file descriptor, of which a process has 1024 as a rule."""
_STOP_TIMEOUT = 0.5
_MAX_TOLD = 100


class LosslessBroker(Broker):  # type: ignore[misc] # amqtt is an extra, without types here
    """An MQTT 3.1.1 broker of clean sessions that passes messages on at once."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self._open: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}
        self._sending: set[asyncio.Task[Any]] = set()
        self._told: set[str] = set()

    # Connections.

    async def stream_connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, listener_name: str
    ) -> None:
        """Serve a connection, and close it at the end whatever the end was."""
        client = f"a client at {(writer.get_extra_info('peername') or ['an unknown address'])[0]}"

        def ended(reason: str, answer: bytes = b"") -> None:
            self._tell(f"{client} {reason}; its connection is closed")
            ends.write(answer)

        ends = BoundedWriter(writer, ended)
        if len(self._open) >= _MAX_CLIENTS:
            self._tell(f"{_MAX_CLIENTS} clients are connected to the broker inside the service; more are turned away")
            writer.transport.abort()
            return
        self._open[writer] = asyncio.current_task()
        try:
            await self._client_connected(listener_name, PacketReader(reader, ended), ends)
        finally:
            del self._open[writer]
            await ends.close()

    async def shutdown(self) -> None:
        """Stop, also when clients do not read or have not said anything yet."""
        for server in self._servers.values():
            server.instance.close()  # amqtt would let more clients in until it has parted from the others
        tasks = [task for task in self._open.values() if task is not None]
        for writer in self._open:
            asyncio.get_running_loop().call_later(_STOP_TIMEOUT, writer.transport.abort)
        await super().shutdown()
        if tasks:
            await asyncio.wait(tasks, timeout=2 * _STOP_TIMEOUT)

    def _tell(self, problem: str) -> None:
        # Once, for a client may come again and again; and not without end, for addresses may be many.
        if problem not in self._told and len(self._told) < _MAX_TOLD:
            self._told.add(problem)
            _log.warning("%s", problem)

    # Sessions.

    async def _initialize_client_session(
        self, reader: PacketReader, writer: BoundedWriter, _remote_address: str, _remote_port: int
    ) -> tuple[BrokerProtocolHandler, Session]:
        handler, session = await _Handler.init_from_connect(reader, writer, self.plugins_manager)
        session.keep_alive = 0  # the reader watches over it; amqtt would only lose its place in a packet
        session.delivered_message_queue = _Passage(self)
        return handler, session

    async def _authenticate(self, session: Session, listener: ListenerConfig) -> bool:
        authenticated = bool(await super()._authenticate(session, listener))
        # This is the last moment before amqtt takes the session in, without another task in between.
        while session.client_id in self._sessions:
            await self._take_over(session.client_id)
        return authenticated

    async def _take_over(self, client_id: str) -> None:
        """End the connection that has this id until now, as [MQTT-3.1.4-2] wants it."""
        _, handler = self._sessions[client_id]
        await self._delete_session(client_id)
        await handler.handle_connection_closed()
        await handler.stop()

    # Messages.

    def pass_on(self, topic: str, data: bytes, qos: int) -> None:
        """Send a message to all that are subscribed, once to each, at the lower of both qualities of service."""
        wanted: dict[str, int] = {}
        for name, subscriptions in self._subscriptions.items():
            if self._matches(topic, name):
                for session, granted in subscriptions:
                    wanted[session.client_id] = max(granted, wanted.get(session.client_id, 0))
        for client_id, granted in wanted.items():
            session, handler = self._sessions.get(client_id, (None, None))
            if session is not None and session.transitions.state == "connected":
                self._send(handler, topic, data, min(qos, granted), retain=False)

    def keep(self, topic: str, data: bytes, qos: int) -> None:
        """Retain a message, or forget the retained one if ``data`` is empty."""
        if data:
            self._retained_messages[topic] = RetainedApplicationMessage(None, topic, data, qos)
        else:
            self._retained_messages.pop(topic, None)

    def _send(self, handler: BrokerProtocolHandler, topic: str, data: bytes, qos: int, *, retain: bool) -> None:
        task = asyncio.create_task(handler.mqtt_publish(topic, data, qos, retain))
        self._sending.add(task)
        task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[Any]) -> None:
        self._sending.discard(task)
        if not task.cancelled():
            task.exception()  # not acknowledged in time, or the client has gone: nothing is to be done

    async def _broadcast_message(
        self, _session: Session | None, topic: str, data: bytes, force_qos: int | None = None
    ) -> None:
        self.pass_on(topic, data, force_qos or 0)

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        name, granted = subscription
        handler = self._get_handler(session)
        # amqtt offers each new client what others have subscribed to.
        if handler is None or all(subscriber is not session for subscriber, _ in self._subscriptions.get(name, ())):
            return
        for topic, message in self._retained_messages.items():
            if self._matches(topic, name):
                self._send(handler, topic, message.data, min(granted, message.qos), retain=True)

    # Subscriptions.

    async def add_subscription(self, subscription: tuple[str, int], session: Session) -> int:
        """Subscribe, in place of an earlier subscription to the same filter [MQTT-3.8.4-3]."""
        self._del_subscription(subscription[0], session)
        return int(await super().add_subscription(subscription, session))

    async def _handle_unsubscription(
        self, client_session: Session, handler: BrokerProtocolHandler, unsubscribe_waiter: asyncio.Future[Any]
    ) -> None:
        await super()._handle_unsubscription(client_session, handler, unsubscribe_waiter)
        for name in unsubscribe_waiter.result().topics:
            if self._subscriptions.get(name) == []:
                del self._subscriptions[name]


class _Passage(asyncio.Queue[ApplicationMessage]):
    """In place of a session's queue of messages that it published: they are passed on as they come."""

    def __init__(self, broker: LosslessBroker) -> None:
        super().__init__()
        self._broker = broker

    def put_nowait(self, item: ApplicationMessage) -> None:
        qos = item.qos or 0
        self._broker.pass_on(item.topic, item.data, qos)
        if item.retain:
            self._broker.keep(item.topic, item.data, qos)


class _Handler(BrokerProtocolHandler):  # type: ignore[misc] # as above
    async def handle_pubrel(self, pubrel: PubrelPacket) -> None:
        """Answer also what is not known any more: clients ask again after a lost connection, and would wait."""
        if pubrel.packet_id in self._pubrel_waiters:
            await super().handle_pubrel(pubrel)
        else:
            await self._send_packet(PubcompPacket.build(pubrel.packet_id))
