"""Schedule entries that say something or tell a briefing: rendered ahead, and said at their moment."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from daemon import events
from daemon.announcement import new_id
from daemon.announcer import Announcer
from daemon.briefings.briefer import MANNER, Briefer
from daemon.clock import Clock
from daemon.config import AnnouncementDefaults, ScheduleEntryConfig
from daemon.events import Event, Events
from daemon.renderer import Renderer
from daemon.schedule.entries import announcement_of
from daemon.schedule.scheduler import Entry, Missed, Occurrence
from daemon.service.tasks import Background
from daemon.substitution import render_ahead
from engine import EngineError

_log = logging.getLogger("asagoe.schedule")


class Speech:
    """Says what the schedule wants said. All calls are on the event loop.

    Args:
        clock: of its moments.
        announcer: says it.
        briefer: tells briefings.
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
        briefer: Briefer,
        renderer: Renderer,
        bus: Events,
        background: Background,
        defaults: Callable[[], AnnouncementDefaults],
    ) -> None:
        self._clock = clock
        self._announcer = announcer
        self._briefer = briefer
        self._renderer = renderer
        self._bus = bus
        self._background = background
        self._defaults = defaults

    def prepare(self, occurrence: Occurrence, item: ScheduleEntryConfig) -> None:
        """Render it into the cache."""
        if item.briefing is not None:
            self.prepare_briefing(item.briefing, occurrence.due, _manner(item))
            return
        announcement = announcement_of(occurrence, item, self._defaults(), self._clock)

        async def render() -> None:
            try:
                fresh = await render_ahead(announcement, self._renderer)
            except EngineError as error:
                _log.warning("%s cannot be rendered ahead: %s", occurrence.entry.id, error)
            else:
                _log.debug("%s is rendered ahead, %d new sentences", occurrence.entry.id, fresh)

        self._background.start(render(), f"prepare {occurrence.entry.id}")

    def prepare_briefing(self, name: str, due: datetime, over: Mapping[str, Any] | None = None) -> None:
        """Fetch, compose and render a briefing; one that there is no more is none."""
        if name in self._briefer.names:
            self._background.start(self._briefer.prepare(name, due, over), f"prepare the briefing {name}")

    def due(self, occurrence: Occurrence, item: ScheduleEntryConfig) -> None:
        """Say it."""
        announcement = announcement_of(occurrence, item, self._defaults(), self._clock)
        if item.briefing is not None:
            due, over = occurrence.due, _manner(item)
            self._briefer.run(item.briefing, due=due, announcement_id=announcement.id, over=over)
        else:
            self._announcer.submit(announcement)

    def now(self, entry_id: str, item: ScheduleEntryConfig) -> str:
        """Say it now, whatever its rule; returns the id of the announcement."""
        if item.briefing is not None:
            return self._briefer.run(item.briefing, over=_manner(item))
        occurrence = Occurrence(Entry(entry_id, item.rule(), timedelta()), self._clock.now())
        announcement = announcement_of(occurrence, item, self._defaults(), self._clock)
        chosen = new_id()
        self._announcer.submit(replace(announcement, id=chosen))
        return chosen

    def missed(self, missed: Missed, item: ScheduleEntryConfig) -> None:
        """Tell that it was too late to say it."""
        occurrence, late = missed.occurrence, round(missed.lateness)
        reason = f"noticed {late} s late, more than its grace of {occurrence.entry.grace.total_seconds():g} s"
        details = MappingProxyType({"entry": occurrence.entry.id, "count": missed.count})
        _log.warning("%s was missed: %s", occurrence.entry.id, reason)
        announcement = announcement_of(occurrence, item, self._defaults(), self._clock)
        self._bus.emit(Event(events.MISSED, announcement.id, reason, details))


def _manner(item: ScheduleEntryConfig) -> dict[str, Any]:
    """What an entry says about how it is told, before what the briefing says."""
    return item.model_dump(include=set(MANNER), exclude_none=True)
