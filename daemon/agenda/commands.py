"""What can be asked of alarms and the schedule by name."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

from daemon.agenda.agenda import Agenda, parse_times
from daemon.alarms.keeper import AlarmKeeper
from daemon.commands import Commands
from daemon.config.values import parse_duration
from daemon.errors import RequestError
from daemon.mqtt.strict import parse_json
from daemon.requests import parse_switch
from daemon.schedule.plan import Vacation

_SWITCH = frozenset({"on", "off", "true", "false", "1", "0"})
_LENGTH = re.compile(r"[\d.]+\s*(ms|s|m|h)?|(\d+(h|m|s))+")


class AgendaCommands:
    """Snooze, dismiss, skip, ring, and everything that is set on alarms, schedule entries and the vacation.

    Args:
        agenda: the plan.
        keeper: of what rings.
    """

    def __init__(self, agenda: Agenda, keeper: AlarmKeeper) -> None:
        self._agenda = agenda
        self._keeper = keeper

    def add_to(self, commands: Commands) -> None:
        """Add them all to the table."""
        commands.add("do/snooze", self._snooze)
        commands.add("do/dismiss", self._dismiss)
        commands.add("do/skip_next", self._skip_next)
        commands.add("do/ring", self._ring)
        commands.add("set/alarm/+", self._set_alarm)
        commands.add("set/alarm/+/snooze", self._snooze)
        commands.add("set/alarm/+/dismiss", self._dismiss)
        for kind in ("alarm", "schedule"):
            commands.add(f"set/{kind}/+/enabled", self._enable)
            commands.add(f"set/{kind}/+/skip", self._skip)
            commands.add(f"set/{kind}/+/time", self._set_times)
        commands.add("set/schedule/+", self._enable)
        commands.add("set/vacation", self._set_vacation)

    def _snooze(self, text: str, alarm_id: str | None = None) -> None:
        word = _word(text)
        if alarm_id is None and word and not _LENGTH.fullmatch(word):
            self._keeper.snooze(word)
        else:
            self._keeper.snooze(alarm_id, _length(word))

    def _dismiss(self, text: str, alarm_id: str | None = None) -> None:
        alarm_id = alarm_id or _word(text) or None
        if alarm_id is None or alarm_id in self._keeper.rings:
            self._keeper.dismiss(alarm_id)
        else:
            self._keeper.dismissed_early(*self._agenda.dismiss_early(alarm_id))

    def _skip_next(self, text: str) -> None:
        name = _word(text)
        if not name:
            coming = self._agenda.next_alarm()
            if coming is None:
                message = "no alarm comes: there is nothing to skip"
                raise RequestError(message)
            name = coming.id
        self._agenda.skip(name)

    def _ring(self, text: str) -> None:
        name = _word(text)
        if not name:
            self._keeper.ring_bell()
            return
        alarm = self._agenda.alarms.get(name)
        if alarm is None:
            message = f"there is no alarm {name[:80]!r}; there are {', '.join(self._agenda.alarms) or 'none'}"
            raise RequestError(message)
        self._keeper.ring_now(alarm)

    def _set_alarm(self, text: str, alarm_id: str) -> None:
        word = text.strip()
        if not word:
            self._agenda.remove(alarm_id)
        elif word.lower() in _SWITCH:
            self._agenda.enable(alarm_id, parse_switch(word, alarm_id))
        else:
            self._agenda.make(alarm_id, _object(word))

    def _enable(self, text: str, entry_id: str) -> None:
        self._agenda.enable(entry_id, parse_switch(text, entry_id))

    def _skip(self, text: str, entry_id: str) -> None:
        self._agenda.skip(entry_id, parse_switch(text, "skip"))

    def _set_times(self, text: str, entry_id: str) -> None:
        self._agenda.set_times(entry_id, parse_times(text))

    def _set_vacation(self, text: str) -> None:
        self._agenda.set_vacation(parse_vacation(text, self._agenda.today()))


def parse_vacation(text: str, today: date) -> Vacation | None:
    """A vacation: ``OFF``, ``ON`` (from today until it is switched off), ``2026-12-28..2027-01-03`` or an object.

    Raises:
        RequestError: it is none of these.
    """
    word = text.strip()
    if not word or (word.lower() in _SWITCH and not parse_switch(word, "vacation")):
        return None
    if word.lower() in _SWITCH:
        return Vacation(today, date.max)
    if word.startswith("{"):
        value = _object(word)
        unknown = value.keys() - {"from", "until"}
        if unknown or not value:
            message = "vacation: an object with the keys from and until is expected"
            raise RequestError(message)
        first, last = value.get("from", today.isoformat()), value.get("until", date.max.isoformat())
    else:
        first, _, last = (part.strip() for part in word.partition(".."))
        last = last or first
    try:
        vacation = Vacation(date.fromisoformat(first), date.fromisoformat(last))
    except (TypeError, ValueError) as error:
        message = f"vacation: ON, OFF or dates such as 2026-12-28..2027-01-03 are expected, got {word[:60]!r}"
        raise RequestError(message) from error
    if vacation.last < vacation.first:
        message = f"vacation: it ends ({vacation.last}) before it begins ({vacation.first})"
        raise RequestError(message)
    return vacation


def _word(text: str) -> str:
    """The value of a request; a button of Home Assistant sends PRESS, which is none."""
    word = text.strip()
    return "" if word.upper() == "PRESS" else word


def _length(word: str) -> timedelta | None:
    """The length of a snooze; a bare number is minutes."""
    if not word:
        return None
    try:
        seconds = parse_duration(f"{word}m" if re.fullmatch(r"\d+(\.\d+)?", word) else word)
    except ValueError as error:
        message = f"snooze: {error}"
        raise RequestError(message) from error
    if not 10 <= seconds <= 3 * 3600:
        message = f"snooze: from 10 seconds to 3 hours are expected, got {word[:40]!r}"
        raise RequestError(message)
    return timedelta(seconds=seconds)


def _object(text: str) -> dict[str, Any]:
    value = parse_json(text)
    if not isinstance(value, dict):
        message = f"ON, OFF or a JSON object is expected, got {text[:40]!r}"
        raise RequestError(message)
    return value
