"""When what happened to an announcement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Timings:
    """When what happened to an announcement: seconds on the monotonic clock.

    Attributes:
        received: it came in.
        rendered: its first sentence was ready.
        first_sample: its first sample was written.
        ended: its last sample left the device.
        sentences: how many were rendered.
        cached: how many of them came from the phrase cache.
    """

    received: float
    rendered: float | None = None
    first_sample: float | None = None
    ended: float | None = None
    sentences: int = 0
    cached: int = 0

    def sentence(self, moment: float, *, cached: bool) -> None:
        """A sentence was ready at a moment of the monotonic clock."""
        self.sentences += 1
        self.cached += cached
        if self.rendered is None:
            self.rendered = moment

    def as_json(self) -> dict[str, Any]:
        """Milliseconds since it was received."""

        def since(moment: float | None) -> int | None:
            return None if moment is None else round((moment - self.received) * 1000)

        return {
            "rendered_ms": since(self.rendered),
            "first_sample_ms": since(self.first_sample),
            "ended_ms": since(self.ended),
            "sentences": self.sentences,
            "cached": self.cached,
        }
