"""Tells a message that a broker delivers again from one that is new.

At QoS 1 a broker sends a message again, with its packet identifier and the DUP flag, when our acknowledgement was lost
with the connection (MQTT 5, section 4.4). The flag alone proves nothing, and the same text may be sent twice on
purpose; flag, identifier and content together are the same message, as long as the acknowledgement may be lost. A
heartbeat that comes back was sent after the acknowledgements before it, on the same stream: those have arrived, and
the broker may use their identifiers again.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict

_REMEMBERED = 1000


class Redelivery:
    """Remembers what was handled and may be delivered again."""

    def __init__(self) -> None:
        self._handled: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._generation = 0
        self.count = 0

    def is_repeated(self, identifier: int, duplicate: bool, topic: str, payload: bytes) -> bool:
        """Whether a message was handled before; if not, it is remembered."""
        key = (identifier, zlib.crc32(payload, zlib.crc32(topic.encode())))
        repeated = duplicate and key in self._handled
        self.count += repeated
        self._handled[key] = self._generation
        self._handled.move_to_end(key)
        while len(self._handled) > _REMEMBERED:
            self._handled.popitem(last=False)
        return repeated

    def beat(self) -> None:
        """A heartbeat is sent: behind everything that was acknowledged so far."""
        self._generation += 1

    def beat_returned(self) -> None:
        """It came back: what was acknowledged before it cannot be delivered again."""
        self._handled = OrderedDict((k, g) for k, g in self._handled.items() if g >= self._generation)

    def forget(self) -> None:
        """The broker knows no session of ours: nothing will be delivered again."""
        self._handled.clear()
