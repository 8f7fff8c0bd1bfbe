"""``asagoe next``: what the schedule brings, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from pathlib import Path

from daemon.agenda.agenda import Agenda
from daemon.cli.common import err, fail, out, printable, read_config, table
from daemon.clock import SystemClock
from daemon.config import Config
from daemon.errors import UnavailableError
from daemon.folders import state_folder
from daemon.schedule.calendar import Calendar
from daemon.schedule.entries import entries_of
from daemon.schedule.plan import Planned, left_out, planned
from daemon.schedule.planner import local_moment, next_occurrence
from daemon.schedule.scheduler import Entry
from daemon.store import Database, Records, read_records

_YEARS = range(1971, 2200)
_LOOKED_AT = 2_000
"""Occurrences of an entry that are looked at: a vacation of a rule for every minute ends somewhere."""


@dataclass(frozen=True, slots=True)
class Line:
    """One due moment of an entry, or several in a row that do not happen for one reason.

    Attributes:
        entry: its id.
        text: what is said.
        item: when (the first), and why not.
        times: how many there are.
    """

    entry: str
    text: str
    item: Planned
    times: int = 1


def show_next(explicit: Path | None, count: int, start: str | None, *, as_json: bool) -> int:
    """Print the coming occurrences; returns the exit code."""
    config, _ = read_config(explicit)
    calendar = config.calendar
    try:
        after = SystemClock().now() if start is None else parse_start(start, calendar)
    except ValueError as error:
        return fail(str(error))
    if as_json:
        for line in lines_of(entries_now(config), calendar, after, count):
            print(json.dumps(_as_json(line, calendar), ensure_ascii=False))
        return 0
    print_next(config, after, count)
    return 0


def entries_now(config: Config) -> list[tuple[Entry, str]]:
    """Entries with what is said: those of the configuration and those made at run time, with what people changed.

    What the service keeps is read where it can be; where it cannot, that is said.
    """
    try:
        records = read_records(state_folder() / "asagoe.db")
    except UnavailableError as error:
        err.print(f"{error}; skips, the vacation and alarms made at run time are not shown", style="yellow")
        records = Records(Database(None))
    texts = {name: text for name, (_, text) in entries_of(config).items()}
    found: list[Entry] = []
    agenda = Agenda(clock=SystemClock(), records=records, on_plan=lambda entries, _: found.extend(entries))
    agenda.configure(config)
    alarms = agenda.alarms
    return [(entry, texts.get(entry.id) or f"alarm: {alarms[entry.id].text}") for entry in found]


def parse_start(text: str, calendar: Calendar) -> datetime:
    """The moment just before a date, or a date and time; local where it has no offset.

    Raises:
        ValueError: anything else.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        moment = None
    if moment is None or moment.year not in _YEARS:
        message = f"--from wants a date or a time such as 2026-12-24 or 2026-12-24T06:45, got {text!r}"
        raise ValueError(message)
    if moment.tzinfo is None:
        moment = local_moment(moment.date(), moment.time(), calendar.zone)
    return moment.astimezone(UTC) - timedelta(microseconds=1)  # what is due at the moment itself is shown


def lines_of(entries: Sequence[tuple[Entry, str]], calendar: Calendar, after: datetime, count: int) -> list[Line]:
    """The next ``count`` occurrences, with what is left out between them, and the next one of what is disabled."""
    coming: list[Line] = []
    disabled: list[Line] = []
    for entry, text in entries:
        plan = planned(entry.rule, entry.exceptions, after, calendar)
        if entry.exceptions.enabled:
            coming += _lines(entry, text, _until_it_happens(plan, count))
        else:
            disabled += _lines(entry, text, islice(plan, 1))
    coming = _cut(coming, count)
    end = coming[-1].item.due if coming else after
    for entry, text in entries:
        if entry.exceptions.enabled:
            coming += _lines(entry, text, islice(left_out(entry.rule, after, end, calendar), _LOOKED_AT))
    return _sorted(coming + disabled)


def _lines(entry: Entry, text: str, items: Iterable[Planned]) -> Iterator[Line]:
    """A line for each moment that happens, and one for each row of moments that one reason keeps from happening."""
    for reason, group in groupby(items, key=lambda item: item.reason):
        row = list(group)
        if reason is None:
            yield from (Line(entry.id, text, item) for item in row)
        else:
            yield Line(entry.id, text, row[0], len(row))


def print_next(config: Config, after: datetime, count: int) -> None:
    """Print a table, or plain lines where nobody looks at a terminal."""
    calendar = config.calendar
    entries = entries_now(config)
    lines = lines_of(entries, calendar, after, count)
    for entry, _ in entries:
        if next_occurrence(entry.rule, after, calendar) is None:
            out.print(f"{entry.id} is never due again.")
    if not lines:
        out.print("Nothing is due." if entries else "The schedule is empty.")
        return
    rows = [
        (
            _when(line.item.due, calendar),
            _distance(after, line.item.due),
            line.entry,
            printable(line.text),
            _note(line, calendar),
        )
        for line in lines
    ]
    if not out.is_terminal:
        for row in rows:
            print("\t".join(row).rstrip())
        return
    shown = table("when", "in", "entry", "what", "note", title=f"Next ({calendar.zone.key})")
    for row, line in zip(rows, lines, strict=True):
        shown.add_row(*row, style="dim" if line.item.reason else None)
    out.print(shown)


def _until_it_happens(plan: Iterator[Planned], count: int) -> Iterator[Planned]:
    """A plan as far as the moment that happens as number ``count``."""
    for item in islice(plan, _LOOKED_AT):
        yield item
        count -= item.reason is None
        if not count:
            return


def _cut(lines: Sequence[Line], count: int) -> list[Line]:
    """The lines up to the one that happens as number ``count``; all where fewer happen."""
    kept: list[Line] = []
    for line in _sorted(lines):
        kept.append(line)
        count -= line.item.reason is None
        if not count:
            break
    return kept


def _sorted(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.item.due, line.entry))


def _as_json(line: Line, calendar: Calendar) -> dict[str, str | int | None]:
    local = line.item.due.astimezone(calendar.zone)
    return {
        "at": local.isoformat(timespec="seconds"),
        "id": line.entry,
        "say": line.text,
        "holiday": calendar.name_of(local.date()),
        "reason": line.item.reason,
        "times": line.times,
    }


def _when(due: datetime, calendar: Calendar) -> str:
    local = due.astimezone(calendar.zone)
    return f"{local:%a %Y-%m-%d %H:%M}" + (f":{local:%S}" if local.second else "")


def _note(line: Line, calendar: Calendar) -> str:
    if line.item.reason is not None:
        return f"not: {line.item.reason}" + (f" ({line.times} times)" if line.times > 1 else "")
    return calendar.name_of(line.item.due.astimezone(calendar.zone).date()) or ""


def _distance(now: datetime, then: datetime) -> str:
    minutes = round((then - now).total_seconds()) // 60
    days, rest = divmod(minutes, 1440)
    return f"{days} d {rest // 60} h" if days else f"{rest // 60} h {rest % 60} min"
