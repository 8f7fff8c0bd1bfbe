import asyncio
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.announcement import Announcement, Priority
from daemon.commands import Commands
from daemon.config import ConfigError, parse_config
from daemon.errors import RequestError
from daemon.mix import Mix
from daemon.quiet import (
    Action,
    Mode,
    QuietPlan,
    QuietRange,
    Span,
    VolumeRange,
    current_end,
    judge,
    next_boundary,
    volume_at,
)
from daemon.quiet_keeper import QuietKeeper, add_quiet_commands
from daemon.schedule.calendar import Calendar
from daemon.schedule.words import parse_days
from tests.fakes.announcing import House, run
from tests.fakes.clock import FakeClock

TOKYO = ZoneInfo("Asia/Tokyo")
BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = Span(time(22, 30), time(6, 30))


def at(text, zone=TOKYO):
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


def end_of(span, moment, zone=TOKYO):
    end = current_end(span, at(moment, zone), Calendar(zone))
    return end and end.astimezone(zone).strftime("%m-%d %H:%M")


def said(priority=Priority.NORMAL, origin="mqtt", **fields):
    return Announcement(fields.pop("id", "a"), "文です。", origin, at("2026-11-30T23:00"), 0.0, priority, **fields)


@pytest.mark.parametrize(
    ("moment", "end"),
    [
        ("2026-11-30T22:29:59", None),
        ("2026-11-30T22:30:00", "12-01 06:30"),
        ("2026-11-30T23:59:59", "12-01 06:30"),
        ("2026-12-01T00:00:00", "12-01 06:30"),
        ("2026-12-01T06:29:59", "12-01 06:30"),
        ("2026-12-01T06:30:00", None),
    ],
)
def test_a_range_over_midnight_begins_with_its_minute_and_ends_with_it(moment, end):
    assert end_of(NIGHT, moment) == end


def test_days_are_those_on_which_a_range_begins():
    friday = Span(time(23), time(9), parse_days(["fri"]))
    assert end_of(friday, "2026-12-04T23:30") == "12-05 09:00"  # a Friday
    assert end_of(friday, "2026-12-05T08:00") == "12-05 09:00"
    assert end_of(friday, "2026-12-05T23:30") is None
    assert end_of(friday, "2026-12-04T08:00") is None


def test_a_range_that_ends_when_it_begins_is_a_whole_day():
    assert end_of(Span(time(8), time(8), parse_days(["sun"])), "2026-12-07T07:59") == "12-07 08:00"


@pytest.mark.parametrize(
    ("moment", "end", "hours"),
    [
        ("2027-03-27T22:30", "03-28 06:30", 7),
        ("2026-10-24T22:30", "10-25 06:30", 9),
        ("2026-10-20T22:30", "10-21 06:30", 8),
    ],
)
def test_a_night_in_which_clocks_change_is_an_hour_shorter_or_longer(moment, end, hours):
    assert end_of(NIGHT, moment, BERLIN) == end
    begin = at(moment, BERLIN)
    assert (current_end(NIGHT, begin, Calendar(BERLIN)) - begin).total_seconds() == hours * 3600


def test_an_end_in_the_hour_that_spring_leaves_out_is_the_end_of_the_gap():
    span = Span(time(23), time(2, 30))
    assert end_of(span, "2027-03-28T01:59", BERLIN) == "03-28 03:00"
    assert end_of(span, "2027-03-28T03:00", BERLIN) is None


@given(st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)), st.sampled_from([TOKYO, BERLIN]))
def test_within_a_range_the_next_boundary_is_never_after_its_end(moment, zone):
    now, calendar = moment.replace(tzinfo=UTC), Calendar(zone)
    end = current_end(NIGHT, now, calendar)
    boundary = next_boundary([NIGHT], now, calendar)
    assert boundary > now
    assert boundary - now <= timedelta(hours=17)
    if end is not None:
        assert boundary <= end
    else:
        assert current_end(NIGHT, boundary, calendar) is not None


RANGES = (
    QuietRange(NIGHT, Action.DEFER, Priority.HIGH),
    QuietRange(Span(time(21), time(7)), Action.SOFTEN, Priority.CRITICAL, 20),
    QuietRange(Span(time(12), time(13)), Action.DROP, Priority.NORMAL),
)


@pytest.mark.parametrize(
    ("moment", "announcement", "action"),
    [
        ("2026-11-30T23:00", said(), Action.DEFER),
        ("2026-11-30T23:00", said(Priority.LOW), Action.DEFER),
        ("2026-11-30T23:00", said(Priority.HIGH), Action.SOFTEN),
        ("2026-11-30T23:00", said(Priority.CRITICAL), Action.SAY),
        ("2026-11-30T23:00", said(Priority.LOW, "alarm"), Action.SAY),
        ("2026-11-30T21:30", said(), Action.SOFTEN),
        ("2026-11-30T12:30", said(Priority.LOW), Action.DROP),
        ("2026-11-30T12:30", said(), Action.SAY),
        ("2026-11-30T15:00", said(Priority.LOW), Action.SAY),
    ],
)
def test_the_first_range_that_means_the_priority_decides(moment, announcement, action):
    assert judge(announcement, RANGES, Mode.AUTO, at(moment), Calendar(TOKYO)).action is action


