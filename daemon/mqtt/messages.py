"""What goes between the service and a broker, and the face of a connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message from the broker.

    Attributes:
        topic: it was published to.
        payload: its bytes.
        retained: whether the broker had kept it: it is old, nobody sent it just now.
        accepted: call when the message needs no second delivery.
        expires_in: seconds for which it is still good by the sender's MQTT 5 property, or None.
    """

    topic: str
    payload: bytes
    retained: bool
    accepted: Callable[[], None] = field(default=lambda: None, repr=False)
    expires_in: float | None = None


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes when the connection breaks."""

    topic: str
    payload: str


class Broker(Protocol):
    """A connection that keeps itself up. All calls and callbacks are on the event loop."""

    def start(self) -> None:
        """Begin to connect, and to reconnect for ever."""

    async def stop(self) -> None:
        """Send what is waiting, for a moment, and disconnect cleanly."""

    def publish(self, topic: str, payload: str | bytes, *, retain: bool = False, qos: int = 1) -> None:
        """Publish, or queue while the connection is down; QoS 0 is dropped then."""

    def listen(self, *, more: Sequence[str] = (), less: Sequence[str] = ()) -> None:
        """Listen to more topics, and to some no longer, at once and on every connection to come."""

    @property
    def connected(self) -> bool:
        """Whether messages get through now."""

    def report(self) -> dict[str, Any]:
        """How it is, fit for JSON."""
