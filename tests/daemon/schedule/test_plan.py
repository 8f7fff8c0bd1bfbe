"""What happens of a rule and what does not; and a whole year of three alarms."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest

from daemon.config import RuleConfig, parse_config
from daemon.schedule.calendar import Calendar
from daemon.schedule.plan import Exceptions, Planned, Vacation, left_out, next_planned, planned

TOKYO = ZoneInfo("Asia/Tokyo")
SEVEN = RuleConfig.model_validate({"at": "7:00"}).rule()
START = datetime(2026, 8, 9, 12, tzinfo=TOKYO)


def seven_on(day, month=8):
    return datetime(2026, month, day, 7, tzinfo=TOKYO).astimezone(UTC)


def plan(exceptions, count=4, rule=SEVEN):
    found = islice(planned(rule, exceptions, START, Calendar(TOKYO)), count)
    return [(item.due.astimezone(TOKYO).day, item.reason) for item in found]


def test_without_exceptions_all_happen():
    assert plan(Exceptions()) == [(10, None), (11, None), (12, None), (13, None)]


def test_skipped_once_keeps_the_rest():
    exceptions = Exceptions(skipped=frozenset({seven_on(11)}))
    assert plan(exceptions) == [(10, None), (11, "skipped once"), (12, None), (13, None)]


def test_a_vacation_includes_its_first_and_last_local_date():
    exceptions = Exceptions(vacation=Vacation(date(2026, 8, 11), date(2026, 8, 12)))
    why = "vacation until 2026-08-12"
    assert plan(exceptions) == [(10, None), (11, why), (12, why), (13, None)]
    # 00:30 in Tokyo is still the day before in UTC.
    early = RuleConfig.model_validate({"at": "0:30"}).rule()
    assert plan(exceptions, rule=early) == [(10, None), (11, why), (12, why), (13, None)]


def test_of_a_long_vacation_the_beginning_is_told_and_then_its_end():
    """One that lasts until it is switched off (the last date there is) must not be counted through to its end."""
    ten_years = Exceptions(vacation=Vacation(date(2026, 8, 11), date(2036, 8, 11)))
    found = list(islice(planned(SEVEN, ten_years, START, Calendar(TOKYO)), 202))
    assert [item.reason is None for item in found] == [True, *[False] * 200, True]
    assert found[-1].due == datetime(2036, 8, 12, 7, tzinfo=TOKYO).astimezone(UTC)
    endless = Exceptions(vacation=Vacation(date(2026, 8, 9), date.max))
    assert len(list(planned(SEVEN, endless, START, Calendar(TOKYO)))) == 200
    assert next_planned(SEVEN, endless, START, Calendar(TOKYO)) is None


def test_one_may_stay_awake_on_vacation():
    exceptions = Exceptions(vacation=Vacation(date(2026, 8, 11), date(2026, 8, 12)), ignores_vacation=True)
    assert plan(exceptions) == [(10, None), (11, None), (12, None), (13, None)]


def test_disabled_comes_before_all_other_reasons():
    exceptions = Exceptions(
        enabled=False, skipped=frozenset({seven_on(10)}), vacation=Vacation(date(2026, 8, 10), date(2026, 8, 10))
    )
    assert plan(exceptions, 2) == [(10, "disabled"), (11, "disabled")]


@pytest.mark.parametrize(
    ("exceptions", "due"),
    [
        (Exceptions(), seven_on(10)),
        (Exceptions(skipped=frozenset({seven_on(10), seven_on(11)})), seven_on(12)),
        (Exceptions(vacation=Vacation(date(2026, 8, 1), date(2026, 8, 31))), seven_on(1, month=9)),
        (Exceptions(enabled=False), None),
    ],
)
def test_the_next_that_really_happens(exceptions, due):
    assert next_planned(SEVEN, exceptions, START, Calendar(TOKYO)) == due


def test_what_holidays_leave_out_is_named():
    config = parse_config("timezone: Asia/Tokyo\nholidays: {added: {2026-09-24: 創立記念日}}")
    rule = RuleConfig.model_validate({"at": "7:00", "days": "workdays"}).rule()
    start, end = datetime(2026, 9, 18, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)
    assert list(left_out(rule, start, end, config.calendar)) == [
        Planned(seven_on(21, 9), "holiday: 敬老の日"),
        Planned(seven_on(22, 9), "holiday: 国民の休日"),
        Planned(seven_on(23, 9), "holiday: 秋分の日"),
        Planned(seven_on(24, 9), "holiday: 創立記念日"),
    ]
    assert list(left_out(SEVEN, start, end, config.calendar)) == []


# The year.

ALARMS = {
    "work": {"at": "6:45", "days": "workdays"},
    "night": {"at": "2:30", "days": "daily"},
    "market": {"at": ["8:00", "23:30"], "days": "第2・最終土曜"},
}
VACATION = Vacation(date(2026, 8, 10), date(2026, 8, 16))


def year_of(zone, name):
    """The local walls and UTC offsets at which an alarm rings in 2026."""
    text = f"timezone: {zone}\nholidays: {{country: JP, added: {{12-29..12-31: 年末}}, removed: [11-03]}}"
    world = parse_config(text).calendar
    exceptions = Exceptions(
        skipped=frozenset({datetime(2026, 3, 2, 6, 45, tzinfo=world.zone).astimezone(UTC)}),
        vacation=VACATION,
        ignores_vacation=name == "night",
    )
    rule = RuleConfig.model_validate(ALARMS[name]).rule()
    after, end = datetime(2026, 1, 1, tzinfo=world.zone), datetime(2027, 1, 1, tzinfo=world.zone)
    found = takewhile(lambda item: item.due < end, planned(rule, exceptions, after, world))
    return [item.due.astimezone(world.zone) for item in found if item.reason is None]


def every_day(first, last):
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


YEAR = every_day(date(2026, 1, 1), date(2026, 12, 31))
# Weekdays of 2026 that are holidays in Japan; 3 November was removed, 29 to 31 December were added.
FREE = {
    (1, 1), (1, 12), (2, 11), (2, 23), (3, 20), (4, 29), (5, 4), (5, 5), (5, 6), (7, 20), (8, 11), (9, 21), (9, 22),
    (9, 23), (10, 12), (11, 23), (12, 29), (12, 30), (12, 31),
}  # fmt: skip
MARKET_DAYS = [
    (1, 10), (1, 31), (2, 14), (2, 28), (3, 14), (3, 28), (4, 11), (4, 25), (5, 9), (5, 30), (6, 13), (6, 27), (7, 11),
    (7, 25), (8, 8), (8, 29), (9, 12), (9, 26), (10, 10), (10, 31), (11, 14), (11, 28), (12, 12), (12, 26),
]  # fmt: skip
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"]


@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_workdays(zone):
    days = [
        day
        for day in YEAR
        if day.weekday() < 5 and (day.month, day.day) not in FREE and day not in VACATION and day != date(2026, 3, 2)
    ]
    # 261 weekdays, without 19 holidays, 5 days of vacation (one of them a holiday) and one skipped.
    assert len(days) == 261 - 19 - 4 - 1
    assert [ring.strftime("%m-%d %H:%M") for ring in year_of(zone, "work")] == [f"{day:%m-%d} 06:45" for day in days]


@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_markets_at_two_times(zone):
    expected = [f"{month:02}-{day:02} {at}" for month, day in MARKET_DAYS for at in ("08:00", "23:30")]
    assert [ring.strftime("%m-%d %H:%M") for ring in year_of(zone, "market")] == expected


# The rings around the changes of the clocks, with their offsets; on all other dates 02:30 is 02:30.
@pytest.mark.parametrize(
    ("zone", "around"),
    [
        (
            "Europe/Berlin",
            {
                "03-28": "02:30+0100",
                "03-29": "03:00+0200",
                "03-30": "02:30+0200",
                "10-24": "02:30+0200",
                "10-25": "02:30+0200",
                "10-26": "02:30+0100",
            },
        ),
        (
            "America/New_York",
            {
                "03-07": "02:30-0500",
                "03-08": "03:00-0400",
                "03-09": "02:30-0400",
                "10-31": "02:30-0400",
                "11-01": "02:30-0500",
                "11-02": "02:30-0500",
            },
        ),
        (  # half an hour: on 4 October 02:00 becomes 02:30, on 5 April 02:00 becomes 01:30
            "Australia/Lord_Howe",
            {
                "04-04": "02:30+1100",
                "04-05": "02:30+1030",
                "04-06": "02:30+1030",
                "10-03": "02:30+1030",
                "10-04": "02:30+1100",
                "10-05": "02:30+1100",
            },
        ),
        ("Asia/Tokyo", {}),
    ],
)
def test_a_year_of_nights_has_one_ring_on_every_date(zone, around):
    rings = year_of(zone, "night")
    assert [ring.date() for ring in rings] == YEAR
    found = {ring.strftime("%m-%d"): ring.strftime("%H:%M%z") for ring in rings}
    assert {day: found[day] for day in around} == around
    assert {wall[:5] for day, wall in found.items() if day not in around} == {"02:30"}


def test_a_ring_in_the_half_hour_that_lord_howe_skips_and_in_the_one_it_repeats():
    rule = RuleConfig.model_validate({"at": ["1:45", "2:15"]}).rule()
    world = Calendar(ZoneInfo("Australia/Lord_Howe"))

    def walls(*day):
        after = datetime(*day, tzinfo=world.zone)
        found = islice(planned(rule, Exceptions(), after, world), 3)
        return [item.due.astimezone(world.zone).strftime("%d %H:%M%z") for item in found]

    assert walls(2026, 10, 4) == ["04 01:45+1030", "04 02:30+1100", "05 01:45+1100"]
    assert walls(2026, 4, 5) == ["05 01:45+1100", "05 02:15+1030", "06 01:45+1030"]
