"""Sources are fetched side by side before they are needed; where one fails, its last good value stands in."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from daemon.briefings.fetcher import Answer, Fetcher, WebDavFetcher
from daemon.briefings.memory import Kept, LastGood
from daemon.briefings.plan import Plan, Planned
from daemon.briefings.section import Surroundings
from daemon.clock import Clock
from daemon.config.secrets import without_secrets
from daemon.errors import SectionError, TemplateFault
from daemon.schedule.calendar import Calendar

_log = logging.getLogger("asagoe.briefings")

REFRESH = 2.0
"""Seconds for which a source is waited for when the briefing is to begin."""

_FUTURE = timedelta(minutes=5)
"""Data that seem to come from further ahead than this were kept by a clock that was wrong: their age is unknown."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a section's source gave.

    Attributes:
        kept: good data, fresh or old; None when there are none.
        fresh: whether they were fetched now.
        problem: why they were not.
        skipped: why nothing was fetched: its condition does not hold.
        source: the hosts that were asked.
        seconds: that it took.
    """

    kept: Kept | None = None
    fresh: bool = False
    problem: str | None = None
    skipped: str | None = None
    source: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Gathered:
    """The data of a briefing, before they are words.

    Attributes:
        plan: of the briefing.
        found: a section each.
    """

    plan: Plan
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Fetches what briefings tell of. All calls are on the event loop.

    Attributes:
        clock: of ages and times taken.
        calendar: gives zone and holidays.
        fetcher: the way to the network.
        memory: last good values.
        topics: gives the last messages of the house, by topic.
    """

    clock: Clock
    calendar: Callable[[], Calendar]
    fetcher: Fetcher
    memory: LastGood
    topics: Callable[[], Mapping[str, tuple[str, datetime]]] = field(default=dict)

    def surroundings(self, plan: Plan, due: datetime) -> Surroundings:
        """What the sections of a briefing may use."""
        calendar = self.calendar()
        return Surroundings(
            due=due.astimezone(calendar.zone),
            zone=calendar.zone,
            language=plan.config.language,
            fetcher=self.fetcher,
            topics=self.topics(),
            holiday=calendar.name_of,
        )

    async def gather(self, plan: Plan, due: datetime) -> Gathered:
        """Fetch all sources side by side, for at most the briefing's deadline; never fails."""
        surroundings = self.surroundings(plan, due)
        longest = plan.config.deadline
        found = await asyncio.gather(*(self._found(section, plan, surroundings, longest) for section in plan.sections))
        return Gathered(plan, tuple(found))

    async def refresh(self, gathered: Gathered, due: datetime) -> Gathered:
        """Shortly before it is told: look again at the conditions, and at the topics of the house.

        A section whose condition did not hold and now does is fetched, for a moment; nobody should wait for it.
        """
        surroundings = self.surroundings(gathered.plan, due)
        calendar = self.calendar()

        async def look(planned: Planned, found: Found) -> Found:
            reason = _out_of_time(planned, surroundings, calendar)
            if reason is not None:
                return replace(found, skipped=reason)
            if found.skipped is None and not planned.listening:
                return found
            return await self._found(planned, gathered.plan, surroundings, REFRESH)

        pairs = zip(gathered.plan.sections, gathered.found, strict=True)
        return replace(gathered, found=tuple(await asyncio.gather(*(look(*pair) for pair in pairs))))

    async def _found(self, planned: Planned, plan: Plan, surroundings: Surroundings, longest: float) -> Found:
        reason = _out_of_time(planned, surroundings, self.calendar())
        if reason is not None:
            return Found(skipped=reason)
        hosts: list[str] = []
        last = await asyncio.to_thread(self.memory.get, planned.config.keys.kind, planned.config.settings)
        fetcher = _Watched(surroundings.fetcher, hosts)
        watched = replace(surroundings, fetcher=fetcher, last=last.data if last is not None else None)
        started = self.clock.monotonic()
        allowed = min(planned.config.keys.timeout, longest)
        data, problem = await _within(allowed, planned, watched)
        if problem is None:
            problem = _unusable(planned, data, surroundings)
        # Sections do not repeat secrets; whatever they raise, this holds for those of other packages too.
        problem = problem and without_secrets(problem, planned.config.settings)
        seconds = self.clock.monotonic() - started
        source = ", ".join(dict.fromkeys(hosts)) or None
        keys, settings = planned.config.keys, planned.config.settings
        if problem is None:
            kept = Kept(data, self.clock.now(), source)
            if keys.max_age and data is not None:
                try:
                    await asyncio.to_thread(self.memory.put, keys.kind, settings, kept)
                except TypeError as error:
                    _log.error("a defect in the section %s: its data are not fit for JSON: %s", planned.id, error)
            return Found(kept, fresh=True, source=source, seconds=seconds)
        _log.warning("briefing %s: no data for the section %s: %s", plan.name, planned.id, problem)
        old = await asyncio.to_thread(self.memory.get, keys.kind, settings) if keys.max_age else None
        if old is not None and not self._still_good(old, surroundings.due, timedelta(seconds=keys.max_age)):
            old = None
        return Found(old, problem=problem, source=source or (old.source if old else None), seconds=seconds)

    def _still_good(self, kept: Kept, due: datetime, max_age: timedelta) -> bool:
        return kept.fetched <= self.clock.now() + _FUTURE and due - kept.fetched <= max_age


