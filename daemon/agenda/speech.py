"""Schedule entries that say something: rendered ahead, and said at their moment."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import MappingProxyType

from daemon import events
from daemon.announcer import Announcer
from daemon.clock import Clock
from daemon.config import AnnouncementDefaults, ScheduleEntryConfig
from daemon.events import Event, Events
from daemon.renderer import Renderer
from daemon.schedule.entries import announcement_of
from daemon.schedule.scheduler import Missed, Occurrence
from daemon.service.tasks import Background
from engine import EngineError

_log = logging.getLogger("asagoe.schedule")


class Speech:
    """Says what the schedule wants said. All calls are on the event loop.

    Args:
        clock: of its moments.
        announcer: says it.
        renderer: renders it ahead.
        bus: told of what was missed.
        background: for rendering ahead.
        defaults: of announcements, as they are now.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        announcer: Announcer,
        renderer: Renderer,
        bus: Events,
        background: Background,
        defaults: Callable[[], AnnouncementDefaults],
    ) -> None:
        self._clock = clock
        self._announcer = announcer
        self._renderer = renderer
        self._bus = bus
        self._background = background
        self._defaults = defaults

    def prepare(self, occurrence: Occurrence, item: ScheduleEntryConfig) -> None:
        """Render it into the cache."""
        announcement = announcement_of(occurrence, item, self._defaults(), self._clock)

        async def render() -> None:
            try:
                fresh = await self._renderer.render_ahead(announcement)
            except EngineError as error:
                _log.warning("%s cannot be rendered ahead: %s", occurrence.entry.id, error)
            else:
                _log.debug("%s is rendered ahead, %d new sentences", occurrence.entry.id, fresh)

        self._background.start(render(), f"prepare {occurrence.entry.id}")

    def due(self, occurrence: Occurrence, item: ScheduleEntryConfig) -> None:
        """Say it."""
        self._announcer.submit(announcement_of(occurrence, item, self._defaults(), self._clock))

    def missed(self, missed: Missed, item: ScheduleEntryConfig) -> None:
        """Tell that it was too late to say it."""
        occurrence, late = missed.occurrence, round(missed.lateness)
        reason = f"noticed {late} s late, more than its grace of {occurrence.entry.grace.total_seconds():g} s"
        details = MappingProxyType({"entry": occurrence.entry.id, "count": missed.count})
        _log.warning("%s was missed: %s", occurrence.entry.id, reason)
        announcement = announcement_of(occurrence, item, self._defaults(), self._clock)
        self._bus.emit(Event(events.MISSED, announcement.id, reason, details))
