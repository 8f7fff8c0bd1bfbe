"""From the keys of a rule to the rule, and which of them cannot be."""

from datetime import date, datetime, time
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from daemon.config import ConfigError, RuleConfig, parse_config
from daemon.schedule.calendar import Calendar, Holidays
from daemon.schedule.days import EVERY_DAY, Days, Weekdays
from daemon.schedule.planner import next_occurrence, occurrences
from daemon.schedule.rules import Every, Rule

TOKYO = ZoneInfo("Asia/Tokyo")
JAPAN = Calendar(TOKYO, Holidays("JP"))


def rule_of(**keys):
    return RuleConfig.model_validate({key.rstrip("_"): value for key, value in keys.items()}).rule()


def local(rule, after, count, calendar=JAPAN):
    moments = islice(occurrences(rule, datetime.fromisoformat(after).replace(tzinfo=calendar.zone), calendar), count)
    return [f"{moment.astimezone(calendar.zone):%a %Y-%m-%d %H:%M}" for moment in moments]


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"at": "7:00"}, Rule((time(7),), EVERY_DAY)),
        (
            {"at": ["7:00", "19:30:15"], "days": "mon"},
            Rule((time(7), time(19, 30, 15)), Days((Weekdays(frozenset({0})),))),
        ),
        ({"at": "7:00", "from": "2026-12-01"}, Rule((time(7),), EVERY_DAY, None, date(2026, 12, 1))),
        ({"at": "7:00", "until": "2026年12月1日"}, Rule((time(7),), EVERY_DAY, None, None, date(2026, 12, 1))),
        (
            {"at": "7:00", "every": "3 days", "from": "2026-12-01"},
            Rule((time(7),), EVERY_DAY, Every(3, "days", date(2026, 12, 1)), date(2026, 12, 1)),
        ),
        (  # without days, the weekday is that of the date
            {"at": "7:00", "every": "2 weeks", "from": "2026-12-03"},
            Rule(
                (time(7),),
                Days((Weekdays(frozenset({3})),)),
                Every(2, "weeks", date(2026, 12, 3)),
                date(2026, 12, 3),
            ),
        ),
        ({"cron": "0 7 * * 1", "until": "2026-12-31"}, Rule(cron="0 7 * * 1", last=date(2026, 12, 31))),
    ],
)
def test_keys_become_a_frozen_rule(keys, rule):
    assert RuleConfig.model_validate(keys).rule() == rule
    assert hash(rule) == hash(RuleConfig.model_validate(keys).rule())


@pytest.mark.parametrize(
    ("text", "count", "unit"),
    [
        ("2 weeks", 2, "weeks"),
        ("week", 1, "weeks"),
        ("every other week", 2, "weeks"),
        ("3days", 3, "days"),
        ("day", 1, "days"),
        ("隔週", 2, "weeks"),
        ("2週間", 2, "weeks"),
        ("２週間ごと", 2, "weeks"),
        ("隔日", 2, "days"),
        ("3日", 3, "days"),
    ],
)
def test_intervals_are_read(text, count, unit):
    assert rule_of(at="7:00", every=text, from_="2026-12-01").every == Every(count, unit, date(2026, 12, 1))


def test_every_second_week_counts_weeks_from_monday_to_sunday():
    # 2026-12-03 is a Thursday: its week counts, but nothing before it.
    rule = rule_of(at="7:00", days="tue, fri", every="2 weeks", from_="2026-12-03")
    assert local(rule, "2026-11-01", 5) == [
        "Fri 2026-12-04 07:00",
        "Tue 2026-12-15 07:00",
        "Fri 2026-12-18 07:00",
        "Tue 2026-12-29 07:00",
        "Fri 2027-01-01 07:00",
    ]


def test_every_third_day_goes_on_through_months_and_only_on_its_days():
    assert local(rule_of(at="7:00", every="3 days", from_="2026-12-28"), "2026-12-01", 4) == [
        "Mon 2026-12-28 07:00",
        "Thu 2026-12-31 07:00",
        "Sun 2027-01-03 07:00",
        "Wed 2027-01-06 07:00",
    ]
    assert local(rule_of(at="7:00", every="3日", from_="2026-12-28", days="not weekends"), "2026-12-29", 2) == [
        "Thu 2026-12-31 07:00",
        "Wed 2027-01-06 07:00",
    ]


@pytest.mark.parametrize("keys", [{"at": "7:00"}, {"cron": "0 7 * * *"}])
def test_from_and_until_are_included(keys):
    rule = rule_of(**keys, from_="2026-12-24", until="2026-12-26")
    assert local(rule, "2026-12-01", 9) == ["Thu 2026-12-24 07:00", "Fri 2026-12-25 07:00", "Sat 2026-12-26 07:00"]
    assert local(rule, "2026-12-25T07:00", 9) == ["Sat 2026-12-26 07:00"]
    assert local(rule, "2026-12-26T07:00", 9) == []


def test_a_cron_rule_begins_with_the_first_minute_of_its_first_date():
    assert local(rule_of(cron="*/30 * * * *", from_="2026-12-24"), "2026-12-01", 2) == [
        "Thu 2026-12-24 00:00",
        "Thu 2026-12-24 00:30",
    ]