class _Watched:
    """A fetcher that notes the hosts that are asked: never more of an address, which may hold a secret."""

    def __init__(self, fetcher: Fetcher, hosts: list[str]) -> None:
        self._fetcher = fetcher
        self._hosts = hosts

    async def get(
        self, url: str, *, accept: tuple[str, ...], limit: int, headers: Mapping[str, str] | None = None
    ) -> Answer:
        self._note(url)
        return await self._fetcher.get(url, accept=accept, limit=limit, headers=headers)

    async def request(
        self,
        method: str,
        url: str,
        *,
        accept: tuple[str, ...],
        limit: int,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        self._note(url)
        if not isinstance(self._fetcher, WebDavFetcher):
            raise SectionError(f"there is no way to ask with {method}")
        return await self._fetcher.request(method, url, accept=accept, limit=limit, headers=headers, content=content)

    def _note(self, url: str) -> None:
        try:
            self._hosts.append(urlsplit(url).hostname or "?")
        except ValueError:
            self._hosts.append("?")


async def _within(seconds: float, planned: Planned, surroundings: Surroundings) -> tuple[Any, str | None]:
    """The data of a section, or the reason why there are none in time.

    A section that does not let itself be cancelled is left behind, not waited for.
    """
    task = asyncio.ensure_future(planned.section.fetch(surroundings))
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)
    if not task.done():
        return None, f"no answer within {seconds:g} s"
    try:
        return task.result(), None
    except SectionError as error:
        return None, str(error)
    except asyncio.CancelledError:
        return None, "it gave up by itself"
    except Exception as error:  # noqa: BLE001 - a section may be another package's: it fails alone
        return None, defect(planned, error)


def _forget(task: asyncio.Future[Any]) -> None:
    """Look at the end of a task that nobody waits for, so that asyncio does not complain of it."""
    if not task.cancelled():
        task.exception()


def _unusable(planned: Planned, data: Any, surroundings: Surroundings) -> str | None:
    """Why fresh data cannot be told, so that older ones may stand in; None when they can."""
    try:
        planned.section.facts(data, surroundings)
    except SectionError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a section may be another package's: it fails alone
        return defect(planned, error)
    return None


def _out_of_time(planned: Planned, surroundings: Surroundings, calendar: Calendar) -> str | None:
    """Why a section is not told, as far as that can be known without its facts; nothing need be fetched then."""
    when = planned.config.keys.when
    if when is None:
        return None
    reason = when.holds_at(surroundings.due, calendar)
    if reason is not None:
        return reason
    shared = shared_facts(surroundings)
    condition = planned.condition
    if condition is None or not condition.names <= shared.keys():
        return None
    missing = [topic for topic in condition.topics if topic not in shared["topics"]]
    if missing:
        return f"its condition asks for {', '.join(missing)}, of which there is no value yet"
    try:
        return None if condition.holds(shared) else f"its condition does not hold: {condition.source}"
    except TemplateFault as error:
        return str(error)


def shared_facts(surroundings: Surroundings) -> dict[str, Any]:
    """What all templates and conditions see."""
    topics = {topic: text for topic, (text, _) in surroundings.topics.items()}
    return {"due": surroundings.due, "now": surroundings.due, "topics": topics}


def defect(planned: Planned, error: Exception) -> str:
    """A sentence without the error's own words, which may repeat a password; its place goes to the log."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    kind = type(error).__name__
    _log.error("a defect in the section %s: %s at %s", planned.id, kind, place)
    return f"a defect in the section: {kind}"
