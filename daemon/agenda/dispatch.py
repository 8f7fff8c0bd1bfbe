"""From the moments of the schedule to whoever carries them out: alarms ring, entries speak."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from daemon.agenda.agenda import Agenda, Definition
from daemon.agenda.speech import Speech
from daemon.alarms.alarm import Alarm
from daemon.alarms.keeper import AlarmKeeper
from daemon.alarms.missed import MissedAlarms
from daemon.schedule.scheduler import Missed, Occurrence, Reactions


class Dispatcher:
    """Reacts to the schedule. All calls are on the event loop."""

    def __init__(self, *, agenda: Agenda, keeper: AlarmKeeper, missed_alarms: MissedAlarms, speech: Speech) -> None:
        self._agenda = agenda
        self._keeper = keeper
        self._missed_alarms = missed_alarms
        self._speech = speech

    def reactions(self, *, wake: Callable[[], None], changed: Callable[[], None]) -> Reactions:
        """What the scheduler calls."""
        return Reactions(
            prepare=self._prepare,
            wake=wake,
            due=self._due,
            missed=self._missed,
            notice=self._notice,
            moved=lambda seconds: self._keeper.clock_moved(timedelta(seconds=seconds)),
            changed=changed,
        )

    def _prepare(self, occurrence: Occurrence) -> None:
        item = self._item(occurrence)
        if isinstance(item, Alarm):
            self._keeper.prepare(item, occurrence.due)
            if item.then is not None:
                self._speech.prepare_briefing(item.then, occurrence.due)
        elif item is not None:
            self._speech.prepare(occurrence, item)

    def _due(self, occurrence: Occurrence) -> None:
        item = self._item(occurrence)
        if isinstance(item, Alarm):
            self._keeper.ring(item, occurrence.due)
        elif item is not None:
            self._speech.due(occurrence, item)

    def _missed(self, missed: Missed) -> None:
        item = self._item(missed.occurrence)
        if isinstance(item, Alarm):
            self._missed_alarms.tell(missed, item)
            self._agenda.done(item)
        elif item is not None:
            self._speech.missed(missed, item)

    def _notice(self, occurrence: Occurrence, ahead: timedelta) -> None:
        item = self._item(occurrence)
        if isinstance(item, Alarm):
            self._keeper.notice(item, occurrence.due, ahead)

    def _item(self, occurrence: Occurrence) -> Definition | None:
        return self._agenda.items.get(occurrence.entry.id)
