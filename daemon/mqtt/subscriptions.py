"""What a connection listens to, also when that changes while it lives."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import paho.mqtt.client as paho
from paho.mqtt.reasoncodes import ReasonCode


class Subscriptions:
    """The filters of a connection, each with its QoS. Asked for on the event loop, answered in paho's thread.

    Args:
        lasting: filters at QoS 1: the broker keeps messages while we are away.
        passing: filters of messages that mean something only now, at QoS 0.
    """

    def __init__(self, lasting: Iterable[str], passing: Iterable[str]) -> None:
        self._filters = dict.fromkeys(lasting, 1) | dict.fromkeys(passing, 0)
        self._asked: dict[int | None, list[str]] = {}
        self._lock = threading.Lock()  # the broker's answer may come before the number of the question is known here

    def renew(self, client: paho.Client) -> None:
        """Ask for all of them, on a connection that is new."""
        with self._lock:
            self._asked.clear()
            self._ask(client, list(self._filters))

    def change(self, client: paho.Client | None, *, more: Iterable[str], less: Iterable[str]) -> None:
        """Listen to more topics, at QoS 1, and to some no longer.

        Args:
            client: that is connected; None if none is: the next connection will ask.
            more: filters; those that are known already are passed over.
            less: filters, of those that were asked for.
        """
        with self._lock:
            new = [topic for topic in more if topic not in self._filters]
            gone = [topic for topic in less if self._filters.get(topic) == 1]  # what passes is somebody else's wish
            self._filters = {topic: qos for topic, qos in self._filters.items() if topic not in gone}
            self._filters |= dict.fromkeys(new, 1)
            if client is not None and new:
                self._ask(client, new)
            if client is not None and gone:
                client.unsubscribe(gone)

    def refused(self, question: int, answers: Sequence[ReasonCode]) -> list[str]:
        """The filters that the broker does not grant, by its answer to a question."""
        with self._lock:
            topics = self._asked.pop(question, [])
        return [topic for topic, answer in zip(topics, answers, strict=False) if answer.is_failure]

    def _ask(self, client: paho.Client, topics: list[str]) -> None:
        _, question = client.subscribe([(topic, self._filters[topic]) for topic in topics])
        self._asked[question] = topics
