import time as clock
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.schedule.calendar import Calendar
from daemon.schedule.days import Days, Weekdays
from daemon.schedule.planner import local_moment, next_occurrence, occurrences
from daemon.schedule.rules import Rule, check_cron
from daemon.schedule.words import parse_days

TOKYO, BERLIN = ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Berlin")


def local(rule, after, zone, count):
    moments = islice(
        occurrences(rule, after.replace(tzinfo=zone) if after.tzinfo is None else after, Calendar(zone)), count
    )
    return [f"{m.astimezone(zone):%a %Y-%m-%d %H:%M %z}" for m in moments]


def test_times_on_days():
    rule = Rule((time(7, 30), time(6, 0)), parse_days(["mon", "wed"]))
    # 2026-11-30 is a Monday.
    assert local(rule, datetime(2026, 11, 30, 6, 0), TOKYO, 4) == [
        "Mon 2026-11-30 07:30 +0900",
        "Wed 2026-12-02 06:00 +0900",
        "Wed 2026-12-02 07:30 +0900",
        "Mon 2026-12-07 06:00 +0900",
    ]


def test_a_rule_of_dates_ends():
    rule = Rule((time(7),), parse_days(["2026-12-24"]))
    assert local(rule, datetime(2026, 12, 1), TOKYO, 5) == ["Thu 2026-12-24 07:00 +0900"]
    assert next_occurrence(rule, datetime(2026, 12, 24, 7, tzinfo=TOKYO), Calendar(TOKYO)) is None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("30 7 * * 1", "Mon 2026-12-07 07:30 +0900"),
        ("30 7 * * mon", "Mon 2026-12-07 07:30 +0900"),
        ("30 7 * * 0", "Sun 2026-12-06 07:30 +0900"),
        ("30 7 * * 7", "Sun 2026-12-06 07:30 +0900"),
        ("30 7 * * 1-5", "Tue 2026-12-01 07:30 +0900"),
        ("0 7 13 * 5", "Fri 2026-12-04 07:00 +0900"),
        ("0 20 * * *", "Mon 2026-11-30 20:00 +0900"),
    ],
)
def test_monday_means_monday_in_cron(expression, expected):
    assert local(Rule(cron=expression), datetime(2026, 11, 30, 12), TOKYO, 1) == [expected]


@pytest.mark.parametrize(
    "expression", ["", "* * * *", "60 * * * *", "0 24 * * *", "0 0 31 2 *", "0 0 30 2 *", "@daily", "0 0 * * 8", "x"]
)
def test_impossible_cron_rules_are_refused(expression):
    with pytest.raises(ValueError, match=r"cron"):
        check_cron(expression)


@pytest.mark.parametrize("rule", [Rule((time(2, 30),)), Rule(cron="30 2 * * *")])
def test_an_alarm_in_the_spring_gap_rings_once_when_the_gap_ends(rule):
    assert local(rule, datetime(2026, 3, 28, 12), BERLIN, 2) == [
        "Sun 2026-03-29 03:00 +0200",
        "Mon 2026-03-30 02:30 +0200",
    ]


@pytest.mark.parametrize("rule", [Rule((time(2, 30),)), Rule(cron="30 2 * * *")])
def test_an_alarm_in_the_repeated_hour_rings_once(rule):
    assert local(rule, datetime(2026, 10, 24, 12), BERLIN, 2) == [
        "Sun 2026-10-25 02:30 +0200",
        "Mon 2026-10-26 02:30 +0100",
    ]


def test_a_change_of_half_an_hour():
    zone = ZoneInfo("Australia/Lord_Howe")
    assert local_moment(date(2026, 10, 4), time(2, 15), zone).astimezone(zone).time() == time(2, 30)
    rule = Rule((time(1, 45),))
    assert local(rule, datetime(2026, 4, 4, 12), zone, 2) == [
        "Sun 2026-04-05 01:45 +1100",
        "Mon 2026-04-06 01:45 +1030",
    ]


def test_twice_an_hour_follows_elapsed_time_through_the_repeated_hour():
    moments = list(
        islice(occurrences(Rule(cron="*/30 * * * *"), datetime(2026, 10, 25, 0, 0, tzinfo=BERLIN), Calendar(BERLIN)), 8)
    )
    assert {b - a for a, b in zip(moments, moments[1:])} == {timedelta(minutes=30)}


def test_29_february_is_found_years_ahead():
    assert local(Rule(cron="0 7 29 2 *"), datetime(2026, 3, 1), TOKYO, 1) == ["Tue 2028-02-29 07:00 +0900"]


ZONES = sorted(available_timezones() - {"localtime", "Factory"})


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(ZONES),
    st.times().map(lambda t: t.replace(microsecond=0, tzinfo=None, fold=0)),
    st.sets(st.integers(0, 6), min_size=1),
    st.datetimes(datetime(2020, 1, 1), datetime(2036, 1, 1)),
)
def test_occurrences_are_later_ordered_and_one_for_each_local_date(name, at, weekdays, start):
    zone = ZoneInfo(name)
    after = start.replace(tzinfo=UTC)
    found = list(islice(occurrences(Rule((at,), Days((Weekdays(frozenset(weekdays)),))), after, Calendar(zone)), 12))
    assert len(found) == 12
    assert all(b > a for a, b in zip([after, *found], found))
    days = [moment.astimezone(zone).date() for moment in found]
    gap = [moment for moment in found if moment.astimezone(zone).time().replace(fold=0) != at]
    assert len(set(days)) == len(days) or gap
    assert all(day.weekday() in weekdays for day, moment in zip(days, found) if moment not in gap)


def test_the_end_of_the_calendar_is_never_due_and_no_error():
    rule = Rule((time(23, 59),), parse_days(["9999-12-31"]))
    for zone in ("Asia/Tokyo", "Pacific/Honolulu", "UTC"):
        assert next_occurrence(rule, datetime(2026, 12, 1, tzinfo=UTC), Calendar(ZoneInfo(zone))) is None


def test_many_times_a_day_are_planned_quickly():
    times = tuple(time(minute // 60, minute % 60) for minute in range(1440))
    begun = clock.process_time()
    assert len(list(islice(occurrences(Rule(times), datetime(2026, 12, 1, tzinfo=UTC), Calendar(TOKYO)), 3000))) == 3000
    assert clock.process_time() - begun < 0.5


def test_a_rule_of_one_moment_is_due_then_also_in_the_hour_that_autumn_repeats():
    second = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)  # 2:30 in Berlin for the second time
    rule = Rule((time(2, 30),), parse_days(["2026-10-25"]), moment=second)
    assert local(rule, datetime(2026, 10, 24), BERLIN, 3) == ["Sun 2026-10-25 02:30 +0100"]
    assert next_occurrence(rule, second, Calendar(BERLIN)) is None