def test_by_hand_it_is_quiet_at_any_hour_or_at_none():
    noon = at("2026-11-30T15:00")
    assert judge(said(), RANGES, Mode.ON, noon, Calendar(TOKYO)).action is Action.DEFER
    assert judge(said(), (), Mode.ON, noon, Calendar(TOKYO)).action is Action.DEFER
    assert judge(said(Priority.HIGH), (), Mode.ON, noon, Calendar(TOKYO)).action is Action.SAY
    assert judge(said(), RANGES, Mode.OFF, at("2026-11-30T23:00"), Calendar(TOKYO)).action is Action.SAY


def test_the_volume_of_the_first_range_that_holds():
    ranges = (VolumeRange(Span(time(22), time(7)), 20), VolumeRange(Span(time(0), time(23)), 50))
    assert [volume_at(ranges, at(f"2026-11-30T{hour}"), Calendar(TOKYO)) for hour in ("06:00", "12:00", "23:30")] == [
        20,
        50,
        20,
    ]
    assert volume_at((), at("2026-11-30T12:00"), Calendar(TOKYO)) is None


def test_the_volume_of_an_announcement_its_own_then_its_prioritys_then_the_nodes():
    mix = Mix(60, by_priority={Priority.LOW: 30, Priority.CRITICAL: 100})
    assert [mix.volume_of(said(p)) for p in Priority] == [30, 60, 60, 60, 100]
    assert mix.volume_of(said(Priority.LOW, volume=70)) == 70
    assert mix.volume_of(said(volume=70, loudest=20)) == 20
    assert mix.volume_of(said(loudest=80)) == 60


class FakeAnnouncer:
    def __init__(self, volume=60):
        self.mix = Mix(volume)
        self.calls = []

    def submit(self, announcement):
        self.calls.append(("submit", announcement.text, announcement.priority))
        return True

    def readmit(self, announcement):
        self.calls.append(("resume", announcement.id))
        self.resumed = announcement
        return True

    def give_up(self, announcement, kind, reason):
        self.calls.append((kind, announcement.id))

    def set_volume(self, volume):
        self.mix = Mix(volume)


def keeper_at(moment, *, ranges=RANGES, volumes=(), summary="{count}件です。", limit=50):
    clock, announcer = FakeClock(at(moment)), FakeAnnouncer()
    keeper = QuietKeeper(clock, QuietPlan(Calendar(TOKYO), ranges, volumes, summary, None, limit))
    keeper.attach(announcer)
    return keeper, clock, announcer


def to(clock, moment):
    clock.advance((at(moment) - clock.now()).total_seconds())


def test_what_was_deferred_is_said_in_order_after_a_summary_and_what_expired_is_not():
    keeper, clock, announcer = keeper_at("2026-11-30T23:00")
    start = clock.monotonic()
    deferred = [
        {},
        {"max_wait": 3600.0},
        {"max_wait": 600.0, "default_wait": True},
        {"expires": at("2026-12-01T05:00")},
    ]
    for number, fields in enumerate(deferred):
        assert keeper.hold(replace(said(id=str(number), **fields), received_at=start))
    keeper.check()
    assert announcer.calls == []
    to(clock, "2026-12-01T05:30")
    keeper.check()
    assert announcer.calls == [("expired", "1"), ("expired", "3")]
    assert keeper.snapshot() == {
        "quiet": True,
        "quiet_mode": "auto",
        "quiet_until": "2026-12-01T07:00:00+09:00",
        "deferred": 2,
    }
    to(clock, "2026-12-01T06:30")
    keeper.check()
    assert announcer.calls[2:] == [("submit", "2件です。", Priority.NORMAL), ("resume", "0"), ("resume", "2")]
    assert not announcer.resumed.expired(clock.now(), clock.monotonic() + 590)  # a default expiry begins now
    assert announcer.resumed.expired(clock.now(), clock.monotonic() + 610)
    assert announcer.resumed.loudest == 20  # until 7:00 it is softened still
    assert keeper.snapshot()["deferred"] == 0


def test_the_keeper_wakes_on_the_second_and_after_a_step_of_the_clock():
    async def scenario():
        keeper, clock, announcer = keeper_at("2026-12-01T06:29:50")
        keeper.hold(said())
        task = asyncio.create_task(keeper.run())
        await asyncio.sleep(0)
        clock.advance(9.9)
        await asyncio.sleep(0)
        assert announcer.calls == []
        clock.advance(0.2)
        await asyncio.sleep(0)
        assert announcer.calls[-1] == ("resume", "a")
        clock.step(16 * 3600)
        keeper.hold(said(id="b"))
        clock.step(9 * 3600)
        clock.advance(21)
        for _ in range(3):
            await asyncio.sleep(0)
        assert announcer.calls[-1] == ("resume", "b")
        task.cancel()

    asyncio.run(scenario())


