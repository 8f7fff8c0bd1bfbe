"""Briefings as announcements: prepared ahead, told at their moment, paused, gone on with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from daemon import events
from daemon.announcement import Announcement, Priority, new_id
from daemon.announcer import Announcer
from daemon.briefings.composer import Composed, compose
from daemon.briefings.gathering import Gathered, Gatherer
from daemon.briefings.plan import Plan, plan_of
from daemon.clock import Clock
from daemon.config import AnnouncementDefaults, BriefingConfig
from daemon.errors import RequestError
from daemon.events import Event, Events
from daemon.renderer import Renderer
from daemon.substitution import render_ahead
from engine import EngineError

_log = logging.getLogger("asagoe.briefings")

GOOD_FOR = 20 * 60.0
"""Seconds for which what was fetched ahead is told without fetching it again: an alarm may ring before it."""
NEAR = timedelta(minutes=1)
"""A briefing that begins so near to its due moment is told as of that moment: at 7:00:01 it is still 7 o'clock."""

SPEECH = frozenset({"style", "speed", "pitch", "intonation"})
MANNER = SPEECH | {"speaker", "volume", "chime", "end_chime", "priority"}
"""The keys that a briefing, or what starts it, may have about how it is told."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A briefing whose data are being fetched, or are there.

    Attributes:
        gathering: the data to come.
        begun: monotonic clock.
    """

    gathering: asyncio.Task[Gathered]
    begun: float


