"""A heartbeat through the broker: only a message that comes back proves that messages get through.

It is published retained, with the name of the process: one that finds another's name on its own topic when it comes
back knows that it has a twin, which a broker of MQTT 3.1.1 (and mosquitto 2.0) would not tell.
"""

from __future__ import annotations

import os
import secrets
import socket

LOST_AFTER = 2
"""So many heartbeats in a row that do not come back, and the connection is taken for dead."""


class Heartbeat:
    """Sends a message to ourselves and waits for it. Knows no clock and no connection; both are the caller's.

    A broker whose access rules keep the topic from us never returns one. That is told, and nothing is concluded from
    it: only silence after an answer means that something broke.
    """

    def __init__(self) -> None:
        self._instance = f"{socket.gethostname()}/{os.getpid()}"
        self._sent: tuple[str, float] | None = None
        self._sent_any = False
        self._came_back = False
        self._missed = 0
        self._answered = False
        self._passed: float | None = None
        self._returns = False
        self.round_trip: float | None = None

    @property
    def state(self) -> str:
        """``ok``, ``lost`` (it came back before), or ``unanswered`` (it never did on this connection)."""
        if self._answered:
            return "lost" if self._missed >= LOST_AFTER else "ok"
        return "unanswered"

    def connected(self, now: float) -> None:
        """A connection is new, at a moment of the monotonic clock: what was sent before says nothing about it."""
        self._came_back = self._sent_any
        self._sent = None
        self._missed = 0
        self._answered = False
        self._passed = now if self._returns else None
        self.round_trip = None

    def beat(self, now: float) -> str:
        """The next message to send, at a moment of the monotonic clock in seconds."""
        if self._sent is not None:
            self._missed += 1
        self._sent = (f"{self._instance} {secrets.token_hex(6)}", now)
        self._sent_any = True
        return self._sent[0]

    def heard(self, payload: str, now: float) -> bool:
        """A message came back; returns whether it is the one that was sent last."""
        if self._sent is None or payload != self._sent[0]:
            return False  # an old one, or somebody else's
        self.round_trip = now - self._sent[1]
        self._passed = self._sent[1]
        self._returns = True
        self._sent = None
        self._missed = 0
        self._answered = True
        return True

    def held_back(self, now: float, period: float) -> float:
        """How long, at least, the way from the broker held back a message that arrives now, in seconds.

        A connection keeps its order: had the way been free, the heartbeat of the last period would have come back
        before the message. Nothing is known of a broker that never returned one.
        """
        return 0.0 if self._passed is None else max(0.0, now - self._passed - period)

    def twin(self, retained: str) -> str | None:
        """Who else sent a heartbeat on our topic after we had, by the one that the broker kept; None for nobody."""
        other = retained.partition(" ")[0]
        return other if self._came_back and other and other != self._instance else None

    @property
    def unanswered(self) -> bool:
        """Whether so many were sent on this connection without one coming back that it is worth a word."""
        return not self._answered and self._missed >= LOST_AFTER
