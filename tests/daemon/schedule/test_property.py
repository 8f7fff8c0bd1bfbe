"""Random rules in all time zones, held against a walk through time minute by minute."""

import calendar
import random
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daemon.config import RuleConfig
from daemon.config.values import parse_at
from daemon.schedule.calendar import Calendar, Holidays, Place
from daemon.schedule.dates import parse_dates
from daemon.schedule.days import Days, Weekdays
from daemon.schedule.planner import occurrences
from daemon.schedule.rules import Rule, parse_every
from daemon.schedule.sun import SunTime, sun_moment
from daemon.schedule.words import parse_days
from tests.daemon.schedule.enumerator import slow_occurrences

ZONES = sorted(available_timezones() - {"localtime", "Factory"})
NAMES = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
HOLIDAYS = Holidays(added=((parse_dates("05-03..05-06"), "五月"), (parse_dates("10-25..10-26"), "秋")))


def is_holiday(day):
    return (day.month, day.day) in {(5, 3), (5, 4), (5, 5), (5, 6), (10, 25), (10, 26)}


def is_nth(day, n, weekday):
    column = [week[weekday] for week in calendar.monthcalendar(day.year, day.month) if week[weekday]]
    return day.day in column[n - 1 : n or None] if n > 0 else day.day == column[-1]


def words_of_days(draw):
    """Words for days, and the same said in Python."""
    kind = draw.choice(["daily", "names", "range", "nth", "last", "workdays", "not", "eve", "mixed"])
    numbers = draw.sample(range(7), draw.randint(1, 6))
    first, last, n = draw.randrange(7), draw.randrange(7), draw.randint(1, 4)
    span = {(first + step) % 7 for step in range((last - first) % 7 + 1)}
    return {
        "daily": ("daily", lambda day: True),
        "names": (", ".join(NAMES[number] for number in numbers), lambda day: day.weekday() in numbers),
        "range": (f"{NAMES[first]}-{NAMES[last]}", lambda day: day.weekday() in span),
        "nth": (f"第{n}{'月火水木金土日'[first]}曜", lambda day: is_nth(day, n, first)),
        "last": (f"last {NAMES[first]}", lambda day: is_nth(day, -1, first)),
        "workdays": ("workdays", lambda day: day.weekday() not in {5, 6} and not is_holiday(day)),
        "not": ("not holidays", lambda day: not is_holiday(day)),
        "eve": ("祝前日", lambda day: is_holiday(day + timedelta(days=1))),
        "mixed": (
            f"{NAMES[first]} holidays !{n}th {NAMES[first]}",
            lambda day: (day.weekday() == first or is_holiday(day)) and not is_nth(day, n, first),
        ),
    }[kind]


def random_rule(draw, around):
    """A rule as the configuration has it, its times, and its days in Python."""
    times = [time(*divmod(draw.randrange(1440), 60)) for _ in range(draw.randint(1, 3))]
    words, holds = words_of_days(draw)
    keys = {"at": [f"{at:%H:%M}" for at in times], "days": words}
    if draw.random() < 0.3:
        start, count = around.date() - timedelta(days=draw.randrange(60)), draw.randint(1, 4)
        unit, of_days = draw.choice(["weeks", "days"]), holds
        monday = start - timedelta(days=start.weekday())
        keys |= {"every": f"{count} {unit}", "from": str(start)}

        def holds(day):  # the date that is counted from, and each that many later, until the day is met or passed
            counted = monday if unit == "weeks" else start
            while counted + timedelta(days=6 if unit == "weeks" else 0) < day:
                counted += timedelta(days=count * (7 if unit == "weeks" else 1))
            return day >= start and day >= counted and of_days(day)

    if draw.random() < 0.3:
        last, earlier = around.date() + timedelta(days=draw.randint(0, 3)), holds
        keys["until"] = str(last)
        return keys, times, lambda day: day <= last and earlier(day)
    return keys, times, holds