class Briefer:
    """Makes announcements of briefings. All calls are on the event loop.

    Args:
        clock: of the moments for which briefings are composed.
        gatherer: fetches what they tell of.
        renderer: renders ahead.
        announcer: tells them.
        bus: told of a briefing that has nothing to say.
        start: runs work beside everything else, under a name.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        gatherer: Gatherer,
        renderer: Renderer,
        announcer: Announcer,
        bus: Events,
        start: Callable[[Coroutine[Any, Any, None], str], None],
    ) -> None:
        self._clock = clock
        self._gatherer = gatherer
        self._renderer = renderer
        self._announcer = announcer
        self._bus = bus
        self._start = start
        self._plans: dict[str, Plan] = {}
        self._defaults = AnnouncementDefaults()
        self._prepared: dict[str, _Prepared] = {}
        self._coming: dict[str, str] = {}  # id of the announcement, by the name of a briefing that is being gathered
        self.last: dict[str, Composed] = {}

    def configure(self, briefings: Mapping[str, BriefingConfig], defaults: AnnouncementDefaults) -> None:
        """Take over a configuration; what is being told goes on."""
        self._plans = {name: plan_of(name, config) for name, config in briefings.items()}
        self._defaults = defaults
        for name in list(self._prepared):
            self._forget(name)

    @property
    def names(self) -> list[str]:
        """The briefings that there are."""
        return list(self._plans)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the house that they ask for."""
        return tuple(dict.fromkeys(topic for plan in self._plans.values() for topic in plan.topics))

    @property
    def sections(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """By the name of a briefing, name and kind of each of its sections."""
        return {
            name: tuple((planned.id, planned.config.keys.kind) for planned in plan.sections)
            for name, plan in self._plans.items()
        }

    async def preview(self, name: str) -> Composed:
        """Fetch and compose a briefing as of now, and say nothing.

        Raises:
            RequestError: there is no such briefing.
        """
        plan, now = self._plan(name), self._clock.now()
        return compose(await self._gatherer.gather(plan, now), self._gatherer.surroundings(plan, now))

    async def prepare(self, name: str, due: datetime, over: Mapping[str, Any] | None = None) -> None:
        """Fetch, compose and render a briefing before it is due. Nothing of it can fail, only be left out.

        Args:
            name: of the briefing.
            due: when it will be told.
            over: keys of ``MANNER`` that go before the briefing's own.

        Raises:
            RequestError: there is no such briefing.
        """
        plan = self._plan(name)
        self._forget(name)
        gathering = asyncio.create_task(self._gatherer.gather(plan, due), name=f"gather {name}")
        self._prepared[name] = _Prepared(gathering, self._clock.monotonic())
        try:
            gathered = await asyncio.shield(gathering)
        except asyncio.CancelledError:
            if gathering.cancelled():  # the configuration changed
                return
            raise
        composed = compose(gathered, self._gatherer.surroundings(plan, due))
        if not composed.texts:
            return
        try:
            fresh = await render_ahead(self._announcement(plan, composed, new_id(), None, over), self._renderer)
        except EngineError as error:
            _log.warning("the briefing %s cannot be rendered ahead: %s", name, error)
        else:
            _log.debug("the briefing %s is rendered ahead, %d new sentences", name, fresh)

    def run(
        self,
        name: str,
        *,
        due: datetime | None = None,
        announcement_id: str | None = None,
        over: Mapping[str, Any] | None = None,
    ) -> str:
        """Tell a briefing, with what was prepared, or fetched now.

        Args:
            name: of the briefing.
            due: the moment at which it is to begin, where there is one.
            announcement_id: of the announcement that it becomes; default: a new one.
            over: keys of ``MANNER`` that go before the briefing's own.

        Returns:
            The id of the announcement; of the one that is being made already, where there is one.

        Raises:
            RequestError: there is no such briefing.
        """
        plan = self._plan(name)
        if name in self._coming:
            return self._coming[name]
        chosen = self._coming[name] = announcement_id or new_id()
        self._start(self._tell(plan, due, chosen, over), f"briefing {name}")
        return chosen

    def pause(self) -> str:
        """Hold the briefing that is being told; returns the id of its announcement.

        Raises:
            RequestError: none is.
        """
        self._telling()
        return self._done(self._announcer.pause())

    def resume(self) -> str:
        """Go on with what was paused, at its sentence; returns the id of its announcement.

        Raises:
            RequestError: nothing was.
        """
        resumed = self._announcer.resume()
        if resumed is None:
            message = "no briefing is paused"
            raise RequestError(message)
        return resumed

    def next_section(self) -> str:
        """Go on with the next section; after the last the briefing ends. Returns the id of its announcement.

        Raises:
            RequestError: no briefing is being told.
        """
        self._telling()
        return self._done(self._announcer.next_section())

    def stop(self) -> list[str]:
        """End the briefing that is being told, is paused, or is being made; returns the ids."""
        ended = list(self._coming.values())
        self._coming.clear()  # whatever is being made finds that nobody wants it any more
        for announcement in (self._announcer.held, self._announcer.current):
            if announcement is not None and announcement.sections:
                self._announcer.cancel(announcement.id, "stopped")
                ended.append(announcement.id)
        return ended

    # Details.

    async def _tell(self, plan: Plan, due: datetime | None, chosen: str, over: Mapping[str, Any] | None) -> None:
        try:
            gathered = await self._gathered(plan, due)
            moment = self._moment(due)
            # What changes after the preparation: the clock, the topics of the house. The rest is in the phrase cache.
            gathered = await self._gatherer.refresh(gathered, moment)
            composed = compose(gathered, self._gatherer.surroundings(plan, moment))
            wanted = self._coming.get(plan.name) == chosen
        finally:
            if self._coming.get(plan.name) == chosen:
                del self._coming[plan.name]
        self.last[plan.name] = composed
        left_out = {part.section: part.left_out_because for part in composed.parts if part.left_out_because}
        _log.info("briefing %s: %d sections; left out: %s", plan.name, len(composed.texts), left_out or "nothing")
        if not wanted:
            self._drop(chosen, plan.name, "stopped", left_out)
        elif not composed.texts:
            self._drop(chosen, plan.name, "the briefing has nothing to say", left_out)
        else:
            self._announcer.submit(self._announcement(plan, composed, chosen, due, over))

    async def _gathered(self, plan: Plan, due: datetime | None) -> Gathered:
        prepared = self._prepared.get(plan.name)
        if prepared is not None and self._clock.monotonic() - prepared.begun > GOOD_FOR:
            self._forget(plan.name)
            prepared = None
        if prepared is None:
            return await self._gatherer.gather(plan, due or self._clock.now())
        if due is not None:  # one that somebody asks for in between leaves it for the moment it was prepared for
            del self._prepared[plan.name]
        try:
            return await asyncio.shield(prepared.gathering)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not prepared.gathering.cancelled() or (task is not None and task.cancelling()):
                raise
        return await self._gatherer.gather(plan, due or self._clock.now())  # the configuration changed meanwhile

    def _moment(self, due: datetime | None) -> datetime:
        now = self._clock.now()
        return due if due is not None and abs(now - due) <= NEAR else now

    def _announcement(
        self, plan: Plan, composed: Composed, chosen: str, due: datetime | None, over: Mapping[str, Any] | None
    ) -> Announcement:
        keys = plan.config.model_dump(include=set(MANNER), exclude_none=True) | dict(over or {})
        ahead = (due - self._clock.now()).total_seconds() if due is not None else 0.0
        priority = Priority.named(keys.get("priority", self._defaults.priority))
        return Announcement(
            id=chosen,
            text=composed.text,
            origin="briefing",
            received=self._clock.now(),
            received_at=self._clock.monotonic(),
            priority=priority,
            interrupt=priority is Priority.CRITICAL,
            speaker=keys.get("speaker"),
            options=MappingProxyType({key: keys[key] for key in SPEECH if key in keys}),
            volume=keys.get("volume"),
            chime=keys.get("chime", self._defaults.chime),
            end_chime=keys.get("end_chime", self._defaults.end_chime),
            max_wait=self._defaults.expires_in + max(0.0, ahead),
            start_at=self._clock.monotonic() + ahead if ahead > 0 else None,
            sections=composed.texts,
        )

    def _drop(self, chosen: str, name: str, reason: str, left_out: Mapping[str, str | None]) -> None:
        details = MappingProxyType({"briefing": name, "left_out": left_out})
        self._bus.emit(Event(events.DROPPED, chosen, reason, details))

    def _telling(self) -> None:
        if self._announcer.current is None or not self._announcer.current.sections:
            message = "no briefing is being told"
            raise RequestError(message)

    @staticmethod
    def _done(announcement_id: str | None) -> str:
        if announcement_id is None:
            message = "the briefing is being interrupted; try again"
            raise RequestError(message)
        return announcement_id

    def _plan(self, name: str) -> Plan:
        if name not in self._plans:
            message = f"there is no briefing {name[:64]!r}; there are {', '.join(self._plans) or 'none'}"
            raise RequestError(message)
        return self._plans[name]

    def _forget(self, name: str) -> None:
        prepared = self._prepared.pop(name, None)
        if prepared is not None:
            prepared.gathering.cancel()
