"""Alarms that are made at run time, by a message or on the command line: strict, and with one sentence when refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from daemon.alarms.alarm import SIREN, Alarm
from daemon.config.alarms import AlarmConfig
from daemon.config.values import parse_duration
from daemon.errors import RequestError
from daemon.schedule.calendar import Calendar
from daemon.schedule.planner import local_moment, next_occurrence
from daemon.schedule.rules import Rule, check_days

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ONCE = "once"
MOMENT = "moment_utc"
"""In a normalised definition: seconds since 1970. A local date and time is not enough where autumn repeats an hour."""
WHEN = frozenset({"in", "at", "days", "cron", "every", "from", "until", _ONCE})
"""The keys that say when an alarm is due."""
_LONGEST_TEXT = 1000
_YEARS = range(1970, 3000)
_LIMIT = 200
"""So many alarms can be made."""


def normalised(definition: Mapping[str, Any], now: datetime, calendar: Calendar) -> dict[str, Any]:
    """A definition with moments turned into a date, a time and the exact moment, to mean the same at every start.

    Besides the keys of the configuration it may hold ``in`` (a duration from now), and ``at`` may be a local moment
    such as ``2026-12-01T06:30``: both make an alarm for one occurrence, as does ``once``.

    Raises:
        RequestError: a moment cannot be understood, or is past.
    """
    result = dict(definition)
    if MOMENT in result:
        message = f"unknown key {MOMENT!r}; at takes a moment such as 2026-12-01T06:30+09:00"
        raise RequestError(message)
    moment: datetime | None = None
    if "in" in result:
        if result.keys() & (WHEN - {"in", _ONCE}):
            message = "in stands alone; it makes an alarm for one occurrence"
            raise RequestError(message)
        try:
            moment = now.astimezone(UTC) + timedelta(seconds=parse_duration(result.pop("in")))
            # Alarms are due at whole seconds; never sooner than was asked for.
            moment = (moment + timedelta(microseconds=999_999)).replace(microsecond=0)
        except ValueError as error:
            message = f"in: {error}"
            raise RequestError(message) from error
    elif isinstance(result.get("at"), str) and re.match(r"\d{4}-\d\d-\d\d", result["at"]):
        try:
            moment = datetime.fromisoformat(result["at"])
        except ValueError as error:
            message = f"at: a moment such as 2026-12-01T06:30 is expected, got {result['at'][:40]!r}"
            raise RequestError(message) from error
    if moment is not None:
        if moment.year not in _YEARS:
            message = f"at: a year from {_YEARS[0]} to {_YEARS[-1]} is expected, got {moment.year}"
            raise RequestError(message)
        # To UTC: within one zone, moments would be compared and reckoned by the wall clock.
        moment = moment.astimezone(UTC) if moment.tzinfo else _of_wall(moment, calendar)
        if moment <= now.astimezone(UTC):
            message = f"{moment.astimezone(calendar.zone):%Y-%m-%d %H:%M} is past"
            raise RequestError(message)
        local = moment.astimezone(calendar.zone)
        result |= {"at": f"{local:%H:%M:%S}", "days": [local.date().isoformat()], _ONCE: True}
        result[MOMENT] = moment.timestamp()
    return result


def made_alarm(alarm_id: str, definition: Mapping[str, Any], calendar: Calendar, now: datetime) -> Alarm:
    """An alarm from a normalised definition.

    Raises:
        RequestError: what is wrong with it.
    """
    if not _ID.fullmatch(alarm_id):
        message = f"an id of letters, digits, - and _ is expected, got {alarm_id[:70]!r}"
        raise RequestError(message)
    if alarm_id == SIREN:
        message = f"{SIREN!r} is the name of the bell; choose another id"
        raise RequestError(message)
    keys = dict(definition)
    once = keys.pop(_ONCE, False)
    if not isinstance(once, bool):
        message = f"once: true or false is expected, got {str(once)[:40]!r}"
        raise RequestError(message)
    moment = keys.pop(MOMENT, None)
    text = keys.pop("text", None)  # said as it is: what comes by message is never a template
    if text is not None and not (isinstance(text, str) and 0 < len(text) <= _LONGEST_TEXT):
        message = f"text: text of 1 to {_LONGEST_TEXT} characters is expected, got {str(text)[:40]!r}"
        raise RequestError(message)
    try:
        alarm = AlarmConfig.model_validate(keys).alarm(alarm_id, once=once, made_here=True)
        alarm = alarm if text is None else replace(alarm, text=text, is_template=False)
        alarm = replace(alarm, rule=_exact(alarm.rule, moment))
        check_days(alarm.rule, calendar)
    except ValidationError as error:
        raise RequestError("; ".join(_sentence(details) for details in error.errors())) from error
    except ValueError as error:
        raise RequestError(str(error)) from error
    if alarm.rule.needs_place and calendar.place is None:
        message = "at: the sun needs a place in the configuration"
        raise RequestError(message)
    if alarm.rule.needs_holidays and calendar.holidays is None:
        message = "days: holidays need a country in the configuration"
        raise RequestError(message)
    if next_occurrence(alarm.rule, now, calendar) is None:
        message = "it is never due"
        raise RequestError(message)
    return alarm


def _of_wall(moment: datetime, calendar: Calendar) -> datetime:
    """The UTC moment of a local one: the first of two, the end of the gap where there is none, as the planner does."""
    return local_moment(moment.date(), moment.time(), calendar.zone)


def _exact(rule: Rule, moment: float | None) -> Rule:
    return rule if moment is None else replace(rule, moment=datetime.fromtimestamp(moment, UTC))


def _sentence(details: Any) -> str:
    key = ".".join(str(part) for part in details["loc"] if isinstance(part, str) and not part.startswith("function-"))
    if details["type"] == "extra_forbidden":
        known = ", ".join(field.alias or name for name, field in AlarmConfig.model_fields.items())
        return f"unknown key {key!r}; known are {known}, in, once"
    message = details["msg"].removeprefix("Value error, ")
    return f"{key or 'the alarm'}: {message}"


def check_room(count: int) -> None:
    """Refuse one alarm more than there may be.

    Raises:
        RequestError: there are enough.
    """
    if count >= _LIMIT:
        message = f"there are {count} alarms that were made at run time; remove one first"
        raise RequestError(message)