def check(zone, seed, around, days):
    draw = random.Random(seed)
    keys, times, holds = random_rule(draw, around)
    rule = RuleConfig.model_validate(keys).rule()
    after = around.astimezone(UTC) - timedelta(minutes=draw.randrange(2880))
    end = after + timedelta(days=days)
    found = list(takewhile(lambda due: due <= end, occurrences(rule, after, Calendar(zone, HOLIDAYS))))
    assert found == slow_occurrences(times, holds, zone, after, end), (zone.key, keys, after)


def changes(zone, draw):
    """A moment at which the clocks of a zone change, since 1975; a random one where they never do."""
    moments = [datetime(year, month, 1, tzinfo=UTC) for year in range(1975, 2038) for month in range(1, 13)]
    offsets = [moment.astimezone(zone).utcoffset() for moment in moments]
    found = [a for a, b, x, y in zip(moments, moments[1:], offsets, offsets[1:]) if x != y]
    if not found:
        return draw.choice(moments)
    early = draw.choice(found)
    late = early + timedelta(days=32)
    while late - early > timedelta(minutes=1):
        middle = early + (late - early) / 2
        if middle.astimezone(zone).utcoffset() == early.astimezone(zone).utcoffset():
            early = middle
        else:
            late = middle
    return late


@pytest.mark.parametrize("part", range(4))
def test_every_zone_agrees_with_the_slow_walk_where_its_clocks_change(part):
    for name in ZONES[part::4]:
        zone, draw = ZoneInfo(name), random.Random(name)
        check(zone, f"{name} {part}", changes(zone, draw), days=3)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(ZONES), st.integers(0, 10**9), st.datetimes(datetime(1976, 1, 1), datetime(2037, 1, 1)))
def test_random_rules_agree_with_the_slow_walk(name, seed, around):
    check(ZoneInfo(name), seed, around.replace(tzinfo=UTC), days=9)


# A gap that swallows a date, one at midnight, changes of half an hour, of three hours, at a minute past midnight.
ODD = [
    ("Pacific/Apia", datetime(2011, 12, 30, 12)),
    ("Pacific/Kwajalein", datetime(1993, 8, 21, 12)),
    ("Pacific/Kiritimati", datetime(1994, 12, 31, 12)),
    ("America/Sao_Paulo", datetime(2018, 11, 4, 4)),
    ("Africa/Cairo", datetime(2026, 4, 24, 2)),
    ("America/Havana", datetime(2026, 3, 8, 6)),
    ("America/Nuuk", datetime(2026, 3, 29, 2)),
    ("Australia/Lord_Howe", datetime(2026, 4, 5, 2)),
    ("Antarctica/Troll", datetime(2026, 3, 29, 2)),
    ("Antarctica/Casey", datetime(2020, 10, 4, 2)),
    ("America/St_Johns", datetime(2010, 11, 7, 4)),
    ("Asia/Pyongyang", datetime(2015, 8, 14, 16)),
    ("Africa/Casablanca", datetime(2026, 2, 15, 3)),
]


@pytest.mark.parametrize(("name", "around"), ODD)
def test_odd_changes_agree_with_the_slow_walk(name, around):
    for seed in range(5):
        check(ZoneInfo(name), f"{name} {seed}", around.replace(tzinfo=UTC), days=3)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(ZONES),
    st.times().map(lambda t: t.replace(microsecond=0, tzinfo=None, fold=0)),
    st.sets(st.integers(0, 6), min_size=1),
    st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1)),
)
def test_occurrences_are_later_ordered_and_one_for_each_local_date(name, at, weekdays, start):
    zone, after = ZoneInfo(name), start.replace(tzinfo=UTC)
    rule = Rule((at,), Days((Weekdays(frozenset(weekdays)),)))
    found = list(islice(occurrences(rule, after, Calendar(zone)), 12))
    assert len(found) == 12
    assert all(b > a for a, b in pairwise([after, *found]))
    walls = [moment.astimezone(zone).replace(tzinfo=None) for moment in found]
    # A gap across midnight moves an occurrence to the next date; it then shows a later time of day than the rule's.
    on_time = [wall.date() for wall in walls if wall.time() == at]
    assert len(on_time) == len(set(on_time))
    assert len({wall.date() for wall in walls}) >= 11
    assert all(day.weekday() in weekdays for day in on_time)