def test_the_volume_turns_with_the_hours_and_comes_back():
    keeper, clock, announcer = keeper_at("2026-11-30T21:00", volumes=(VolumeRange(NIGHT, 20),))
    announcer.set_volume(70)
    keeper.check()
    assert announcer.mix.volume == 70
    to(clock, "2026-11-30T22:30")
    keeper.check()
    assert announcer.mix.volume == 20
    announcer.set_volume(35)  # somebody wants it louder tonight
    to(clock, "2026-12-01T03:00")
    keeper.check()
    assert announcer.mix.volume == 35
    to(clock, "2026-12-01T06:30")
    keeper.check()
    assert announcer.mix.volume == 70


def test_commands_of_the_quiet_hours():
    keeper, _, announcer = keeper_at("2026-11-30T23:00", summary="")
    commands = Commands()
    add_quiet_commands(commands, keeper)
    keeper.hold(said(id="1"))
    assert commands.carry_out("do/release", "") == ["1"]
    keeper.hold(said(id="2"))
    assert commands.carry_out("do/forget", "") == ["2"]
    keeper.hold(said(id="3"))
    commands.carry_out("set/quiet", "OFF")
    assert announcer.calls == [("resume", "1"), ("dropped", "2"), ("resume", "3")]
    commands.carry_out("set/quiet", "auto")
    assert keeper.snapshot()["quiet"]
    with pytest.raises(RequestError, match="quiet: ON, OFF or auto is expected, got 'loud'"):
        commands.carry_out("set/quiet", "loud")


def test_so_many_are_deferred_and_no_more():
    keeper, _, announcer = keeper_at("2026-11-30T23:00", limit=2)
    assert [keeper.hold(said(id=str(n))) for n in range(3)] == [True, True, False]
    keeper.shut_down()
    assert announcer.calls == [("dropped", "0"), ("dropped", "1")]


def test_the_announcer_defers_drops_and_softens(tmp_path):
    async def scenario():
        clock = FakeClock(at("2026-11-30T23:00"))
        keeper = QuietKeeper(clock, QuietPlan(Calendar(TOKYO), RANGES, (), "まとめ"))
        async with House(tmp_path, paced=False, quiet=keeper) as house:
            keeper.attach(house.announcer)
            later, now = house.say("あと"), house.say("いま", priority=Priority.HIGH)
            await house.ended(now)
            assert house.story(later) == ["accepted", "deferred"]
            assert (await house.until("deferred")).details["until"] == "2026-12-01T06:30:00+09:00"
            quiet = abs(house.sink.sound()).max()
            clock.advance(10 * 3600)
            keeper.check()
            await house.ended(later)
            assert house.story(later) == ["accepted", "deferred", "queued", "started", "finished"]
            finished = [house.voice.spoken[-2:], abs(house.sink.sound()).max() / quiet]
            assert finished == [["まとめ", "あと"], pytest.approx((100 / 20) ** 2, rel=0.05)]
            clock.advance((at("2026-12-01T12:30") - clock.now()).total_seconds())
            refused = house.say("低い", priority=Priority.LOW)
            assert house.story(refused) == ["accepted", "dropped"]

    run(scenario())


def plan_of(text):
    return parse_config(text).quiet_plan


def test_the_configuration_of_quiet_hours():
    plan = plan_of(
        "timezone: Asia/Tokyo\n"
        "quiet_hours:\n"
        '  - {from: "22:30", to: "06:30", days: mon-fri}\n'
        "  - {from: 13:00, to: 15:00, action: soften, below: critical, volume: 10}\n"
        "volumes:\n  - {from: 22:00, to: 7:00, volume: 15}\n"
        "announcements: {volume_by_priority: {low: 20}, deferred_summary: ''}\n"
    )
    assert plan.ranges[0] == QuietRange(
        Span(time(22, 30), time(6, 30), parse_days(["mon-fri"])), Action.DEFER, Priority.HIGH
    )
    assert plan.ranges[1] == QuietRange(Span(time(13), time(15)), Action.SOFTEN, Priority.CRITICAL, 10)
    assert plan.volumes == (VolumeRange(Span(time(22), time(7)), 15),)
    assert plan.summary == ""


def test_workdays_of_a_zone_without_a_country_are_asked_about():
    text = "timezone: UTC\nvolumes:\n  - {from: 22:00, to: 7:00, volume: 5, days: workdays}\n"
    with pytest.raises(ConfigError, match=r"volumes\[0\]\.days: whose holidays are meant is not clear"):
        parse_config(text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{from: 25:00, to: 6:00}", "quiet_hours[0].from: a time of day"),
        ("{from: 22:00}", "quiet_hours[0]: the key 'to' is missing"),
        ("{from: 22:00, to: 6:00, action: shout}", "quiet_hours[0].action"),
        ("{from: 22:00, to: 6:00, below: low}", "quiet_hours[0].below"),
        ("{from: 22:00, to: 6:00, volume: 10}", "volume goes with action: soften"),
        ("{from: 22:00, to: 6:00, days: [someday]}", "quiet_hours[0].days"),
    ],
)
def test_mistakes_in_quiet_hours_are_named(line, words):
    with pytest.raises(ConfigError) as caught:
        parse_config(f"quiet_hours:\n  - {line}\n")
    assert words in str(caught.value)
