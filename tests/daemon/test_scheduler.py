from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.schedule.calendar import Calendar
from daemon.schedule.days import EVERY_DAY
from daemon.schedule.rules import Rule
from daemon.schedule.scheduler import Entry, Scheduler
from tests.fakes.clock import FakeClock, FakeTimers

TOKYO = ZoneInfo("Asia/Tokyo")
START = datetime(2026, 12, 1, 5, 0, tzinfo=TOKYO)


class House:
    def __init__(self, *entries, start=START, zone=TOKYO):
        self.clock = FakeClock(start)
        self.timers = FakeTimers(self.clock)
        self.zone = zone
        self.said, self.missed, self.prepared, self.woken = [], [], [], []
        self.scheduler = Scheduler(
            clock=self.clock,
            timers=self.timers,
            calendar=Calendar(zone),
            on_prepare=lambda o: self.prepared.append((o.entry.id, self.local())),
            on_wake=lambda: self.woken.append(self.local()),
            on_due=lambda o: self.said.append((o.entry.id, self.local(o.due), self.local())),
            on_missed=lambda m: self.missed.append((m.occurrence.entry.id, self.local(m.occurrence.due), m.count)),
        )
        self.scheduler.replace(entries)

    def local(self, moment=None):
        return f"{(moment or self.clock.now()).astimezone(self.zone):%d %H:%M:%S}"

    def until(self, *when):
        self.timers.run_until(datetime(2026, 12, *when, tzinfo=self.zone))


def entry(name, *times, grace=60, enabled=True):
    return Entry(name, Rule(tuple(times), EVERY_DAY), timedelta(seconds=grace), enabled)


WAKE_UP = entry("wake-up", time(6, 45))


def test_it_is_prepared_before_woken_for_and_said_on_the_second():
    house = House(WAKE_UP)
    house.until(2, 7)
    assert house.prepared[:2] == [("wake-up", "01 06:40:00"), ("wake-up", "02 06:40:00")]
    assert house.woken == ["01 06:44:58", "02 06:44:58"]
    assert house.said == [("wake-up", "01 06:45:00", "01 06:45:00"), ("wake-up", "02 06:45:00", "02 06:45:00")]
    assert house.missed == []


def test_what_is_closer_than_the_preparation_time_is_prepared_at_once():
    house = House(WAKE_UP, start=datetime(2026, 12, 1, 6, 43, tzinfo=TOKYO))
    house.until(1, 6, 44)
    assert house.prepared == [("wake-up", "01 06:43:00")]


def test_disabled_entries_do_nothing():
    house = House(entry("off", time(6), enabled=False))
    house.until(3, 7)
    assert (house.said, house.scheduler.next) == ([], None)


def test_a_forward_step_before_the_moment_does_not_make_it_late():
    house = House(WAKE_UP)
    house.clock.step(3600)
    house.scheduler.clock_stepped()
    house.until(1, 7)
    assert house.said == [("wake-up", "01 06:45:00", "01 06:45:00")]


def test_a_forward_step_over_the_moment_says_it_late_within_its_grace():
    house = House(WAKE_UP)
    house.until(1, 6, 44, 30)
    house.clock.step(60)
    house.scheduler.clock_stepped()
    assert house.said == [("wake-up", "01 06:45:00", "01 06:45:30")]
    house.until(1, 7)
    assert len(house.said) == 1


def test_what_a_step_jumped_over_by_more_is_missed_once_with_its_count():
    house = House(Entry("chime", Rule(cron="*/10 * * * *"), timedelta(seconds=60)), WAKE_UP)
    house.clock.step(3 * 3600 + 5 * 60)
    house.scheduler.clock_stepped()
    assert house.missed == [("chime", "01 05:10:00", 18), ("wake-up", "01 06:45:00", 1)]
    assert house.said == []
    house.until(1, 8, 11)
    assert house.said == [("chime", "01 08:10:00", "01 08:10:00")]


def test_a_step_from_1970_is_no_storm():
    house = House(Entry("chime", Rule(cron="* * * * *"), timedelta(seconds=5)), start=datetime(1970, 1, 1, tzinfo=UTC))
    house.clock.step(56 * 365 * 86_400)
    house.scheduler.clock_stepped()
    assert len(house.missed) == 1
    assert house.said == []


def test_a_backward_step_does_not_say_it_twice():
    house = House(WAKE_UP)
    house.until(1, 6, 46)
    house.clock.step(-600)
    house.scheduler.clock_stepped()
    house.until(1, 8)
    assert house.said == [("wake-up", "01 06:45:00", "01 06:45:00")]
    house.until(2, 8)
    assert len(house.said) == 2


def test_a_backward_step_before_the_moment_waits_for_the_true_moment():
    house = House(WAKE_UP)
    house.until(1, 6, 44)
    house.clock.step(-1800)
    # Without a look at the clock the timer would fire half an hour early.
    house.timers.run_until(house.clock.now() + timedelta(minutes=5))
    assert house.said == []
    house.until(1, 7)
    assert house.said == [("wake-up", "01 06:45:00", "01 06:45:00")]


def test_the_guard_notices_steps_in_both_directions():
    import asyncio

    async def scenario():
        house = House(WAKE_UP)
        stepped = []
        house.scheduler.clock_stepped = lambda: stepped.append(house.local())
        task = asyncio.create_task(house.scheduler.guard())
        for action in (
            lambda: None,
            lambda: house.clock.step(0.5),
            lambda: house.clock.step(3600),
            lambda: house.clock.step(-90),
        ):
            action()
            await asyncio.sleep(0)
            house.clock.advance(1.0)
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        return len(stepped)

    assert asyncio.run(scenario()) == 2


def test_a_reload_keeps_what_happened_and_plans_the_rest():
    house = House(WAKE_UP)
    house.until(1, 6, 45, 30)
    house.scheduler.replace([entry("wake-up", time(6, 45), time(7, 15)), entry("new", time(7, 0))])
    house.until(1, 8)
    assert [name for name, _, _ in house.said] == ["wake-up", "new", "wake-up"]


def test_upcoming_is_merged_and_in_order():
    house = House(WAKE_UP, entry("noon", time(12)))
    assert [(o.entry.id, house.local(o.due)) for o in house.scheduler.upcoming(3)] == [
        ("wake-up", "01 06:45:00"),
        ("noon", "01 12:00:00"),
        ("wake-up", "02 06:45:00"),
    ]


@pytest.mark.parametrize(
    ("zone", "rings"), [("Europe/Berlin", 365), ("America/New_York", 365), ("Australia/Lord_Howe", 365)]
)
def test_a_year_has_one_ring_a_day_whatever_the_clocks_do(zone, rings):
    info = ZoneInfo(zone)
    house = House(entry("early", time(2, 30)), start=datetime(2026, 1, 1, tzinfo=info), zone=info)
    house.timers.run_until(datetime(2027, 1, 1, tzinfo=info))
    assert len(house.said) == rings
    assert house.missed == []
