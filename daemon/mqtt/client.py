"""A client of paho-mqtt as all parts of Asagoe use it: credentials, transport, and word when its thread ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Callable
from typing import Any, Literal

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion

from daemon.mqtt.address import Address

_STOP_TIMEOUT = 2.5
_FLUSH_TIMEOUT = 1.5
_CALLBACKS = (
    "on_log", "on_socket_open", "on_connect", "on_connect_fail", "on_disconnect", "on_subscribe", "on_message"
)  # fmt: skip


class Client(paho.Client):
    """paho's client, which tells when its thread ends: by itself it would do so without a word.

    Attributes:
        on_end: called in the thread when it ends, with the error that ended it, or None.
    """

    on_end: Callable[[Exception | None], None] = staticmethod(lambda _: None)

    def loop_forever(self, timeout: float = 1.0, retry_first_connection: bool = False) -> MQTTErrorCode:
        """Serve the connection until ``disconnect``; what paho does not catch itself ends here."""
        error: Exception | None = None
        try:
            return super().loop_forever(timeout, retry_first_connection)
        except Exception as caught:  # noqa: BLE001 - the supervisor of paho's thread: the broker's keeper starts it anew
            error = caught
            return MQTTErrorCode.MQTT_ERR_UNKNOWN
        finally:
            self.on_end(error)


def new_client(address: Address, client_id: str, **options: Any) -> Client:
    """A client that is not connected yet.

    Args:
        address: of the broker; ``host`` and ``port`` are for the connect call.
        client_id: as the broker will know it.
        options: of ``paho.Client``; MQTT 3.1.1 unless ``protocol`` says otherwise.
    """
    options = {"protocol": MQTTProtocolVersion.MQTTv311} | options
    transport: Literal["tcp", "websockets"] = "tcp" if address.path is None else "websockets"
    client = Client(CallbackAPIVersion.VERSION2, client_id=client_id, transport=transport, **options)
    client.suppress_exceptions = True  # an exception must not end the thread; callbacks have none to raise anyway
    if address.path is not None:
        client.ws_set_options(path=address.path)
    if address.username is not None:
        client.username_pw_set(address.username, address.password)
    if address.tls is not None:
        client.tls_set_context(address.tls)
    return client


def hang_up(client: Client) -> None:
    """End the connection below paho: its thread notices, tells, and connects again, and loses nothing that waits."""
    connection = client.socket()
    if connection is not None:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as twin:
            twin.shutdown(socket.SHUT_RDWR)


async def disconnected(client: Client, last: paho.MQTTMessageInfo | None = None) -> None:
    """Wait until ``last`` is acknowledged, disconnect, and wait for paho's thread; not for long, it may be stuck."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def disconnect() -> None:
        if last is not None:
            with contextlib.suppress(ValueError, RuntimeError):  # it was never queued
                last.wait_for_publish(_FLUSH_TIMEOUT)
        client.disconnect()
        client.loop_stop()
        connection = client.socket()
        if connection is not None:  # paho's thread ended before it came to that
            connection.close()
        # Callbacks know the client: without them it is freed at once, and closes the other sockets that it has.
        for name in _CALLBACKS:
            setattr(client, name, None)
        client.on_end = lambda _: None
        with contextlib.suppress(RuntimeError):  # the loop did not wait for this
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=disconnect, name="mqtt-disconnect", daemon=True).start()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), _STOP_TIMEOUT)
