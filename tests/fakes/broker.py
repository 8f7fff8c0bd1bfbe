"""A broker in memory."""

from __future__ import annotations


class FakeBroker:
    def __init__(self):
        self.published: list[tuple[str, str, bool]] = []
        self.connected = True
        self.listened: list[tuple[list[str], list[str]]] = []

    def start(self) -> None:
        pass

    async def stop(self) -> None:
        self.connected = False

    def publish(self, topic: str, payload: str, *, retain: bool = False, qos: int = 1) -> None:
        self.published.append((topic, payload, retain))

    def listen(self, *, more=(), less=()) -> None:
        self.listened.append((list(more), list(less)))

    def report(self):
        return {"connected": self.connected}

    def of(self, topic: str) -> list[str]:
        return [payload for name, payload, _ in self.published if name == topic]