def test_dates_far_ahead_are_found_and_past_ones_are_not():
    assert local(rule_of(at="7:00", days="2049-12-24"), "2026-12-01", 1) == ["Fri 2049-12-24 07:00"]
    assert local(rule_of(at="7:00", every="3 weeks", from_="2049-12-24"), "2026-12-01", 1) == ["Fri 2049-12-24 07:00"]
    assert local(rule_of(at="7:00", days="02-29"), "2096-03-01", 1) == ["Fri 2104-02-29 07:00"]
    assert next_occurrence(rule_of(at="7:00", days="2020-12-24"), datetime(2026, 1, 1, tzinfo=TOKYO), JAPAN) is None


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{at: 25:00, say: x}", ".at: a time such as 7:30, 06:45:30, sunrise or sunset-30m is expected, got '25:00'"),
        ("{at: 7:00, days: 2026-02-29, say: x}", ".days: 2026-02-29 is not a day of the calendar"),
        ("{at: 7:00, days: 6th sat, say: x}", ".days: '6th sat': '6th' never comes, a month has at most five of a weekday"),
        ("{cron: 0 0 31 2 *, say: x}", ".cron: five cron fields (minute hour day month weekday) are expected, got '0 0 31 2 *': Bad day-of-month"),
        ("{cron: 0 0 0 1 1 *, say: x}", ".cron: five cron fields (minute hour day month weekday) are expected, got '0 0 0 1 1 *'"),
        ("{at: 7:00, from: 2026-02-29, say: x}", ".from: 2026-02-29 is not a day of the calendar"),
        ("{at: 7:00, until: 12-24, say: x}", ".until: a date such as 2026-12-24 is expected, got '12-24'"),
        ("{at: 7:00, from: 2026-12-24, until: 2026-12-23, say: x}", ": until (2026-12-23) lies before from (2026-12-24)"),
        ("{at: 7:00, every: 2 weeks, say: x}", ": every needs from, the date that it counts from"),
        ("{at: 7:00, every: 2 months, from: 2026-12-01, say: x}", ".every: 2 weeks, week, 3 days, 2週間 or 隔週 (1 to 1000) is expected, got '2 months'"),
        ("{at: 7:00, every: 0 days, from: 2026-12-01, say: x}", ".every: 2 weeks, week, 3 days, 2週間 or 隔週 (1 to 1000) is expected, got '0 days'"),
        ("{at: 7:00, every: 2, from: 2026-12-01, say: x}", ".every: 2 weeks, week, 3 days, 2週間 or 隔週 (1 to 1000) is expected, got 2"),
        ("{cron: 0 7 * * *, every: 2 weeks, from: 2026-12-01, say: x}", ": every goes with at, not with cron"),
        ("{cron: 0 7 * * *, days: mon, say: x}", ": days goes with at; cron has weekdays of its own"),
        ("{at: 7:00, days: [mon, not mon], say: x}", ": no day in nine years fits all of days, every, from and until: it would never be due"),
        ("{at: 7:00, days: 2026-12-24, until: 2026-12-23, say: x}", ": no day in nine years fits all"),
        ("{at: 7:00, days: 2026-12-24, from: 2026-12-25, say: x}", ": no day in nine years fits all"),
        ("{at: 7:00, days: mon, from: 2026-12-01, until: 2026-12-06, say: x}", ": no day in nine years fits all"),
        ("{at: 7:00, days: 02-29, until: 2027-12-31, from: 2025-01-01, say: x}", ": no day in nine years fits all"),
        ("{at: 7:00, days: mon, every: 7 days, from: 2026-12-01, say: x}", ": no day in nine years fits all"),
        ("{at: 7:00, days: [holidays, not 祝日], say: x}", ": no day in nine years fits all"),
        ("{at: 7:00, days: 2026-05-06, untill: 2026-12-01, say: x}", ".untill: unknown key; did you mean until?"),
        ("{at: 7:00, frm: 2026-12-01, say: x}", ".frm: unknown key; did you mean from?"),
    ],
)  # fmt: skip
def test_an_impossible_rule_is_one_sentence_at_load(entry, problem):
    with pytest.raises(ConfigError) as caught:
        parse_config(f"timezone: Asia/Tokyo\nschedule:\n  - {entry}\n", "x.yaml")
    (found,) = caught.value.problems
    assert str(found).startswith(f"x.yaml:3: schedule[0]{problem}")


@pytest.mark.parametrize(
    "entry",
    [
        "{at: 7:00, days: 2020-12-24, say: x}",  # past: it comes no more, but is no mistake
        "{at: 7:00, days: 02-29, say: x}",
        "{at: 7:00, days: 5th mon, say: x}",
        "{at: 7:00, days: 2026-12-24, until: 2026-12-24, say: x}",
    ],
)
def test_what_is_rare_or_past_is_no_mistake(entry):
    parse_config(f"timezone: Asia/Tokyo\nschedule:\n  - {entry}\n", "x.yaml")
