"""Tells watchers outside the service's loop what happens, as it happens."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from daemon.events import Event

_log = logging.getLogger("asagoe.service")

Watcher = Callable[[str, dict[str, Any] | None], None]
"""Called with "event" and the event as a JSON object, or with "change" and None: the state is another."""


class Feed:
    """Hands on events and changes. All calls are on the service's loop."""

    def __init__(self) -> None:
        self._watchers: tuple[Watcher, ...] = ()

    def watch(self, watcher: Watcher) -> None:
        """Tell somebody from now on; he must return at once. One whose loop has ended is forgotten."""
        self._watchers += (watcher,)

    def on_event(self, event: Event) -> None:
        """Hand on an event."""
        self._tell("event", event.as_json())

    def on_change(self) -> None:
        """Say that the state has changed."""
        self._tell("change", None)

    def _tell(self, kind: str, body: dict[str, Any] | None) -> None:
        for watcher in self._watchers:
            try:
                watcher(kind, body)
            except RuntimeError:  # its event loop is closed
                _log.debug("a watcher is gone")
                self._watchers = tuple(other for other in self._watchers if other is not watcher)
