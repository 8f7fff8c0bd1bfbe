"""``asagoe briefing``: what a briefing would say, and why."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import date, datetime, timedelta
from pathlib import Path

from daemon.briefings.composer import Composed, Part, compose
from daemon.briefings.fetcher import Fetcher
from daemon.briefings.gathering import Gatherer
from daemon.briefings.http_fetcher import HttpFetcher
from daemon.briefings.memory import LastGood
from daemon.briefings.plan import plan_of
from daemon.cli.common import err, fail, out, printable, read_config, table
from daemon.clock import Clock, SystemClock
from daemon.config import Config
from daemon.config.values import parse_time_of_day
from daemon.folders import state_folder
from daemon.mqtt.house_topics import HouseTopics
from daemon.mqtt.topics import Topics
from engine import __version__


def show_briefing(
    explicit: Path | None, name: str | None, at: str | None, *, play: bool, explain: bool, as_json: bool
) -> int:
    """Fetch and compose a briefing, print or play it; without a name, list what there is. Returns the exit code."""
    config, _ = read_config(explicit)
    if name is None:
        return _list(config, as_json=as_json)
    if name not in config.briefings:
        return fail(f"there is no briefing {name!r}; there are {', '.join(config.briefings) or 'none'}")
    clock = SystemClock()
    try:
        due = _moment(at, clock.now().astimezone(config.zone))
        composed = asyncio.run(compose_now(config, name, due, clock, fetcher_of(config)))
    except ValueError as error:
        return fail(str(error))
    if as_json:
        print(json.dumps(as_object(composed), ensure_ascii=False))
    elif explain:
        _explain(composed)
    else:
        for text in composed.texts:
            out.print(printable(text), soft_wrap=True)
    if not composed.texts:
        err.print("the briefing has nothing to say; --explain shows why", style="yellow")
        return 0
    return _play(explicit, config, name, composed) if play else 0


def fetcher_of(config: Config) -> Fetcher:
    """The way to the network."""
    return HttpFetcher(__version__, house=lambda: config.own_hosts)


async def compose_now(config: Config, name: str, due: datetime, clock: Clock, fetcher: Fetcher) -> Composed:
    """Fetch all sources and put them into words, beside the running service, whose last good values are shared."""
    plan = plan_of(name, config.briefings[name])
    house = HouseTopics(clock, Topics(config.mqtt.base_topic, config.node, tuple(config.groups)), plan.topics)
    if plan.topics:
        await _listen(config, house)
    gatherer = Gatherer(
        clock=clock,
        calendar=lambda: config.calendar,
        fetcher=fetcher,
        memory=LastGood(state_folder() / "briefings"),
        topics=lambda: house.values,
    )
    logging.getLogger("asagoe.briefings").setLevel(logging.ERROR)  # what failed is in the explanation
    gathered = await gatherer.gather(plan, due)
    return compose(gathered, gatherer.surroundings(plan, due))


def as_object(composed: Composed) -> dict[str, object]:
    """A briefing as a JSON object."""
    return {
        "briefing": composed.name,
        "due": composed.due.isoformat(timespec="seconds"),
        "text": composed.text,
        "sections": [part.as_json() for part in composed.parts],
    }


async def _listen(config: Config, house: HouseTopics) -> None:
    """Ask the broker for the retained messages of the house; without one, there are none."""
    from daemon.cli.house import retained_messages

    for message in await asyncio.to_thread(retained_messages, config.mqtt, house.filters):
        house.on_message(message)


def _moment(at: str | None, now: datetime) -> datetime:
    """A moment from ``7:30`` (today, or tomorrow where that has passed), ``2026-12-31`` or ``2026-12-31T07:30``."""
    if at is None:
        return now
    try:
        day = date.fromisoformat(at)
    except ValueError:
        pass
    else:
        return datetime.combine(day, now.timetz())
    try:
        clock = parse_time_of_day(at)
    except ValueError:
        pass
    else:
        moment = datetime.combine(now.date(), clock, now.tzinfo)
        return moment if moment >= now else moment + timedelta(days=1)
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        message = f"--at: a moment such as 7:30, 2026-12-31 or 2026-12-31T07:30 is expected, got {at[:40]!r}"
        raise ValueError(message) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)


def _list(config: Config, *, as_json: bool) -> int:
    if as_json:
        for name, briefing in config.briefings.items():
            kinds = [section.keys.kind for section in briefing.sections]
            print(json.dumps({"briefing": name, "sections": briefing.section_ids, "kinds": kinds}, ensure_ascii=False))
        return 0
    if not config.briefings:
        out.print("There is no briefing. They are configured under briefings.")
        return 0
    found = table("briefing", "sections", "speaker", title="Briefings")
    for name, briefing in config.briefings.items():
        found.add_row(name, ", ".join(briefing.section_ids), briefing.speaker or config.speaker_name)
    out.print(found)
    return 0


def _explain(composed: Composed) -> None:
    rows = table("section", "source", "age", "took", "says", title=f"{composed.name}, {composed.due:%a %Y-%m-%d %H:%M}")
    for part in composed.parts:
        rows.add_row(*(printable(cell) for cell in _cells(part)))
    out.print(rows)


def _cells(part: Part) -> tuple[str, ...]:
    name = part.section if part.section == part.kind else f"{part.section} ({part.kind})"
    says = part.text if part.text is not None else f"left out: {part.left_out_because}"
    if part.instead_because is not None:
        says += f" [last good value: {part.instead_because}]"
    return name, part.source or "-", _age(part.age), f"{part.seconds:.2f} s", says


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 1:
        return "fresh"
    minutes = round(seconds / 60)
    return (
        f"{minutes // 60} h {minutes % 60} min"
        if minutes >= 60
        else f"{minutes} min"
        if minutes
        else f"{seconds:.0f} s"
    )


def _play(explicit: Path | None, config: Config, name: str, composed: Composed) -> int:
    from daemon.cli.say import say_text

    briefing = config.briefings[name]
    options = briefing.model_dump(include={"style", "speed", "pitch", "intonation"}, exclude_none=True)
    return say_text(explicit, "\n".join(composed.texts), briefing.speaker, options, briefing.volume, None)
