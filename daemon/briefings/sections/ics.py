"""Reads calendars in iCalendar (RFC 5545): what takes place within some days, with recurrences worked out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from daemon.briefings.clean import clean
from daemon.briefings.sections.ics_rules import drop_unusable
from daemon.errors import SectionError

LIMIT = 10_000_000
"""Bytes of a calendar: fifteen years of a busy family have some 3 MB."""
ACCEPTED = ("text/calendar", "text/plain", "text/x-vcalendar", "application/ics", "application/octet-stream")
_MOST_EVENTS = 400  # occurrences that are kept; a week has no more that could be told
_DAY = timedelta(days=1)
_BEGIN = re.compile(rb"^BEGIN:VEVENT\r?\n", re.MULTILINE)
_START = re.compile(rb"^DTSTART(?:;[^:\r\n]*)?:(\d{8})", re.MULTILINE)
_END = re.compile(rb"^DTEND(?:;[^:\r\n]*)?:(\d{8})", re.MULTILINE)
_RECURS = re.compile(rb"^(?:RRULE|RDATE|RECURRENCE-ID)[;:]", re.MULTILINE)
_MOST_READ = 5_000  # events that are read after those of the past are out


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence.

    Attributes:
        uid: of its series as the calendar names it, with the moment that the series gives it: two instances of a
            series may have been moved to the same time.
        summary: cleaned; may be empty.
        start, end: for an all-day event the first day and the day after the last, else aware moments in the house's
            zone; an event without an end ends where it starts.
        place: cleaned; may be empty.
        calendar: the name of its calendar, or "".
    """

    uid: str
    summary: str
    start: date
    end: date
    place: str = ""
    calendar: str = ""

    @property
    def all_day(self) -> bool:
        """Whether it has days, not moments."""
        return not isinstance(self.start, datetime)

    def on(self, day: date) -> bool:
        """Whether it takes place on a day of the house's zone; one that ends at midnight is over by then."""
        start, end = self.start, self.end
        if isinstance(start, datetime) and isinstance(end, datetime):
            ends_before = end.date() == day and end.time() == time() and start != end
            return start.date() <= day <= end.date() and not ends_before
        return start <= day < end

    def to_json(self) -> dict[str, str]:
        """Fit for JSON; without the id, which has done its work once calendars are merged."""
        return {
            "summary": self.summary,
            "start": self.start.isoformat(),
            "end": self.end.isoformat(),
            "place": self.place,
            "calendar": self.calendar,
        }


def from_json(data: Any, zone: ZoneInfo) -> Occurrence:
    """The other way round; moments in ``zone``.

    Raises:
        KeyError, TypeError, ValueError: not made by :meth:`Occurrence.to_json`.
    """
    start, end = (_from_text(data[key], zone) for key in ("start", "end"))
    return Occurrence("", data["summary"], start, end, data["place"], data["calendar"])


def kept(events: Sequence[Occurrence], last: date) -> dict[str, Any]:
    """Occurrences in their order as data of a section: ``events``, and ``until``, the last day that is known whole.

    Of a calendar that is fuller than anyone could be told, only the first days are kept.
    """
    until = last
    if len(events) > _MOST_EVENTS:
        beyond = events[_MOST_EVENTS].start
        until = min(last, (beyond.date() if isinstance(beyond, datetime) else beyond) - _DAY)
    return {"until": until.isoformat(), "events": [event.to_json() for event in events[:_MOST_EVENTS]]}


def from_kept(data: Any, zone: ZoneInfo) -> tuple[date, list[Occurrence]]:
    """The other way round.

    Raises:
        KeyError, TypeError, ValueError: not made by :func:`kept`.
    """
    return date.fromisoformat(data["until"]), [from_json(event, zone) for event in data["events"]]


