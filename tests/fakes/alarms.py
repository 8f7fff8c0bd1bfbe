"""Alarms on a fake clock: an announcer whose sounds end by themselves, and clips without a voice."""

import asyncio
from datetime import UTC, datetime, timedelta

import numpy as np

from daemon import events
from daemon.alarms.alarm import Alarm
from daemon.alarms.clips import Ready
from daemon.alarms.keeper import AlarmKeeper
from daemon.announcement import Clip
from daemon.events import Event, Events
from daemon.playback import Piece
from daemon.schedule.rules import Rule
from daemon.store import Database, Records
from engine import Audio
from tests.fakes.clock import FakeClock, FakeTimers

from zoneinfo import ZoneInfo  # isort: skip

TOKYO = ZoneInfo("Asia/Tokyo")
LENGTH = 3.0


def clip(speaker):
    return Clip((Piece(Audio(np.zeros(24_000 * 3, np.float32), 24_000), 0),), speaker, 1)


SPEECH, BELL = clip("mei"), clip("bell")


class FakeAnnouncer:
    """Ends every sound after its length, in the way that the test wants."""

    def __init__(self, clock, bus):
        self.clock, self.bus = clock, bus
        self.submitted = []
        self.ends = {}
        self.outcome = (events.FINISHED, None, {"audible": True, "sink": "speaker"})
        self._tasks = {}

    def submit(self, announcement):
        self.submitted.append((self.clock.now(), announcement))
        self._tasks[announcement.id] = asyncio.create_task(self._play(announcement))
        return True

    async def _play(self, announcement):
        if announcement.start_at is not None:
            await self.clock.sleep(announcement.start_at - self.clock.monotonic())
        self.bus.emit(Event(events.STARTED, announcement.id))
        await self.clock.sleep(LENGTH)
        self._end(announcement.id, *self.outcome)

    def waits(self, announcement_id):
        return False

    def cancel(self, announcement_id, reason):
        task = self._tasks.get(announcement_id)
        if task is None or task.done():
            return False
        task.cancel()
        self._end(announcement_id, events.DROPPED, reason, {})
        return True

    def _end(self, announcement_id, kind, reason, details):
        self.ends[announcement_id] = kind
        self.bus.emit(Event(kind, announcement_id, reason, details))

    @property
    def playing(self):
        return [name for name, task in self._tasks.items() if not task.done() and name not in self.ends]


class FakeClips:
    """Speech is there at once, unless ``problem`` says why not."""

    def __init__(self):
        self.prepared, self.forgotten = [], []
        self.sounds = []
        self.problem = None

    def prepare(self, alarm, moment, late=timedelta()):
        self.prepared.append((alarm.id, f"{moment:%H:%M:%S}", round(late.total_seconds())))

    def prepare_sound(self, alarm, sound):
        self.sounds.append(sound)

    def get(self, alarm):
        return Ready(SPEECH) if self.problem is None else Ready(BELL, self.problem)

    def bell(self):
        return BELL

    def text(self, alarm):
        return alarm.text

    def working(self, alarm_id):
        return None

    def forget(self, alarm_id):
        self.forgotten.append(alarm_id)


def alarm(name="wake-up", **fields):
    fields.setdefault("repeat_every", timedelta(seconds=20))
    return Alarm(name, Rule(), "おはよう", **fields)


class Bedroom:
    """An alarm keeper on a fake clock."""

    def __init__(self, now, path=None, *alarms):
        self.clock = FakeClock(now)
        self.timers = FakeTimers(self.clock)
        self.bus = Events()
        self.events = []
        self.bus.listen(self.events.append)
        self.announcer = FakeAnnouncer(self.clock, self.bus)
        self.clips = FakeClips()
        self.database = Database(path)
        self.database.open()
        self.records = Records(self.database)
        self.records.load()
        self.done = []
        self.woken = []
        self.keeper = AlarmKeeper(
            clock=self.clock,
            timers=self.timers,
            zone=TOKYO,
            announcer=self.announcer,
            clips=self.clips,
            bus=self.bus,
            records=self.records,
            on_wake=lambda: self.woken.append(self.local()),
            on_done=lambda a, dismissed: self.done.append((a.id, dismissed)),
            on_change=lambda: None,
        )
        self.keeper.replace({a.id: a for a in alarms})

    def local(self, moment=None):
        return f"{(moment or self.clock.now()).astimezone(TOKYO):%H:%M:%S}"

    async def settle(self):
        for _ in range(20):
            await asyncio.sleep(0)

    async def wait(self, seconds, step=0.5):
        """Let time pass, with everything that happens on the way."""
        await self.settle()
        for _ in range(round(seconds / step)):
            self.timers.run_until(self.clock.now() + timedelta(seconds=step))
            await self.settle()

    @property
    def story(self):
        """The alarms' events, with their local times of day as they were emitted."""
        return [e.type for e in self.events if e.type.startswith("alarm")]

    def told(self, kind):
        return [e for e in self.events if e.type == kind]

    @property
    def rounds(self):
        """When which sound began, and which it was."""
        return [
            (
                self.local(at if a.start_at is None else at + timedelta(seconds=max(0.0, a.start_at - self._then(at)))),
                a.clip.speaker,
            )
            for at, a in self.announcer.submitted
        ]

    def _then(self, moment):
        return self.clock.monotonic() - (self.clock.now() - moment).total_seconds()


def at(hour, minute=0, second=0, day=1):
    return datetime(2026, 12, day, hour, minute, second, tzinfo=TOKYO).astimezone(UTC)
