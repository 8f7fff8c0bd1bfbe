"""What people changed about alarms and entries at run time; kept over restarts, and over a changed configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from daemon.schedule.plan import Exceptions, Vacation
from daemon.schedule.rules import Rule
from daemon.store import Records

_TABLE = "changes"
_VACATION = "vacation"
_FORGOTTEN_AFTER = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Change:
    """What was changed about one alarm or entry.

    Attributes:
        enabled: instead of what its definition says, or None.
        skipped: UTC due moments that are left out.
        times: times of day instead of its own, or None.
        instead_of: its own times when they were changed: when the configuration has others, these hold again.
    """

    enabled: bool | None = None
    skipped: frozenset[datetime] = frozenset()
    times: tuple[time, ...] | None = None
    instead_of: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the store."""
        return {
            "enabled": self.enabled,
            "skipped": sorted(round(moment.timestamp()) for moment in self.skipped),
            "times": None if self.times is None else [at.isoformat() for at in self.times],
            "instead_of": list(self.instead_of),
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Change:
        """From the store.

        Raises:
            ValueError: it is no change.
        """
        try:
            times = value["times"]
            return cls(
                value["enabled"],
                frozenset(datetime.fromtimestamp(moment, UTC) for moment in value["skipped"]),
                None if times is None else tuple(time.fromisoformat(at) for at in times),
                tuple(value["instead_of"]),
            )
        except (KeyError, TypeError, OverflowError, OSError) as error:
            message = f"no change: {value!r}"
            raise ValueError(message) from error


NOTHING = Change()


class Changes:
    """All changes, and the vacation. All calls are on the event loop."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._changes: dict[str, Change] = {}
        for entry_id, value in records.all(_TABLE).items():
            try:
                self._changes[entry_id] = Change.of_json(value)
            except ValueError:
                continue  # written by another version; the definition holds

    def of(self, entry_id: str) -> Change:
        """What was changed about an entry."""
        return self._changes.get(entry_id, NOTHING)

    def put(self, entry_id: str, change: Change, now: datetime) -> None:
        """Keep a change; skipped moments that are long past are forgotten."""
        skipped = frozenset(moment for moment in change.skipped if moment > now - _FORGOTTEN_AFTER)
        change = replace(change, skipped=skipped)
        if change == NOTHING:
            self.forget(entry_id)
        else:
            self._changes[entry_id] = change
            self._records.put(_TABLE, entry_id, change.as_json())

    def forget(self, entry_id: str) -> None:
        """The entry is as its definition says."""
        self._changes.pop(entry_id, None)
        self._records.remove(_TABLE, entry_id)

    @property
    def vacation(self) -> Vacation | None:
        """The house's vacation, past, present or to come."""
        value = self._records.setting(_VACATION)
        try:
            return value and Vacation(date.fromisoformat(value["first"]), date.fromisoformat(value["last"]))
        except (KeyError, TypeError, ValueError):
            return None

    @vacation.setter
    def vacation(self, vacation: Vacation | None) -> None:
        value = vacation and {"first": vacation.first.isoformat(), "last": vacation.last.isoformat()}
        self._records.set(_VACATION, value)

    def exceptions(self, entry_id: str, *, enabled: bool, ignores_vacation: bool) -> Exceptions:
        """What keeps an entry from happening."""
        change = self.of(entry_id)
        return Exceptions(
            enabled if change.enabled is None else change.enabled, change.skipped, self.vacation, ignores_vacation
        )

    def rule(self, entry_id: str, rule: Rule) -> Rule:
        """An entry's rule with its changed times; its own, where the configuration was changed since."""
        change = self.of(entry_id)
        if change.times is None or change.instead_of != shown_times(rule.times):
            return rule
        return replace(rule, times=change.times, moment=None)


def shown_times(times: Sequence[object]) -> tuple[str, ...]:
    """Times of a rule as text, to see whether they were changed."""
    return tuple(str(at) for at in times)