def check_cron_of_fixed_time(zone, around, at):
    after, end = around - timedelta(days=1), around + timedelta(days=2)
    rule = Rule(cron=f"{at.minute} {at.hour} * * *")
    found = list(takewhile(lambda due: due <= end, occurrences(rule, after, Calendar(zone))))
    assert found == slow_occurrences([at], lambda _: True, zone, after, end), (zone.key, around, at)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(ZONES), st.integers(0, 1439))
def test_a_cron_rule_at_a_fixed_time_agrees_with_the_slow_walk(name, minute):
    zone = ZoneInfo(name)
    check_cron_of_fixed_time(zone, changes(zone, random.Random(f"{name}{minute}")), time(*divmod(minute, 60)))


@pytest.mark.parametrize(("name", "around"), ODD)
def test_a_cron_rule_at_a_fixed_time_agrees_with_the_slow_walk_at_odd_changes(name, around):
    zone, around = ZoneInfo(name), around.replace(tzinfo=UTC)
    local = around.astimezone(zone)
    for minutes in range(-90, 91, 15):
        check_cron_of_fixed_time(zone, around, (local + timedelta(minutes=minutes)).time())


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(ZONES),
    st.floats(-64, 64),
    st.floats(-180, 180),
    st.lists(st.tuples(st.sampled_from(["sunrise", "sunset"]), st.integers(-720, 720)), min_size=1, max_size=3),
    st.datetimes(datetime(2000, 1, 1), datetime(2037, 1, 1)),
)
@example("Asia/Tokyo", 35.7, 139.8, [("sunset", 720), ("sunrise", -720), ("sunrise", 0)], datetime(2026, 12, 1))
@example("Asia/Tokyo", 35.7, 139.8, [("sunset", 700)], datetime(2026, 12, 1, 16))  # 01:00 of the next date
def test_rules_by_the_sun_agree_with_the_sun_of_each_date(name, latitude, longitude, events, start):
    zone, place, after = ZoneInfo(name), Place(latitude, longitude), start.replace(tzinfo=UTC)
    times = tuple(SunTime(event, timedelta(minutes=minutes)) for event, minutes in events)
    found = list(islice(occurrences(Rule(times), after, Calendar(zone, None, place)), 10))
    dates = [start.date() + timedelta(days=number) for number in range(-4, 16)]
    moments = {sun_moment(day, at, place, zone) for day in dates for at in times}
    assert found == sorted(moment for moment in moments if moment and moment > after)[:10]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["mon", "-", "fri", "第", "2", "二", "土", "曜", "日", "・", ",", " ", "!", "not", "last", "3rd", "1", "..", "〜", "12-24",
             "2026-12-24", "月", "年", "2026-", "祝", "workdays", "最終", "and", "²", "٣", "毎週", "\n", "\x00", "😀"]
        ),
        max_size=8,
    )
)  # fmt: skip
def test_whatever_is_written_is_days_or_one_sentence(parts):
    text = "".join(parts)
    for read in (
        lambda: parse_days([text]),
        lambda: parse_every(text),
        lambda: parse_at(text),
        lambda: parse_dates(text),
    ):
        problem, value = None, None
        try:
            value = read()
        except ValueError as error:
            problem = str(error)
        assert len(problem.splitlines()) == 1 if problem else hash(value) is not None


def test_dates_are_dates():
    assert is_nth(date(2026, 12, 12), 2, 5)
    assert is_nth(date(2026, 12, 25), -1, 4)
    assert not is_nth(date(2026, 12, 18), -1, 4)
