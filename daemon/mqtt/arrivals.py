"""How old a message is when it arrives, and whether it was here before."""

from __future__ import annotations

from dataclasses import replace

from daemon.mqtt.heartbeat import Heartbeat
from daemon.mqtt.messages import Incoming
from daemon.mqtt.redelivery import Redelivery


class Arrivals:
    """What is known of the messages of a session, over its connections. Knows no clock; moments are the caller's.

    Args:
        heartbeat: proves the way through the broker.
        period: seconds between two heartbeats.
    """

    def __init__(self, heartbeat: Heartbeat, period: float) -> None:
        self._heartbeat = heartbeat
        self._period = period
        self._redelivery = Redelivery()
        self._heard_at: float | None = None  # last, on a connection that was caught up with
        self._heard_before: float | None = None  # the same, when this connection began

    @property
    def redelivered(self) -> int:
        """How many messages came again."""
        return self._redelivery.count

    def connected(self, *, session_present: bool) -> None:
        """A connection begins; the broker says whether it still knows what it has sent before."""
        self._heard_before = self._heard_at
        if not session_present:
            self._redelivery.forget()

    def aged(self, message: Incoming, now: float, *, again: bool) -> Incoming:
        """A message with the time that it is still good for, as well as that can be known.

        Args:
            message: as it arrived.
            now: of the monotonic clock.
            again: whether the broker says that it may have delivered it before.
        """
        left = message.expires_in
        if left is not None and again and self._heard_before is not None:
            # What had begun to be delivered may come again at any age, with the time that was left at first. It was
            # sent after the last thing that we heard on an earlier connection: so old it may be by now.
            left -= now - self._heard_before
        elif left is not None:  # the broker counted until it sent the message; the way may have been long
            left -= self._heartbeat.held_back(now, self._period)
        if self._heartbeat.state == "ok" or self._heartbeat.unanswered:  # else older things may still be on their way
            self._heard_at = now
        return message if left is None else replace(message, expires_in=max(0.0, left))

    def is_repeated(self, message: Incoming, identifier: int, *, again: bool) -> bool:
        """Whether a message at QoS 1 was handled before; if not, it is remembered."""
        return self._redelivery.is_repeated(identifier, again, message.topic, message.payload)

    def beat(self) -> None:
        """A heartbeat is sent."""
        self._redelivery.beat()

    def beat_returned(self, now: float) -> None:
        """It came back."""
        self._redelivery.beat_returned()
        self._heard_at = now
