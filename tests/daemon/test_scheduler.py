from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.schedule.calendar import Calendar
from daemon.schedule.days import EVERY_DAY
from daemon.schedule.plan import Exceptions, Vacation
from daemon.schedule.rules import Rule
from daemon.schedule.scheduler import Entry, Forgetful, Reactions, Scheduler
from tests.fakes.clock import FakeClock, FakeTimers

TOKYO = ZoneInfo("Asia/Tokyo")
START = datetime(2026, 12, 1, 5, 0, tzinfo=TOKYO)


class House:
    def __init__(self, *entries, start=START, zone=TOKYO, history=None, alive=None):
        self.clock = FakeClock(start)
        self.timers = FakeTimers(self.clock)
        self.zone = zone
        self.said, self.missed, self.prepared, self.woken, self.noticed = [], [], [], [], []
        self.scheduler = Scheduler(
            clock=self.clock,
            timers=self.timers,
            calendar=Calendar(zone),
            history=history,
            alive=alive,
            reactions=Reactions(
                prepare=lambda o: self.prepared.append((o.entry.id, self.local())),
                wake=lambda: self.woken.append(self.local()),
                due=lambda o: self.said.append((o.entry.id, self.local(o.due), self.local())),
                missed=lambda m: self.missed.append((m.occurrence.entry.id, self.local(m.occurrence.due), m.count)),
                notice=lambda o, ahead: self.noticed.append((o.entry.id, str(ahead), self.local())),
            ),
        )
        self.scheduler.replace(entries)

    def local(self, moment=None):
        return f"{(moment or self.clock.now()).astimezone(self.zone):%d %H:%M:%S}"

    def until(self, *when):
        self.timers.run_until(datetime(2026, 12, *when, tzinfo=self.zone))


def entry(name, *times, grace=60, enabled=True):
    return Entry(name, Rule(tuple(times), EVERY_DAY), timedelta(seconds=grace), Exceptions(enabled))


WAKE_UP = entry("wake-up", time(6, 45))


def test_it_is_prepared_before_woken_for_and_said_on_the_second():
    house = House(WAKE_UP)
    house.until(2, 7)
    assert house.prepared[:2] == [("wake-up", "01 06:40:00"), ("wake-up", "02 06:40:00")]
    assert house.woken == ["01 06:44:56", "02 06:44:56"]
    assert house.said == [("wake-up", "01 06:45:00", "01 06:44:58"), ("wake-up", "02 06:45:00", "02 06:44:58")]
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
    assert house.said == [("wake-up", "01 06:45:00", "01 06:44:58")]


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
    assert house.said == [("chime", "01 08:10:00", "01 08:09:58")]


def test_nothing_is_due_while_the_clock_is_not_set():
    house = House(Entry("chime", Rule(cron="* * * * *"), timedelta(seconds=5)), start=datetime(1970, 1, 1, tzinfo=UTC))
    house.timers.run_until(house.clock.now() + timedelta(minutes=5))
    assert (house.said, house.missed, house.scheduler.clock_is_set, house.scheduler.upcoming(1)) == ([], [], False, [])


def set_at_last(house, *when):
    """NTP answers: the wall clock is set to a moment of December 2026."""
    house.clock.step((datetime(2026, 12, *when, tzinfo=TOKYO) - house.clock.now()).total_seconds())
    house.scheduler.clock_stepped()


def test_what_was_due_while_the_clock_was_not_set_rings_when_it_is():
    house = House(entry("wake-up", time(6, 45), grace=900), start=datetime(1970, 1, 1, tzinfo=UTC))
    house.timers.run_until(house.clock.now() + timedelta(minutes=5))
    set_at_last(house, 1, 6, 48)  # so the service began at 06:43
    assert house.said == [("wake-up", "01 06:45:00", "01 06:48:00")]
    assert house.missed == []


def test_what_was_due_before_the_service_began_is_nothing_that_it_missed():
    house = House(entry("wake-up", time(6, 45), grace=900), start=datetime(1970, 1, 1, tzinfo=UTC))
    set_at_last(house, 1, 9)
    assert (house.said, house.missed) == ([], [])


def test_a_step_from_1970_is_no_storm():
    rule = Rule(cron="* * * * *")
    alive = datetime(2026, 11, 1, tzinfo=UTC)
    house = House(Entry("chime", rule, timedelta(seconds=5)), start=datetime(1970, 1, 1, tzinfo=UTC), alive=alive)
    set_at_last(house, 1, 9, 0, 30)
    assert house.missed == [("chime", "23 09:01:00", 8 * 1440)]  # eight days of them, told once
    assert house.said == []


def test_what_was_due_while_the_service_was_off_rings_late_or_is_missed():
    alive = datetime(2026, 12, 1, 6, 0, tzinfo=TOKYO)
    entries = entry("early", time(6, 30), grace=900), entry("wake-up", time(6, 45), grace=900)
    house = House(*entries, start=datetime(2026, 12, 1, 6, 50, tzinfo=TOKYO), alive=alive)
    assert house.said == [("wake-up", "01 06:45:00", "01 06:50:00")]
    assert house.missed == [("early", "01 06:30:00", 1)]


def test_a_restart_does_not_ring_again():
    history = Forgetful()
    house = House(WAKE_UP, history=history)
    house.until(1, 6, 45, 20)
    again = House(
        WAKE_UP, history=history, start=house.clock.now(), alive=datetime(2026, 12, 1, 6, 44, 30, tzinfo=TOKYO)
    )
    assert (again.said, again.missed) == ([], [])
    again.until(2, 7)
    assert again.said == [("wake-up", "02 06:45:00", "02 06:44:58")]


