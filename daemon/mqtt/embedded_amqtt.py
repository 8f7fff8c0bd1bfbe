"""amqtt's broker without the losses that a client sees which publishes and goes at once, as ``mosquitto_pub`` does.

Two things of amqtt 0.12 lose such messages. It sends each new client the retained messages of whatever others have
subscribed to, and when that fails because the client has gone already, what the client published is not looked at. And
when a client disconnects, what is still in its queue is dropped.
"""

from __future__ import annotations

import asyncio
from typing import Any

from amqtt.broker import Broker
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from amqtt.session import Session


class LosslessBroker(Broker):  # type: ignore[misc] # amqtt is an extra, without types here
    """A broker that passes on what was published before a client went, and retained messages to subscribers alone."""

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        if any(subscriber is session for subscriber, _ in self._subscriptions.get(subscription[0], ())):
            await super()._publish_retained_messages_for_subscription(subscription, session)

    async def _handle_disconnect(
        self, client_session: Session, handler: BrokerProtocolHandler, disconnect_waiter: asyncio.Future[Any]
    ) -> None:
        queue = client_session.delivered_message_queue
        # All at once: whoever waits for the next one must not take any of them in between, and be cancelled with it.
        left = [queue.get_nowait() for _ in range(queue.qsize())]
        for message in left:
            delivered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            delivered.set_result(message)
            if not await self._handle_message_delivery(client_session, handler, delivered):
                break
        await super()._handle_disconnect(client_session, handler, disconnect_waiter)
