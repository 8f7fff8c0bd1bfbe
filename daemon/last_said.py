"""What was said last, and how long it took: for people and dashboards."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from zoneinfo import ZoneInfo

from daemon import events
from daemon.clock import Clock
from daemon.events import Event

_REMEMBERED = 200
_NOT_TOLD = frozenset({"alarm"})
"""Origins that are no announcements to people who ask what was said: each round of an alarm is one."""


class LastSaid:
    """Listens to events. All calls are on the event loop.

    Args:
        clock: of the moments.
        zone: in which they are told.
    """

    def __init__(self, clock: Clock, zone: ZoneInfo) -> None:
        self._clock = clock
        self._zone = zone
        self._texts: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._last: dict[str, Any] | None = None

    def on_event(self, event: Event) -> None:
        """Take note of an event."""
        if event.id is None:
            return
        if event.type == events.ACCEPTED and event.details.get("origin") not in _NOT_TOLD:
            self._texts[event.id] = (str(event.details.get("text", "")), str(event.details.get("origin", "")))
            while len(self._texts) > _REMEMBERED:
                self._texts.popitem(last=False)
        elif event.type == events.STARTED and event.id in self._texts:
            text, origin = self._texts[event.id]
            self._last = {
                "id": event.id,
                "text": text,
                "origin": origin,
                "at": self._clock.now().astimezone(self._zone).isoformat(timespec="seconds"),
                "speaker": event.details.get("speaker"),
                "outcome": None,
                "rendered_ms": None,
            }
        elif event.type in events.TERMINAL:
            self._texts.pop(event.id, None)
            if self._last is not None and self._last["id"] == event.id:
                rendered = event.details.get("rendered_ms")
                self._last = self._last | {"outcome": event.type, "rendered_ms": rendered}

    def snapshot(self) -> dict[str, Any]:
        """For the state of the node, fit for JSON."""
        return {"last_announcement": None if self._last is None else dict(self._last)}
