"""Tells Home Assistant of the node: at each connection, when Home Assistant starts, and when something changed."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Collection
from typing import Protocol

from daemon.homeassistant.facts import Facts
from daemon.homeassistant.payloads import Device, Told, device
from daemon.mqtt.messages import Incoming
from daemon.store import Records

_log = logging.getLogger("asagoe.homeassistant")

_SETTING = "discovery"
SETTLE = 0.3
"""Seconds within which changes are told as one."""
APART = 1.0
"""Seconds between two messages of the device: of two that meet in Home Assistant a part may get lost."""
JITTER = (0.5, 3.0)
"""Seconds after the birth message, by chance: not all devices of a house answer at once."""
STATE_AFTER = 1.0
"""Seconds after discovery at which the state is published once more, when its readers have subscribed."""


class Publishing(Protocol):
    """What is needed of the gateway."""

    @property
    def connected(self) -> bool:
        """Whether messages get through now."""

    def publish(self, topic: str, payload: str | bytes, *, retain: bool = False, qos: int = 1) -> None:
        """Publish something."""

    def publish_everything(self) -> None:
        """Publish availability, state and health."""


class Discovery:
    """Keeps Home Assistant's picture of the node current. All calls are on the event loop.

    Args:
        gateway: publishes; asked for once the parts are together.
        records: remember what was told, so that a later start can take it back.
        facts: of the node, as they are now.
        enabled: whether there is to be a device; if not, one that was told of is cleared.
        prefix: Home Assistant's ``discovery_prefix``.
        birth_payload: of the message that says that Home Assistant has started.
        apart: platforms on topics of their own.
        jitter: seconds, least and most, between a birth message and the answer.
    """

    def __init__(
        self,
        *,
        gateway: Callable[[], Publishing],
        records: Records,
        facts: Callable[[], Facts],
        enabled: bool,
        prefix: str,
        birth_payload: str,
        apart: Collection[str],
        jitter: tuple[float, float] = JITTER,
    ) -> None:
        self._of = gateway
        self._records = records
        self._facts = facts
        self._enabled = enabled
        self._prefix = prefix
        self._birth_payload = birth_payload
        self._apart = frozenset(apart)
        self._jitter = jitter
        self._told = Told.of_json(records.setting(_SETTING))
        self._last: Device | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._birth: asyncio.TimerHandle | None = None
        self._waiting: deque[str] = deque()
        self._sending: asyncio.TimerHandle | None = None
        self._begun = False
        self._closed = False

    def begin(self) -> None:
        """All parts of the node are there: from now on there is something to tell."""
        self._begun = True
        self._tell(again=True)

    def on_connection(self, up: bool) -> None:
        """The connection to the broker is up, or down."""
        if up:
            self._tell(again=True)
        else:
            self._forget_waiting()

    def on_birth(self, message: Incoming) -> None:
        """Something was said on the topic of Home Assistant's birth message."""
        if message.retained or message.payload.decode("utf-8", "replace").strip() != self._birth_payload:
            return  # a retained one is old: what it asks for was done at the connection
        if self._enabled and self._birth is None and not self._closed:
            wait = random.uniform(*self._jitter)  # noqa: S311 - jitter
            self._birth = asyncio.get_running_loop().call_later(wait, self._answer_birth)

    def refresh_soon(self) -> None:
        """Something changed that entities may depend on."""
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(SETTLE, self._refresh)

    def close(self) -> None:
        """Say nothing any more. What was told stays: the node is only away."""
        self._closed = True
        self._forget_waiting()
        for timer in (self._timer, self._birth):
            if timer is not None:
                timer.cancel()

    # Details.

    @property
    def _gateway(self) -> Publishing:
        return self._of()

    def _answer_birth(self) -> None:
        self._birth = None
        _log.info("Home Assistant has started: telling it of this node again")
        self._tell(again=True)
        asyncio.get_running_loop().call_later(STATE_AFTER, self._gateway.publish_everything)

    def _refresh(self) -> None:
        self._timer = None
        self._tell(again=False)

    def _tell(self, *, again: bool) -> None:
        """Publish what there is to tell: everything, or only when something changed."""
        if self._closed or not self._begun or not self._gateway.connected:
            return  # it is told when the connection is up
        if not self._enabled:
            self._clear()
            return
        now = device(self._facts(), prefix=self._prefix, apart=self._apart)
        if now == self._last and not again:
            return
        before, self._last = self._told, now
        if before is not None and before.topic != now.topic:
            self._gateway.publish(before.topic, "", retain=True)
        for topic in (before.singles if before is not None else frozenset()) - now.told.singles:
            self._gateway.publish(topic, "", retain=True)
        for topic, payload in now.singles.items():
            self._gateway.publish(topic, payload, retain=True)
        farewell = None if before is None else now.farewell(before)
        # Until the last message is out, what is gone has to be remembered too: a connection may break in between.
        self._remember(now.told if before is None or farewell is None else now.told.with_those_of(before))
        self._waiting = deque([now.payload()] if farewell is None else [farewell, now.payload()])
        _log.info("telling Home Assistant of %d entities", len(now.components) + len(now.singles))
        self._send()

    def _clear(self) -> None:
        """Take everything back."""
        told, self._told, self._last = self._told, None, None
        if told is not None:
            _log.info("discovery is switched off: the device is removed from Home Assistant")
            for topic in (told.topic, *sorted(told.singles)):
                self._gateway.publish(topic, "", retain=True)
            self._records.set(_SETTING, None)

    def _send(self) -> None:
        """Send the first message that waits, and the next ones each after a pause."""
        if self._sending is not None or not self._waiting or self._last is None:
            return
        self._gateway.publish(self._last.topic, self._waiting.popleft(), retain=True)
        if not self._waiting:
            self._remember(self._last.told)
        self._sending = asyncio.get_running_loop().call_later(APART, self._sent)

    def _sent(self) -> None:
        self._sending = None
        if self._gateway.connected and not self._closed:
            self._send()

    def _remember(self, told: Told) -> None:
        self._told = told
        self._records.set(_SETTING, told.as_json())

    def _forget_waiting(self) -> None:
        self._waiting.clear()
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
