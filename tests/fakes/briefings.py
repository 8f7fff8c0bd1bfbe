"""A house for briefings: a clock, a network whose answers a test decides, and a folder of last good values."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from zoneinfo import ZoneInfo

from daemon.briefings.composer import compose
from daemon.briefings.fetcher import Answer
from daemon.briefings.gathering import Gatherer
from daemon.briefings.memory import LastGood
from daemon.briefings.plan import plan_of
from daemon.config import parse_config
from daemon.errors import SectionError
from tests.fakes.clock import FakeClock

TOKYO = ZoneInfo("Asia/Tokyo")


def at(text: str) -> datetime:
    """A moment in Tokyo."""
    return datetime.fromisoformat(text).replace(tzinfo=TOKYO)


class FakeNetwork:
    """Answers by the beginning of an address: JSON values, texts, answers, errors, or functions that are awaited."""

    def __init__(self, **answers) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.headers: list[dict[str, str] | None] = []

    async def get(self, url, *, accept, limit, headers=None):
        self.asked.append(url)
        self.headers.append(headers)
        missing = SectionError("the host answers 404")
        answer = next((answer for start, answer in self.answers.items() if url.startswith(start)), missing)
        if callable(answer):
            answer = await answer()
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Answer):
            return answer
        if isinstance(answer, str):
            return Answer(answer.encode(), "text/plain", "utf-8")
        return Answer(json.dumps(answer).encode(), "application/json")


class House:
    def __init__(self, folder, now="2026-12-01T07:00:00") -> None:
        self.clock = FakeClock(at(now))
        self.network = FakeNetwork()
        self.topics: dict[str, tuple[str, datetime]] = {}
        self.memory = LastGood(folder / "briefings")
        self.calendar = parse_config("timezone: Asia/Tokyo").calendar
        self.gatherer = Gatherer(
            clock=self.clock,
            calendar=lambda: self.calendar,
            fetcher=self.network,
            memory=self.memory,
            topics=lambda: self.topics,
        )

    def briefing(self, sections, **keys):
        """The configuration of a briefing; sections as YAML, one a line."""
        lines = "".join(f"      - {section}\n" for section in sections)
        more = "".join(f"    {key}: {value}\n" for key, value in keys.items())
        return parse_config(f"briefings:\n  morning:\n{more}    sections:\n{lines}").briefings["morning"]

    def plan(self, *sections, **keys):
        return plan_of("morning", self.briefing(sections, **keys))

    async def compose(self, plan, due=None):
        due = due or self.clock.now()
        gathered = await self.gatherer.gather(plan, due)
        return compose(gathered, self.gatherer.surroundings(plan, due))

    def tell(self, *sections, due=None, **keys):
        """What a briefing of these sections comes to."""
        return asyncio.run(self.compose(self.plan(*sections, **keys), due))

    def message(self, topic, text, minutes_ago=0.0):
        from datetime import timedelta

        self.topics[topic] = (text, self.clock.now() - timedelta(minutes=minutes_ago))
