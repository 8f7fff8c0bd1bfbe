"""What the words for days select. September and May of 2026 have the holidays that are hard to compute."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.schedule.calendar import Calendar, Holidays
from daemon.schedule.days import EVERY_DAY, Days, Kind, Nth, Weekdays
from daemon.schedule.words import parse_days

JAPAN = Calendar(ZoneInfo("Asia/Tokyo"), Holidays("JP", language="ja"))


def of_month(words, year, month):
    days = parse_days(words)
    first = date(year, month, 1)
    month_days = (first + timedelta(days=number) for number in range(31))
    return [day.day for day in month_days if day.month == month and days.holds(day, JAPAN)]


@pytest.mark.parametrize(
    ("words", "weekdays"),
    [
        (["mon"], {0}),
        (["Mon", "SUN"], {0, 6}),
        (["monday", "Friday"], {0, 4}),
        (["tues", "thurs"], {1, 3}),
        (["月", "水曜", "日曜日"], {0, 2, 6}),
        (["月曜・木曜"], {0, 3}),
        (["毎週火曜"], {1}),
        (["mon-fri"], {0, 1, 2, 3, 4}),
        (["Mon–Fri"], {0, 1, 2, 3, 4}),
        (["monday-wed"], {0, 1, 2}),
        (["月〜金"], {0, 1, 2, 3, 4}),
        (["月-金"], {0, 1, 2, 3, 4}),
        (["金曜～月曜"], {4, 5, 6, 0}),
        (["sat-mon"], {5, 6, 0}),
        (["fri-mon"], {4, 5, 6, 0}),
        (["mon-mon"], {0}),
        (["fri - sun"], {4, 5, 6}),
        (["weekdays"], {0, 1, 2, 3, 4}),
        (["weekends"], {5, 6}),
        (["週末"], {5, 6}),
        (["土日"], {5, 6}),
        (["daily"], set(range(7))),
        (["毎日"], set(range(7))),
        (["mon, wed fri"], {0, 2, 4}),
        (["mon、水 and fri"], {0, 2, 4}),
    ],
)
def test_names_of_weekdays(words, weekdays):
    assert parse_days(words) == Days((Weekdays(frozenset(weekdays)),))


@pytest.mark.parametrize(
    ("words", "days"),
    [
        # 2026-09-21 敬老の日 (Mon), 22 国民の休日 (Tue), 23 秋分の日 (Wed)
        (["holidays"], [21, 22, 23]),
        (["祝日"], [21, 22, 23]),
        (["holiday_eve"], [20, 21, 22]),
        (["祝前日"], [20, 21, 22]),
        (["workdays"], [1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18, 24, 25, 28, 29, 30]),
        (["平日"], [1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18, 24, 25, 28, 29, 30]),
        (["土日祝"], [5, 6, 12, 13, 19, 20, 21, 22, 23, 26, 27]),
        (["休日"], [5, 6, 12, 13, 19, 20, 21, 22, 23, 26, 27]),
        (["tue", "holidays"], [1, 8, 15, 21, 22, 23, 29]),
        (["1st sat"], [5]),
        (["2nd sat"], [12]),
        (["second saturday"], [12]),
        (["第2土曜"], [12]),
        (["第２土曜日"], [12]),
        (["第二土曜"], [12]),
        (["last fri"], [25]),
        (["最終金曜"], [25]),
        (["最後の金曜日"], [25]),
        (["5th wed"], [30]),
        (["5th sat"], []),
        (["1st,3rd wed"], [2, 16]),
        (["1st, 3rd and last wed"], [2, 16, 30]),
        (["第1・第3水曜"], [2, 16]),
        (["第1・3水曜日"], [2, 16]),
        (["第1,3水"], [2, 16]),
        (["1st mon-wed"], [1, 2, 7]),
        (["2nd sat, fri"], [4, 11, 12, 18, 25]),
        (["2026-09-03"], [3]),
        (["2026年9月3日"], [3]),
        (["09-03"], [3]),
        (["9月3日"], [3]),
        (["2026-08-28..2026-09-02"], [1, 2]),
        (["2026-09-29 〜 2026-10-02"], [29, 30]),
        (["09-29..01-02"], [29, 30]),
        (["2025-09-03"], []),
        (["mon-fri", "not holidays"], [1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18, 24, 25, 28, 29, 30]),
        (["mon-fri, not holidays"], [1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18, 24, 25, 28, 29, 30]),
        (["wed !2026-09-16 !2nd wed"], [2, 23, 30]),
        (["wed !1st, 3rd wed"], [9, 23, 30]),
        (["水曜 !第1・3水曜"], [9, 23, 30]),
        (["wed", "not 2nd wed", "not holidays"], [2, 16, 30]),
        (["wed", "not 1st,3rd wed"], [9, 23, 30]),
        (["not mon-sat", "not 2026-09-20"], [6, 13, 27]),
        (["tue", "!09-15..09-30"], [1, 8]),
    ],
)
def test_days_of_september_2026(words, days):
    assert of_month(words, 2026, 9) == days


def test_the_substitute_holiday_of_may_2026():
    assert of_month(["holidays"], 2026, 5) == [3, 4, 5, 6]
    assert of_month(["wed", "not holidays"], 2026, 5) == [13, 20, 27]


def test_a_yearly_range_lies_across_the_new_year():
    assert of_month(["12-29..01-03"], 2026, 12) == [29, 30, 31]
    assert of_month(["12-29..01-03"], 2027, 1) == [1, 2, 3]


def test_29_february_comes_every_fourth_year():
    assert of_month(["02-29"], 2027, 2) == []
    assert of_month(["2月29日"], 2028, 2) == [29]


def test_the_same_word_twice_is_one_selector():
    assert parse_days(["mon", "holidays", "祝日", "mon tue"]) == Days((Weekdays(frozenset({0, 1})), Kind.HOLIDAYS))
    assert parse_days(["1st,3rd sat"]) == Days((Nth(frozenset({1, 3}), frozenset({5})),))


def test_only_exclusions_leave_every_other_day():
    assert parse_days(["not holidays"]) == Days(EVERY_DAY.included, (Kind.HOLIDAYS,))


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("1", "are expected, got '1'"),
        ("montag", "got 'montag'"),
        ("mon-", "got 'mon-'"),
        ("mon-x", "got 'mon-x'"),
        ("火星", "got '火星'"),
        ("mon fri x", "got 'x'"),
        ("", "got ''"),
        (1, r"got 1 \(a number could mean two different weekdays\)"),
        (None, "got None"),
        ("2026-13-01", "2026-13-01 is not a day of the calendar"),
        ("2026-02-29", "2026-02-29 is not a day of the calendar"),
        ("02-30", "02-30 is not a day of the calendar"),
        ("4月31日", "4月31日 is not a day of the calendar"),
        ("2027-01-03..2026-12-28", "the range ends before it begins"),
        ("12-28..2027-01-03", "both ends of the range with a year, or both without"),
        ("12/24", "got '12/24'"),
        ("6th sat", "'6th' never comes, a month has at most five of a weekday"),
        ("0th sat", "'0th' never comes"),
        ("第6土曜", "'第6土曜' never comes"),
        ("2nd", "the weekday after the ordinal is missing"),
        ("2nd holidays", "a weekday is expected after the ordinal, got 'holidays'"),
        ("2nd not sat", "a weekday is expected after the ordinal, got 'not'"),
        ("1st !3rd sat", "a weekday is expected after the ordinal, got '!3rd'"),
        ("mon not", "the day after `not` is missing"),
        ("not sat, sun", "how far `not` reaches"),
        ("not", "the day after `not` is missing"),
        ("!", "got ''"),
    ],
)
def test_what_is_no_day_is_named(word, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_days([word])
