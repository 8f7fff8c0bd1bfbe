"""The topics of a node (see the table in docs/mqtt.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topics:
    """Where a node listens and speaks.

    Attributes:
        root: of all nodes, such as ``asagoe``.
        node: this node's name.
        groups: groups that it answers to, besides ``all``.
    """

    root: str
    node: str
    groups: Sequence[str] = ()

    @property
    def own(self) -> str:
        """The node's own base topic."""
        return f"{self.root}/{self.node}"

    @property
    def names(self) -> frozenset[str]:
        """What an announcement may call this node."""
        return frozenset({self.node, *self.groups})

    def out(self, name: str) -> str:
        """A topic that the node publishes: availability, state, event."""
        return f"{self.own}/{name}"

    @property
    def filters(self) -> list[str]:
        """What to subscribe to; no two of them match the same topic."""
        return [f"{base}/{suffix}" for base in self._bases for suffix in ("announce", "do/+", "set/#")]

    def command(self, topic: str) -> str | None:
        """The part of an incoming topic after the base, such as ``do/stop``."""
        for base in self._bases:
            if topic.startswith(f"{base}/"):
                return topic[len(base) + 1 :]
        return None

    @property
    def _bases(self) -> list[str]:
        groups = [f"{self.root}/group/{name}" for name in self.groups]
        return list(dict.fromkeys([self.own, f"{self.root}/all", *groups]))
