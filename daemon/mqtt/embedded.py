"""A broker inside the service, for a house that has none: amqtt in a thread and an event loop of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

from daemon.errors import UnavailableError

_START_TIMEOUT = 15.0


class EmbeddedBroker:
    """An MQTT 3.1.1 broker without passwords, meant for the loopback address.

    Args:
        host: address to listen on.
        port: TCP port.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._problem: str | None = None
        self._thread = threading.Thread(target=self._run, name="embedded-broker", daemon=True)

    def start(self) -> None:
        """Start listening; returns when it does.

        Raises:
            UnavailableError: amqtt is not installed, or the port is taken.
        """
        self._thread.start()
        if not self._ready.wait(_START_TIMEOUT):
            self._problem = "it did not start in time"
        if self._problem is not None:
            message = f"the embedded broker on {self._host}:{self._port} is not available: {self._problem}"
            raise UnavailableError(message)

    def stop(self) -> None:
        """Stop listening; waits a moment for the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(2.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        try:
            from amqtt.errors import BrokerError  # noqa: PLC0415 - an extra

            from daemon.mqtt.embedded_amqtt import LosslessBroker  # noqa: PLC0415 - imports amqtt
        except ImportError:
            self._problem = "amqtt is not installed: pip install 'asagoe[broker]', or set mqtt.url to a broker"
            return
        # It logs each client that speaks MQTT 5 as an error, and each session at length.
        for name in ("amqtt", "transitions"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        broker = LosslessBroker(self._config())
        try:
            await broker.start()
        except (BrokerError, OSError) as error:
            cause = error.__cause__ or error
            self._problem = f"{cause}; if a broker runs there already, set mqtt.url: mqtt://{self._host}:{self._port}"
            return
        self._ready.set()
        await self._stop.wait()
        await broker.shutdown()

    def _config(self) -> dict[str, Any]:
        return {
            "listeners": {"default": {"type": "tcp", "bind": f"{self._host}:{self._port}"}},
            "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
        }
