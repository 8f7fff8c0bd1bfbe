from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.briefings.words.en import English
from daemon.briefings.words.ja import Japanese
from daemon.briefings.words.pack import FILTERS
from daemon.briefings.words.packs import LANGUAGES, pack_of
from engine.text import TextPipeline

JA, EN = Japanese(), English()
DUE = datetime(2026, 12, 1, 7, 0, tzinfo=ZoneInfo("Asia/Tokyo"))  # a Tuesday


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("07:30", "午前7時半"),
        ("7:00", "午前7時"),
        (time(0, 0), "午前0時"),
        (time(12, 0), "正午"),
        (time(12, 30), "午後0時半"),
        (time(13, 5), "午後1時5分"),
        (DUE, "午前7時"),
        ("2026-12-01T23:59:10+09:00", "午後11時59分"),
    ],
)
def test_times_in_japanese(value, words):
    assert JA.time(value) == words


def test_times_on_request():
    assert JA.time("19:30", part=False) == "19時半"
    assert JA.time("19:30", half=False) == "午後7時30分"
    assert JA.time("12:00", part=False) == "12時"


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (-2, "おととい"),
        (-1, "昨日"),
        (0, "今日"),
        (1, "明日"),
        (2, "あさって"),
        (3, "金曜日"),
        (6, "月曜日"),
        (7, "12月8日"),
        (-3, "11月28日"),
        (400, "2028年1月5日"),
    ],
)
def test_days_as_seen_from_today(days, words):
    assert JA.day(DUE.date() + timedelta(days=days), DUE) == words


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2026-12-01", "令和8年"),
        ("2019-05-01", "令和元年"),
        ("2019-04-30", "平成31年"),
        ("1989-01-07", "昭和64年"),
        ("1926-12-25", "昭和元年"),
        ("1912-07-30", "大正元年"),
        ("1873-01-01", "明治6年"),
    ],
)
def test_years_of_eras_change_with_the_day(day, words):
    assert JA.wareki(day) == words


def test_before_the_calendar_of_today_there_is_no_year_of_an_era():
    with pytest.raises(ValueError, match="1873"):
        JA.wareki(date(1872, 12, 31))


@pytest.mark.parametrize(
    ("value", "words"),
    [(-2.4, "マイナス2度"), (-0.4, "0度"), (9.5, "10度"), (-9.5, "マイナス10度"), ("21.4", "21度"), (0, "0度")],
)
def test_temperatures(value, words):
    assert JA.temperature(value) == words


def test_numbers_have_no_exponent_and_no_empty_decimals():
    assert [JA.number(n) for n in (1.0, 0.05, 1e9, -1.25, 2.675)] == ["1", "0.1", "1000000000", "マイナス1.3", "2.7"]
    assert JA.temperature(21.44, digits=1) == "21.4度"


@pytest.mark.parametrize("value", [None, "", "unavailable", float("nan"), float("inf"), True, [], 1e300])
def test_what_is_no_number_is_one_sentence(value):
    with pytest.raises(ValueError, match="number"):
        JA.temperature(value)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], ""),
        (["卵"], "卵"),
        (["卵", "牛乳"], "卵と牛乳"),
        (["卵", "牛乳", "パン"], "卵、牛乳、それにパン"),
        (["卵", "牛乳", "パン", "茶"], "卵、牛乳、パン、それに茶"),
    ],
)
def test_lists(items, words):
    assert JA.listed(items) == words


def test_long_lists_can_be_cut():
    assert JA.listed("ABCDE", limit=2) == "A、B、ほか3件"
    assert EN.listed("ABCDE", limit=2) == "A, B, and 3 more"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (45, "45秒"),
        (60, "1分"),
        (90, "1分30秒"),
        (1800, "30分"),
        (3600, "1時間"),
        (5400, "1時間30分"),
        (86400 * 2, "2日"),
        (86400 + 3600, "1日1時間"),
        (timedelta(hours=2), "2時間"),
        (3599, "59分"),
    ],
)
def test_durations(seconds, words):
    assert JA.duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (10, "少し前"),
        (60, "1分前"),
        (1800, "30分前"),
        (3580, "1時間前"),
        (3600 * 1.4, "1時間前"),
        (3600 * 23.6, "1日前"),
        (86400 * 3, "3日前"),
        (86400 * 15, "2週間前"),
    ],
)
def test_ages(seconds, words):
    assert JA.ago(seconds) == words


def test_what_is_old_says_so():
    assert JA.stale(timedelta(hours=1)) == "1時間前の情報です。"
    assert EN.stale(timedelta(hours=1)) == "This is from 1 hour ago."


def test_comparisons_are_of_what_is_heard():
    assert JA.compared(10, 7) == "昨日より3度高い"
    assert JA.compared(7, 10) == "昨日より3度低い"
    assert JA.compared(7.4, 6.6) == "昨日と同じ"  # both are said as 7
    assert JA.compared(7.6, 7.4) == "昨日より1度高い"  # 8 and 7 were heard
    assert JA.compared(60, 50, than="先月", unit="kWh", more="多い", less="少ない") == "先月より10kWh多い"
    assert EN.compared(7, 10) == "3 degrees colder than yesterday"


def test_counters_are_read_as_they_are_spoken():
    kana = TextPipeline().kana
    words = f"{JA.count(1, '人')}、{JA.count(10, '本')}、{JA.count(3, '件')}"
    assert kana(words) == "ヒトリ、ジュッポン、サンケン"
    assert kana(f"{JA.time('7:30')}、{JA.temperature(-2)}") == "ゴゼンシチジハン、マイナスニド"


def test_english_proves_that_another_language_can_follow():
    said = [EN.time("7:30"), EN.time("12:00"), EN.date("2026-12-01"), EN.weekday(DUE), EN.temperature(-1)]
    assert said == ["half past 7 in the morning", "noon", "December 1", "Tuesday", "minus 1 degree"]
    assert EN.count(2, "item") == "2 items"
    assert EN.duration(5400) == "1 hour and 30 minutes"
    assert EN.listed("ABC") == "A, B, and C"


def test_every_language_has_every_filter():
    for language in LANGUAGES:
        pack = pack_of(language)
        assert all(callable(getattr(pack, name)) for name in (*FILTERS, "stale"))
    with pytest.raises(ValueError, match="ja, en, not in 'fr'"):
        pack_of("fr")