def occurrences(text: bytes, first: date, last: date, zone: ZoneInfo, source: str, name: str = "") -> list[Occurrence]:
    """What takes place in a calendar from ``first`` to ``last``, both included.

    Cancelled events are left out. A time without a zone, or with one that nobody knows, is a time of the house. A rule
    that cannot be read, or repeats by the minute, loses its event and no other.

    Args:
        text: one or several VCALENDAR.
        first: a day in ``zone``.
        last: another.
        zone: the house's.
        source: named in errors.
        name: of the calendar.

    Raises:
        SectionError: no calendar.
    """
    import icalendar  # noqa: PLC0415 - 0.3 s with what it brings along, for those who have a calendar
    import recurring_ical_events  # noqa: PLC0415 - see above

    # Text that is no calendar raises ValueError, or whatever the parser stumbles over first. One that was cut off in
    # the middle is none either: what it lacks would seem not to take place.
    try:
        near = without_the_past(text, first, last).decode("utf-8-sig", "replace")
        if near.count("BEGIN:VEVENT") > _MOST_READ or near.count("BEGIN:") > 4 * _MOST_READ:
            raise SectionError(f"{source}: the calendar has more than {_MOST_READ:,} events that may be near")
        calendars = icalendar.Calendar.from_ical(near, multiple=True)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        calendars = []
    calendars = [calendar for calendar in calendars if calendar.name == "VCALENDAR"]
    if not calendars or not text.rstrip().upper().endswith(b"END:VCALENDAR"):
        raise SectionError(f"{source}: the answer is no calendar (iCalendar is expected)")
    start = datetime.combine(first, time(), zone)
    end = datetime.combine(last + timedelta(days=1), time(), zone)
    found: list[Occurrence] = []
    for calendar in calendars:
        drop_unusable(calendar, first, source)
        _drop_unknown_zone(calendar)
        query = recurring_ical_events.of(calendar, skip_bad_series=True)
        try:
            events = query.between(start, end)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise SectionError(f"{source}: the calendar cannot be read ({type(error).__name__})") from None
        found += [event for one in events if (event := _occurrence(one, zone, name))]
    return merged([[event for event in found if _touches(event, start, end)]])


def without_the_past(text: bytes, first: date, last: date) -> bytes:
    """A calendar without most of the single events that lie outside of some days; nothing else of it is read.

    Parsing an event takes most of the time, and of a calendar of many years few events are near.
    """
    earliest, latest = (f"{day:%Y%m%d}".encode() for day in (first - _DAY, last + 2 * _DAY))
    longest = f"{first - 400 * _DAY:%Y%m%d}".encode()

    # Split, not searched for: a beginning without an end would send a search to the end of the text each time.
    head, *parts = _BEGIN.split(text)
    kept_parts = [head]
    for part in parts:
        event, end_line, rest = part.partition(b"\nEND:VEVENT")
        start, end = _START.search(event), _END.search(event)
        if start is not None and end_line and not _RECURS.search(event):
            past = end[1] < earliest if end else start[1] < longest
            if past or start[1] > latest:
                kept_parts.append(rest.partition(b"\n")[2])
                continue
        kept_parts.append(b"BEGIN:VEVENT\r\n" + part)
    return b"".join(kept_parts)


def merged(calendars: Iterable[Sequence[Occurrence]]) -> list[Occurrence]:
    """All of them in order, each once: the same event in two calendars has the same id or the same words and times."""
    kept: list[Occurrence] = []
    seen: set[tuple[object, ...]] = set()
    for event in (event for calendar in calendars for event in calendar):
        times = (event.start.isoformat(), event.end.isoformat())
        keys = {(event.summary.casefold(), *times)} | ({(event.uid, "", times[0])} if event.uid else set())
        if not keys & seen:
            kept.append(event)
        seen |= keys
    return sorted(kept, key=_order)


def _order(event: Occurrence) -> tuple[date, bool, float, str]:
    """By day, what lasts all day first, then by time."""
    if isinstance(event.start, datetime):
        return event.start.date(), True, event.start.timestamp(), event.summary
    return event.start, False, 0.0, event.summary


def _drop_unknown_zone(calendar: Any) -> None:
    """Forget the zone of a whole calendar, Google's X-WR-TIMEZONE, where nobody knows it."""
    try:
        ZoneInfo(str(calendar.get("X-WR-TIMEZONE", "UTC")))
    except (KeyError, ValueError, OSError):
        del calendar["X-WR-TIMEZONE"]


def _occurrence(event: Any, zone: ZoneInfo, name: str) -> Occurrence | None:
    if str(event.get("STATUS", "")).strip().upper() == "CANCELLED":
        return None
    start, end = _local(event.start, zone), _local(event.end, zone)
    if isinstance(start, datetime) != isinstance(end, datetime) or end < start:
        end = start
    if not isinstance(start, datetime) and end == start:
        end = start + timedelta(days=1)
    summary = clean(str(event.get("SUMMARY", "")), 100)
    uid = str(event.get("UID", ""))[:200]
    instance = event.get("RECURRENCE-ID")
    if uid and instance is not None:
        uid += f" {instance.dt.isoformat()}"
    return Occurrence(uid, summary, start, end, clean(str(event.get("LOCATION", "")), 60), name)


def _local(moment: date, zone: ZoneInfo) -> date:
    if not isinstance(moment, datetime):
        return moment
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)


def _touches(event: Occurrence, start: datetime, end: datetime) -> bool:
    """Whether it takes place within: times without a zone were sorted in by another one."""
    if isinstance(event.start, datetime) and isinstance(event.end, datetime):
        return event.start < end and (event.end > start or event.start >= start)
    return event.start < end.date() and event.end > start.date()


def _from_text(text: str, zone: ZoneInfo) -> date:
    return datetime.fromisoformat(text).astimezone(zone) if "T" in text else date.fromisoformat(text)
