"""Everything that is due in this house, as one plan: alarms and schedule entries, with what people changed."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from typing import Any

from daemon.agenda.changes import Changes, shown_times
from daemon.alarms.alarm import Alarm
from daemon.alarms.made import MOMENT, WHEN, check_room, made_alarm, normalised
from daemon.chimes import chime_names
from daemon.clock import Clock
from daemon.config import Config, ScheduleEntryConfig
from daemon.config.values import parse_time_of_day
from daemon.errors import RequestError
from daemon.schedule.calendar import Calendar
from daemon.schedule.entries import schedule_of
from daemon.schedule.plan import Exceptions, Planned, Vacation, planned_ahead
from daemon.schedule.rules import Rule
from daemon.schedule.scheduler import Entry
from daemon.store import Records

_log = logging.getLogger("asagoe.agenda")

_TABLE = "alarms"
EARLY = timedelta(hours=3)
"""So long before it is due an alarm can be dismissed early."""

Definition = Alarm | ScheduleEntryConfig


@dataclass(frozen=True, slots=True)
class Coming:
    """What comes next of an alarm or entry.

    Attributes:
        id: its id.
        definition: the alarm or schedule entry.
        enabled: whether it is switched on.
        due: when it happens next, in UTC; None when it does not.
        left_out: the moment before that at which it does not happen, and why; None when there is none.
        rule: when it is due, with what people changed.
    """

    id: str
    definition: Definition
    enabled: bool
    due: datetime | None
    left_out: Planned | None
    rule: Rule


def first_alarm(coming: Iterable[Coming]) -> Coming | None:
    """The alarm that comes first; None when none comes."""
    alarms = [item for item in coming if isinstance(item.definition, Alarm) and item.due is not None]
    return min(alarms, key=lambda item: str(item.due), default=None)


class Agenda:
    """The plan and its changes. All calls are on the event loop.

    Args:
        clock: of everything.
        records: keep what is changed.
        on_plan: takes over the entries whenever they changed.
    """

    def __init__(self, *, clock: Clock, records: Records, on_plan: Callable[[Sequence[Entry], Calendar], None]) -> None:
        self._clock = clock
        self._records = records
        self._on_plan = on_plan
        self._changes = Changes(records)
        self._configured: dict[str, Definition] = {}
        self._written: dict[str, Mapping[str, Any]] = {}
        self._made: dict[str, Alarm] = {}
        self._config: Config | None = None
        self._calendar: Calendar | None = None

    def configure(self, config: Config) -> None:
        """Take over a configuration."""
        self._config, self._calendar = config, config.calendar
        alarms: dict[str, Definition] = {name: item.alarm(name) for name, item in config.alarms.items()}
        schedule = schedule_of(config)
        self._configured = {**alarms, **schedule}
        self._written = {
            name: item.model_dump(mode="json", by_alias=True, exclude_unset=True)
            for items in (config.alarms, schedule)
            for name, item in items.items()
        }
        self._made = {}
        for name, definition in self._records.all(_TABLE).items():
            if name in self._configured:
                _log.warning("the alarm %s that was made at run time gives way to that of the configuration", name)
                continue
            try:
                # An alarm for one occurrence that is past was kept to be caught up with: it is no error here.
                long_ago = self._clock.now() - timedelta(days=8)
                self._made[name] = made_alarm(name, definition, config.calendar, long_ago)
            except RequestError as error:
                _log.error("the alarm %s that was made at run time cannot be used: %s", name, error)
        self._plan()

    @property
    def calendar(self) -> Calendar:
        """The world that is planned in."""
        assert self._calendar is not None  # noqa: S101 - configured at the start
        return self._calendar

    @property
    def alarms(self) -> Mapping[str, Alarm]:
        """All alarms, by id."""
        configured = {name: item for name, item in self._configured.items() if isinstance(item, Alarm)}
        return MappingProxyType(configured | self._made)

    @property
    def items(self) -> Mapping[str, Definition]:
        """All alarms and schedule entries, by id."""
        return MappingProxyType(self._configured | self._made)

    def written(self, entry_id: str) -> Mapping[str, Any]:
        """The keys of an alarm or entry as it was written, fit for JSON; changes of its times are not in them."""
        kept = self._records.all(_TABLE).get(entry_id) if entry_id in self._made else None
        if kept is None:
            return self._written.get(entry_id, {})
        return MappingProxyType({key: value for key, value in kept.items() if key != MOMENT})

    def times(self, entry_id: str) -> tuple[str, ...]:
        """The times of day at which an alarm or entry is due, as text, with what people changed.

        Raises:
            RequestError: there is none.
        """
        return shown_times(self._changes.rule(entry_id, _rule(self._known(entry_id))).times)

    def coming(self) -> list[Coming]:
        """What comes next of everything, in the order of the configuration."""
        now = self._clock.now()
        return [self._coming(name, item, now) for name, item in self.items.items()]

    def next_alarm(self) -> Coming | None:
        """The alarm that comes first."""
        return first_alarm(self.coming())

    # What people change.

    def make(self, alarm_id: str, definition: Mapping[str, Any]) -> Alarm:
        """Make an alarm, or another one in its place.

        Raises:
            RequestError: it cannot be, or the configuration has one of that id.
        """
        if alarm_id in self._configured:
            message = f"{alarm_id!r} is in the configuration; change it there, or choose another id"
            raise RequestError(message)
        if alarm_id not in self._made:
            check_room(len(self._made))
        now = self._clock.now()
        kept = normalised(definition, now, self.calendar)
        alarm = made_alarm(alarm_id, kept, self.calendar, now)
        self._check_names(alarm)
        self._made[alarm_id] = alarm
        self._changes.forget(alarm_id)
        self._records.put(_TABLE, alarm_id, kept)
        self._plan()
        return alarm

    def change(self, alarm_id: str, keys: Mapping[str, Any]) -> Alarm:
        """Give some keys of an alarm other values; of one of the configuration only its times, ``at``.

        None gives a key its default back. It stays on or off as it is; what was skipped once is skipped no more.

        Raises:
            RequestError: there is none, or it cannot be so.
        """
        alarm = self.alarms.get(alarm_id)
        if alarm is None:
            raise RequestError(self._unknown(alarm_id, "alarm"))
        if alarm_id in self._configured:
            if keys.keys() != {"at"}:
                message = f"{alarm_id!r} is in the configuration; only its time can be changed here"
                raise RequestError(message)
            self.set_times(alarm_id, parse_times(keys["at"]))
            return alarm
        enabled = self._changes.of(alarm_id).enabled
        own = {"at": list(self.times(alarm_id))} if self._changes.of(alarm_id).times is not None else {}
        wanted = dict(self.written(alarm_id)) | own | dict(keys)
        moment = self._records.all(_TABLE)[alarm_id].get(MOMENT)
        if moment is not None and not own and not keys.keys() & WHEN:  # it stays due at its exact moment
            exact = datetime.fromtimestamp(moment, UTC).isoformat()
            wanted = {key: value for key, value in wanted.items() if key not in WHEN} | {"at": exact}
        changed = self.make(alarm_id, {key: value for key, value in wanted.items() if value is not None})
        if enabled is not None:
            self.enable(alarm_id, enabled)
        return changed

    def remove(self, alarm_id: str) -> None:
        """Remove an alarm that was made at run time.

        Raises:
            RequestError: there is none.
        """
        if alarm_id not in self._made:
            where = "in the configuration: switch it off instead" if alarm_id in self._configured else "not there"
            message = f"the alarm {alarm_id!r} is {where}"
            raise RequestError(message)
        del self._made[alarm_id]
        self._records.remove(_TABLE, alarm_id)
        self._changes.forget(alarm_id)
        self._plan()

    def enable(self, entry_id: str, enabled: bool) -> None:
        """Switch an alarm or entry on or off.

        Raises:
            RequestError: there is none.
        """
        item = self._known(entry_id)
        own = item.enabled
        change = self._changes.of(entry_id)
        self._changes.put(entry_id, replace(change, enabled=None if enabled == own else enabled), self._clock.now())
        self._plan()

    def skip(self, entry_id: str, skipped: bool = True) -> datetime | None:
        """Leave out the next occurrence of an alarm or entry, or do not after all; returns its moment.

        Raises:
            RequestError: there is none, or nothing comes.
        """
        item, now = self._known(entry_id), self._clock.now()
        change = self._changes.of(entry_id)
        if not skipped:
            self._changes.put(entry_id, replace(change, skipped=frozenset()), now)
            self._plan()
            return None
        due = self._coming(entry_id, item, now).due
        if due is None:
            message = f"{entry_id!r} is not due: there is nothing to skip"
            raise RequestError(message)
        self._changes.put(entry_id, replace(change, skipped=change.skipped | {due}), now)
        self._plan()
        return due

    def set_times(self, entry_id: str, times: Sequence[time]) -> None:
        """Give an alarm or entry other times of day; its own give them back.

        Raises:
            RequestError: there is none, or it is due by cron.
        """
        rule = _rule(self._known(entry_id))
        if rule.cron is not None:
            message = f"{entry_id!r} is due by cron: change it in the configuration"
            raise RequestError(message)
        own = tuple(times) == rule.times
        change = self._changes.of(entry_id)
        new = replace(change, times=None if own else tuple(times), instead_of=() if own else shown_times(rule.times))
        self._changes.put(entry_id, new, self._clock.now())
        self._plan()

    @property
    def vacation(self) -> Vacation | None:
        """The house's vacation, if it is not over."""
        vacation = self._changes.vacation
        today = self._clock.now().astimezone(self.calendar.zone).date()
        return vacation if vacation is not None and vacation.last >= today else None

    def set_vacation(self, vacation: Vacation | None) -> None:
        """Nothing that does not ignore it happens on these dates."""
        self._changes.vacation = vacation
        self._plan()

    def today(self) -> date:
        """The local date."""
        return self._clock.now().astimezone(self.calendar.zone).date()

    def dismiss_early(self, alarm_id: str) -> tuple[Alarm, datetime]:
        """Leave out an alarm that is about to ring; returns it and its moment.

        Raises:
            RequestError: there is none, or it is not due soon.
        """
        alarm = self.alarms.get(alarm_id)
        if alarm is None:
            raise RequestError(self._unknown(alarm_id, "alarm"))
        due = self._coming(alarm_id, alarm, self._clock.now()).due
        if due is None or due - self._clock.now() > EARLY:
            message = f"the alarm {alarm_id!r} neither rings nor is due within 3 hours; use skip"
            raise RequestError(message)
        self.skip(alarm_id)
        return alarm, due

    def done(self, alarm: Alarm) -> None:
        """An alarm was dismissed or missed: one that was made for one occurrence is forgotten."""
        if alarm.once and alarm.id in self._made:
            self.remove(alarm.id)

    # Details.

    def _check_names(self, alarm: Alarm) -> None:
        """Refuse an alarm that names what is not there. Files are the configuration's to name, as for announcements."""
        assert self._config is not None  # noqa: S101 - configured at the start
        for key, name, known in (
            ("sound", alarm.sound, chime_names()),
            ("speaker", alarm.speaker, self._config.speakers),
            ("then", alarm.then, self._config.briefings),
        ):
            if name is not None and name not in known:
                message = f"{key}: there is no {name[:80]!r}; there are {', '.join(known) or 'none'}"
                raise RequestError(message)

    def _plan(self) -> None:
        entries = [
            Entry(
                name,
                self._changes.rule(name, _rule(item)),
                item.grace if isinstance(item, Alarm) else timedelta(seconds=item.grace),
                self._exceptions(name, item),
                item.pre_alarm if isinstance(item, Alarm) else (),
            )
            for name, item in self.items.items()
        ]
        self._on_plan(entries, self.calendar)

    def _coming(self, name: str, item: Definition, now: datetime) -> Coming:
        exceptions = self._exceptions(name, item)
        rule = self._changes.rule(name, _rule(item))
        left_out: Planned | None = None
        if not exceptions.enabled:
            return Coming(name, item, enabled=False, due=None, left_out=None, rule=rule)
        for moment in planned_ahead(rule, exceptions, now, self.calendar):
            if moment.reason is None and not self._records.happened(name, moment.due):
                return Coming(name, item, enabled=True, due=moment.due, left_out=left_out, rule=rule)
            left_out = left_out or (moment if moment.reason else None)
        return Coming(name, item, enabled=True, due=None, left_out=left_out, rule=rule)

    def _exceptions(self, name: str, item: Definition) -> Exceptions:
        ignores = item.ignores_vacation if isinstance(item, Alarm) else item.ignore_vacation
        return self._changes.exceptions(name, enabled=item.enabled, ignores_vacation=ignores)

    def _known(self, entry_id: str) -> Definition:
        item = self.items.get(entry_id)
        if item is None:
            raise RequestError(self._unknown(entry_id, "alarm or schedule entry"))
        return item

    def _unknown(self, entry_id: str, what: str) -> str:
        known = ", ".join(self.items) or "none"
        return f"there is no {what} {entry_id[:80]!r}; there are {known}"


def parse_times(value: object) -> list[time]:
    """Times of day of a text, or of a list of texts, each once and in order.

    Raises:
        RequestError: one is none.
    """
    words = value if isinstance(value, list) else re.split(r"[,\s]+", str(value).strip())
    try:
        return sorted({parse_time_of_day(word) for word in words})
    except ValueError as error:
        message = f"time: {error}"
        raise RequestError(message) from error


def _rule(item: Definition) -> Rule:
    return item.rule if isinstance(item, Alarm) else item.rule()
