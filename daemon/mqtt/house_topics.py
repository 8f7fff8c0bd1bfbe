"""The last messages of the topics of the house that briefings tell of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

from daemon.clock import Clock
from daemon.mqtt.messages import Incoming
from daemon.mqtt.topics import Topics

MAX_PAYLOAD = 16_384
"""Bytes of a message; a larger one is no value to be told."""


class HouseTopics:
    """Keeps the last message of each wanted topic, with the moment it came. All calls are on the event loop.

    Unlike commands, retained messages count: a sensor that speaks once an hour is known at once. The broker does not
    say how old a retained message is, so its moment is that of its arrival, except that one which only repeats what
    is known keeps its moment: a reconnection makes nothing younger.

    Args:
        clock: of the moments.
        own: topics of this node, which are commands, never values.
        wanted: topics of the house, without wildcards.
    """

    def __init__(self, clock: Clock, own: Topics, wanted: Iterable[str]) -> None:
        self._clock = clock
        self._own = own
        self._wanted: frozenset[str] = frozenset()
        self._values: dict[str, tuple[str, datetime]] = {}
        self.want(wanted)

    def want(self, topics: Iterable[str]) -> None:
        """Take over what is wanted from now on; values of topics that stay are kept."""
        self._wanted = frozenset(topics)
        self._values = {topic: value for topic, value in self._values.items() if topic in self._wanted}

    @property
    def filters(self) -> list[str]:
        """What to subscribe to besides the node's own topics; none of them overlaps with those."""
        return sorted(topic for topic in self._wanted if self._own.command(topic) is None)

    @property
    def values(self) -> Mapping[str, tuple[str, datetime]]:
        """The last message of each topic, and when it came."""
        return MappingProxyType(self._values)

    def on_message(self, message: Incoming) -> None:
        """Look at a message; most are for others. An empty one, and one that is no text, means that there is none."""
        if message.topic not in self._wanted:
            return
        known = self._values.get(message.topic)
        text = _decoded(message.payload)
        if text is None:
            self._values.pop(message.topic, None)
        elif not (message.retained and known is not None and known[0] == text):
            self._values[message.topic] = (text, self._clock.now())


def _decoded(payload: bytes) -> str | None:
    if not payload or len(payload) > MAX_PAYLOAD:
        return None
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        return None