def test_the_clock_of_the_last_shutdown_and_a_late_ntp():
    """Power failed at 06:00; the board begins there again at 08:00 and learns the true time half a minute later."""
    alive = datetime(2026, 12, 1, 6, 0, tzinfo=TOKYO)
    house = House(entry("wake-up", time(6, 45), grace=900), start=alive, alive=alive)
    house.until(1, 6, 0, 30)
    set_at_last(house, 1, 8, 0, 30)
    assert (house.said, house.missed) == ([], [("wake-up", "01 06:45:00", 1)])


def test_of_several_within_their_grace_the_last_rings():
    house = House(entry("wake-up", time(6, 45), time(6, 50), time(6, 55), grace=900))
    house.until(1, 6, 44)
    house.clock.step(12 * 60)
    house.scheduler.clock_stepped()
    assert house.said == [("wake-up", "01 06:55:00", "01 06:56:00")]
    assert house.missed == [("wake-up", "01 06:45:00", 2)]


def test_what_was_missed_by_a_wrong_step_still_rings_when_the_clock_is_set_back():
    house = House(WAKE_UP)
    house.until(1, 6, 44)
    house.clock.step(7200)
    house.scheduler.clock_stepped()
    house.clock.step(-7200)
    house.scheduler.clock_stepped()
    house.until(1, 7)
    assert house.missed == [("wake-up", "01 06:45:00", 1)]
    assert house.said == [("wake-up", "01 06:45:00", "01 06:44:58")]


def test_notice_is_given_ahead():
    lamp = timedelta(minutes=30)
    house = House(Entry("wake-up", Rule((time(6, 45),)), timedelta(minutes=1), notices=(lamp, timedelta(minutes=5))))
    house.until(1, 7)
    assert house.noticed == [("wake-up", "0:30:00", "01 06:15:00"), ("wake-up", "0:05:00", "01 06:40:00")]


def test_notice_of_what_is_past_is_not_given():
    rule = Rule((time(6, 45),))
    ahead = (timedelta(minutes=30), timedelta(minutes=5))
    start = datetime(2026, 12, 1, 6, 20, tzinfo=TOKYO)
    house = House(Entry("wake-up", rule, timedelta(minutes=1), notices=ahead), start=start)
    house.until(1, 7)
    assert house.noticed == [("wake-up", "0:05:00", "01 06:40:00")]


def test_what_is_skipped_or_on_vacation_does_not_happen_and_is_not_missed():
    skipped = frozenset({datetime(2026, 12, 1, 6, 45, tzinfo=TOKYO).astimezone(UTC)})
    vacation = Vacation(date(2026, 12, 3), date(2026, 12, 4))
    exceptions = Exceptions(skipped=skipped, vacation=vacation)
    house = House(Entry("wake-up", Rule((time(6, 45),)), timedelta(minutes=1), exceptions))
    house.until(6, 7)
    assert [due for _, due, _ in house.said] == ["02 06:45:00", "05 06:45:00", "06 06:45:00"]
    house.clock.step(-4 * 86_400)
    house.scheduler.clock_stepped()
    assert house.missed == []


def test_a_backward_step_does_not_say_it_twice():
    house = House(WAKE_UP)
    house.until(1, 6, 46)
    house.clock.step(-600)
    house.scheduler.clock_stepped()
    house.until(1, 8)
    assert house.said == [("wake-up", "01 06:45:00", "01 06:44:58")]
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
    assert house.said == [("wake-up", "01 06:45:00", "01 06:44:58")]


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


def test_a_rule_for_ever_costs_no_more_than_what_is_past():
    looked_at = []

    class Counting(Forgetful):
        def happened(self, entry_id, due):
            looked_at.append(due)
            return super().happened(entry_id, due)

    house = House(WAKE_UP, history=Counting(), alive=START - timedelta(days=3))
    assert len(looked_at) < 10
    looked_at.clear()
    house.until(2, 7)
    house.scheduler.clock_stepped()
    assert len(looked_at) < 20


def test_entries_that_stay_are_not_planned_anew():
    many = [entry(f"a{number}", time(6, number)) for number in range(50)]
    house = House(*many)
    planned, plan = [], house.scheduler._plan
    house.scheduler._plan = lambda entry: (planned.append(entry.id), plan(entry))
    changed = entry("a7", time(9, 0))
    same = [entry(f"a{number}", time(6, number)) for number in range(50) if number not in (7, 8)]
    house.scheduler.replace([*same, changed, entry("new", time(6, 30))])
    assert planned == ["a7", "new"]
    house.until(1, 10)
    assert [name for name, *_ in house.said if name in ("a6", "a7", "a8", "new", "a30")] == ["a6", "a30", "new", "a7"]


def test_a_step_that_is_not_noticed_yet_is_caught_up_with_after_a_change():
    house = House(WAKE_UP)
    house.until(1, 6, 44)
    house.clock.step(120)  # over its moment; before the guard looks, somebody makes another alarm
    house.scheduler.replace([entry("wake-up", time(6, 45)), entry("nap", time(14))])
    house.scheduler.clock_stepped()
    assert [name for name, *_ in house.said] == ["wake-up"]
    house.until(1, 15)
    assert [name for name, *_ in house.said] == ["wake-up", "nap"]
