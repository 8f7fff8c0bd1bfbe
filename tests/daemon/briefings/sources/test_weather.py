"""The weather: the right hours, comparisons and warnings, from answers of Open-Meteo and of the JMA."""

from __future__ import annotations

import asyncio
import json
from datetime import date, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from daemon.briefings.sections.jma import spoken
from daemon.briefings.sections.weather import KIND, WeatherSettings
from daemon.errors import SectionError

TOKYO = ZoneInfo("Asia/Tokyo")
POINT = {"latitude": 35.68, "longitude": 139.77}


def meteo(*, rain=(), snow=(), codes=None, temperatures=None, first="2026-11-30", days=5, chance=None, **daily):
    """An answer as Open-Meteo builds it. Hours count from midnight of 1 December; a sum is of the hour before its time."""
    start = datetime.fromisoformat(first)
    hours = [start + timedelta(hours=hour) for hour in range(24 * days)]
    wet = {start + timedelta(hours=24 + hour + 1): amount for hour, amount in rain}
    white = {start + timedelta(hours=24 + hour + 1): amount for hour, amount in snow}
    base = {"temperature_2m_max": [13.4, 16.2, 12.0, 12.0, 12.0], "temperature_2m_min": [5.0, 4.6, 3.2, 5.0, 5.0]}
    dates = [(start + timedelta(days=day)).date().isoformat() for day in range(days)]
    return {
        "latitude": 35.7, "longitude": 139.75, "timezone": "Asia/Tokyo", "utc_offset_seconds": 32400,
        "hourly_units": {"time": "iso8601", "temperature_2m": "°C"},
        "hourly": {
            "time": [hour.strftime("%Y-%m-%dT%H:%M") for hour in hours],
            "temperature_2m": [(temperatures or {}).get(hour, 10.0) for hour in range(-24, 24 * (days - 1))],
            "precipitation": [wet.get(hour, white.get(hour, 0.0)) for hour in hours],
            "precipitation_probability": [chance if chance is not None else 80 if hour in wet or hour in white else 10 for hour in hours],
            "snowfall": [white.get(hour, 0.0) for hour in hours],
            "weather_code": [(codes or {}).get(hour, 1) for hour in range(-24, 24 * (days - 1))],
        },
        "daily": {"time": dates, "weather_code": [1] * days, **base,
                  "wind_speed_10m_max": [4.0] * days, "snowfall_sum": [0.0] * days, **daily},
    }  # fmt: skip


def answer(value):
    return json.dumps(value).encode()


def section(**settings):
    return KIND.section(WeatherSettings.model_validate(settings or POINT))


def facts(house, value, due="2026-12-01T07:00", **settings):
    house.fetcher.answers["open-meteo"] = answer(value)
    return house.facts(section(**(settings or POINT)), due)


# Open-Meteo.


def test_the_forecast_is_asked_for_in_the_zone_of_the_house_with_yesterday(house):
    facts(house, meteo(), latitude=35.68, longitude=139.77, model="jma_seamless", api_key="k3y")
    url = urlsplit(house.fetcher.asked[0])
    query = {key: values[0] for key, values in parse_qs(url.query).items()}
    assert (url.scheme, url.netloc, url.path) == ("https", "api.open-meteo.com", "/v1/forecast")
    assert query["latitude"] == "35.68"
    assert query["timezone"] == "Asia/Tokyo"
    assert query["past_days"] == "1"
    assert query["wind_speed_unit"] == "ms"
    assert query["models"] == "jma_seamless"
    assert query["apikey"] == "k3y"
    assert "temperature_2m_max" in query["daily"].split(",")


def test_a_fine_day(house):
    found = facts(house, meteo())
    assert found["sky"] == "晴れ"
    assert found["later"] is None
    assert (found["high"], found["low"], found["yesterday"]) == (16.2, 4.6, 13.4)
    assert found["rain"] is None
    assert found["warnings"] == {}
    assert found["date"] == date(2026, 12, 1)


def moment(hour):
    return datetime(2026, 12, 1, tzinfo=TOKYO) + timedelta(hours=hour)


@pytest.mark.parametrize(
    ("rain", "start", "end", "amount"),
    [
        ([(15, 1.0), (16, 2.0), (17, 0.5)], 15, 18, 3.5),
        ([(15, 1.0), (17, 1.0)], 15, 18, 2.0),  # an hour without does not end it
        ([(9, 1.0), (13, 1.0)], 9, 10, 1.0),  # three do
        ([(hour, 1.0) for hour in range(7, 24)], None, None, 17.0),
        ([(hour, 1.0) for hour in range(5, 10)], None, 10, 3.0),  # it began before
        ([(hour, 1.0) for hour in range(18, 24)], 18, None, 6.0),
        ([(7, 1.0)], None, 8, 1.0),
    ],
)
def test_rain_is_told_by_its_hours(house, rain, start, end, amount):
    found = facts(house, meteo(rain=rain))["rain"]
    assert found["start"] == (None if start is None else moment(start))
    assert found["end"] == (None if end is None else moment(end))
    assert (found["kind"], found["amount"]) == ("rain", amount)


@pytest.mark.parametrize("rain", [[(3, 5.0)], [(15, 0.1)], [(25, 5.0)]])
def test_rain_of_the_night_before_a_trace_and_tomorrows_are_not_told(house, rain):
    assert facts(house, meteo(rain=rain))["rain"] is None


def test_unlikely_rain_is_not_told(house):
    assert facts(house, meteo(rain=[(15, 1.0)], chance=20))["rain"] is None


def test_at_half_past_the_hour_that_runs_counts(house):
    assert facts(house, meteo(rain=[(7, 1.0)]), "2026-12-01T07:30")["rain"]["end"] == moment(8)
    assert facts(house, meteo(rain=[(6, 1.0)]), "2026-12-01T07:30")["rain"] is None


def test_snow_and_sleet_have_their_names(house):
    assert facts(house, meteo(snow=[(9, 1.0), (10, 1.0)]))["rain"]["kind"] == "snow"
    assert facts(house, meteo(snow=[(9, 1.0)], rain=[(10, 1.0)]))["rain"]["kind"] == "mixed"


@pytest.mark.parametrize(
    ("codes", "due", "sky", "later"),
    [
        (dict.fromkeys(range(12, 24), 3), "07:00", "晴れ", "くもり"),
        (dict.fromkeys(range(12, 24), 61), "07:00", "晴れ", "弱い雨"),
        (dict.fromkeys(range(12, 24), 2), "07:00", "晴れ", None),  # nobody would call that a change
        (dict.fromkeys(range(24), 3), "07:00", "くもり", None),
        ({3: 95}, "07:00", "晴れ", None),  # the thunder of the night
        (dict.fromkeys(range(6, 18), 73), "07:00", "雪", None),
        (dict.fromkeys(range(12, 24), 3), "13:00", "くもり", None),
        (dict.fromkeys(range(12), 45), "06:00", "霧", "晴れ"),
    ],
)
def test_the_sky_of_the_day(house, codes, due, sky, later):
    found = facts(house, meteo(codes=codes), f"2026-12-01T{due}")
    assert (found["sky"], found["later"]) == (sky, later)


def test_tonight_is_from_six_to_six(house):
    temperatures = {17: -9.0, 18: 4.0, 29: 1.5, 30: -9.0}
    found = facts(house, meteo(codes=dict.fromkeys(range(18, 24), 3), temperatures=temperatures))
    assert found["tonight"] == {"sky": "くもり", "low": 1.5}


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        ({"temperature_2m_max": [30, 35.0, 30, 30, 30]}, {"heat": 35.0}),
        ({"temperature_2m_max": [36, 34.9, 36, 36, 36]}, {}),
        ({"temperatures": {31: 2.5}}, {"frost": 2.5}),
        ({"temperatures": {3: -2.5}}, {}),  # has passed
        ({"temperatures": {34: -2.5}}, {}),  # is told tomorrow
        ({"wind_speed_10m_max": [0, 13.0, 0, 0, 0]}, {"wind": 13.0}),
        ({"rain": [(15, 25.0)]}, {"rain": 25.0}),
        ({"snowfall_sum": [0, 4.2, 0, 0, 0]}, {"snow": 4.2}),
    ],
)
def test_warnings_begin_at_their_thresholds(house, changes, warnings):
    assert facts(house, meteo(**changes))["warnings"] == warnings


def test_a_threshold_can_be_moved_and_taken_away(house):
    value = meteo(temperature_2m_max=[30, 33.0, 30, 30, 30], temperatures={31: 2.5})
    found = facts(house, value, **POINT, warnings={"heat": 33, "frost": None})
    assert found["warnings"] == {"heat": 33.0}


def test_in_the_evening_tomorrow_is_told(house):
    found = facts(house, meteo(rain=[(33, 1.0)]), "2026-12-01T21:00")
    assert (found["date"], found["evening"]) == (date(2026, 12, 2), True)
    assert (found["high"], found["low"], found["yesterday"]) == (12.0, 3.2, 16.2)
    assert found["rain"]["start"] == moment(33)
    assert found["tonight"] is None
    assert facts(house, meteo(), "2026-12-01T21:00", **POINT, day="today")["date"] == date(2026, 12, 1)


def test_yesterdays_data_tell_of_today(house):
    house.fetcher.answers["open-meteo"] = answer(meteo(first="2026-11-29"))
    weather = section()
    data = json.loads(json.dumps(house.fetch(weather, "2026-11-30T07:00")))
    found = weather.facts(data, house.around("2026-12-01T07:00"))
    assert (found["high"], found["yesterday"]) == (12.0, 16.2)
    with pytest.raises(SectionError, match="does not reach 2026-12-09"):
        weather.facts(data, house.around("2026-12-09T07:00"))


def test_what_is_unknown_is_left_out(house):
    value = meteo()
    for name in ("precipitation", "precipitation_probability", "snowfall"):
        value["hourly"][name] = None
    value["daily"]["temperature_2m_min"] = [None] * 5
    value["hourly"]["temperature_2m"] = [None] * 120
    del value["daily"]["wind_speed_10m_max"]
    found = facts(house, value)
    assert (found["low"], found["rain"], found["chance"], found["warnings"]) == (None, None, None, {})
    assert found["tonight"] == {"sky": "晴れ", "low": None}


def broken(change):
    value = meteo()
    change(value)
    return answer(value)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{}", b'{"error": true, "reason": "x"}', b"\xff\xfe", b"[" * 100_000, b"NaN",
        broken(lambda v: v.pop("hourly")),
        broken(lambda v: v["daily"].pop("time")),
        broken(lambda v: v["hourly"]["time"].pop()),
        broken(lambda v: v["hourly"].update(time="x")),
        broken(lambda v: v["hourly"].update(time=[1] * 120)),
        broken(lambda v: v["daily"].update(time=["2026-13-01"] * 5)),
        broken(lambda v: v["hourly"].update(weather_code=7)),
        broken(lambda v: v.update(daily=[])),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_as_promised_is_one_sentence(house, body):
    house.fetcher.answers["open-meteo"] = body
    with pytest.raises(SectionError, match=r"^api\.open-meteo\.com: the answer is not"):
        house.fetch(section(), "2026-12-01T07:00")


def test_an_unknown_code_is_said(house):
    with pytest.raises(SectionError, match="the weather code 42 is unknown"):
        facts(house, meteo(codes=dict.fromkeys(range(24), 42)))


def test_the_data_are_small_enough_to_be_kept(house):
    house.fetcher.answers["open-meteo"] = answer(meteo())
    assert len(json.dumps(house.fetch(section(), "2026-12-01T07:00"))) < 20_000


def test_a_day_on_which_the_clocks_change_has_its_hours(house):
    zone = ZoneInfo("Europe/Berlin")
    value = meteo(first="2026-10-24", rain=[(15, 1.0)])
    house.fetcher.answers["open-meteo"] = answer(value)
    weather = section()
    around = house.around("2026-10-25T07:00", zone=zone)
    found = weather.facts(asyncio.run(weather.fetch(around)), around)
    assert found["rain"]["start"] == datetime(2026, 10, 25, 15, tzinfo=zone)


# The JMA.


def report(at="2026-12-01T05:00:00+09:00", **changes):
    """A forecast as the office of Tokyo builds it, made up."""
    series = {
        "weather": {
            "timeDefines": [at, "2026-12-02T00:00:00+09:00", "2026-12-03T00:00:00+09:00"],
            "areas": [
                {"area": {"name": "東京地方", "code": "130010"}, "weatherCodes": ["101", "214", "200"],
                 "weathers": ["晴れ　時々　くもり　所により　昼過ぎ　から　雨　で　雷を伴う", "くもり　後　雨", "くもり"],
                 "winds": ["北の風", "北の風", "北の風"]},
                {"area": {"name": "伊豆諸島北部", "code": "130020"}, "weatherCodes": ["300", "300", "300"],
                 "weathers": ["雨", "雨", "雨"]},
            ],
        },
        "pops": {
            "timeDefines": [f"2026-12-0{d}T{h:02}:00:00+09:00" for d, h in ((1, 6), (1, 12), (1, 18), (2, 0), (2, 6), (2, 12), (2, 18))],
            "areas": [
                {"area": {"name": "東京地方", "code": "130010"}, "pops": ["10", "40", "20", "50", "60", "70", "80"]},
                {"area": {"name": "伊豆諸島北部", "code": "130020"}, "pops": ["90", "90", "90", "90", "90", "90", "90"]},
            ],
        },
        "temps": {
            "timeDefines": ["2026-12-01T09:00:00+09:00", "2026-12-01T00:00:00+09:00", "2026-12-02T00:00:00+09:00",
                            "2026-12-02T09:00:00+09:00"],
            "areas": [
                {"area": {"name": "東京", "code": "44132"}, "temps": ["15", "15", "6", "12"]},
                {"area": {"name": "大島", "code": "44172"}, "temps": ["17", "17", "11", "16"]},
            ],
        },
    } | changes  # fmt: skip
    week = {"publishingOffice": "気象庁", "reportDatetime": at, "timeSeries": []}
    return [{"publishingOffice": "気象庁", "reportDatetime": at, "timeSeries": [s for s in series.values() if s]}, week]


def office(house, value, due, **settings):
    house.fetcher.answers["jma"] = answer(value)
    return house.facts(section(office="130000", **settings), due)


def test_the_office_is_asked_and_its_first_area_told(house):
    found = office(house, report(), "2026-12-01T07:00")
    assert house.fetcher.asked == ["https://www.jma.go.jp/bosai/forecast/data/forecast/130000.json"]
    assert found["sky"] == "晴れ時々くもり、所により昼過ぎから雨で雷を伴う"
    assert (found["high"], found["low"], found["chance"]) == (15, None, 40)


def test_tomorrow_of_the_same_report(house):
    found = office(house, report(), "2026-12-01T21:00")
    assert (found["sky"], found["high"], found["low"], found["chance"]) == ("くもりのち雨", 12, 6, 80)


@pytest.mark.parametrize("clock", ["2026-12-01T09:00:00+09:00", "2026-12-01T00:00:00+09:00"])
def test_in_the_morning_the_lowest_of_today_is_not_the_highest(house, clock):
    value = report()
    temps = value[0]["timeSeries"][2]
    temps["timeDefines"][1] = clock
    found = office(house, value, "2026-12-01T07:00")
    assert (found["high"], found["low"]) == (15, None)


def test_at_five_in_the_afternoon_today_has_no_temperatures(house):
    temps = {
        "timeDefines": ["2026-12-02T00:00:00+09:00", "2026-12-02T09:00:00+09:00"],
        "areas": [{"area": {"name": "東京", "code": "44132"}, "temps": ["6", "12"]}],
    }
    value = report("2026-12-01T17:00:00+09:00", temps=temps)
    today = office(house, value, "2026-12-01T18:00", day="today")
    assert (today["high"], today["low"]) == (None, None)
    tomorrow = office(house, value, "2026-12-01T18:00")
    assert (tomorrow["high"], tomorrow["low"]) == (12, 6)


def test_after_midnight_the_report_of_yesterday_knows_the_lowest_of_today(house):
    temps = {
        "timeDefines": ["2026-12-02T00:00:00+09:00", "2026-12-02T09:00:00+09:00"],
        "areas": [{"area": {"name": "東京", "code": "44132"}, "temps": ["6", "12"]}],
    }
    found = office(house, report("2026-12-01T17:00:00+09:00", temps=temps), "2026-12-02T04:30")
    assert (found["sky"], found["high"], found["low"]) == ("くもりのち雨", 12, 6)


def test_empty_texts_are_unknown(house):
    value = report()
    value[0]["timeSeries"][1]["areas"][0]["pops"] = [""] * 7
    value[0]["timeSeries"][2]["areas"][0]["temps"] = [""] * 4
    found = office(house, value, "2026-12-01T07:00")
    assert (found["high"], found["low"], found["chance"]) == (None, None, None)


def test_without_the_series_of_temperatures_the_sky_is_told(house):
    found = office(house, report(temps=None, pops=None), "2026-12-01T07:00")
    assert found["sky"].startswith("晴れ")
    assert (found["high"], found["chance"]) == (None, None)


@pytest.mark.parametrize("area", ["伊豆諸島北部", "130020"])
def test_an_area_brings_its_station(house, area):
    found = office(house, report(), "2026-12-01T07:00", area=area)
    assert (found["sky"], found["high"], found["chance"]) == ("雨", 17, 90)
    assert office(house, report(), "2026-12-01T07:00", area=area, station="東京")["high"] == 15


def test_an_area_that_is_not_there_is_answered_with_those_that_are(house):
    words = r"the office has no area 大阪府; it has 東京地方 \(130010\), 伊豆諸島北部 \(130020\)"
    with pytest.raises(SectionError, match=words):
        office(house, report(), "2026-12-01T07:00", area="大阪府")


def test_probabilities_that_have_passed_are_not_told(house):
    value = report()
    value[0]["timeSeries"][1]["areas"][0]["pops"] = ["90", "10", "0", "0", "0", "0", "0"]
    assert office(house, value, "2026-12-01T11:00")["chance"] == 90
    assert office(house, value, "2026-12-01T12:00")["chance"] == 10


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"{}", b"[]", b"[{}]", b'[{"reportDatetime": "x", "timeSeries": []}]',
     b'[{"reportDatetime": "2026-12-01T05:00:00+09:00", "timeSeries": [{"areas": []}]}]'],
)  # fmt: skip
def test_a_report_that_is_not_as_promised_is_one_sentence(house, body):
    house.fetcher.answers["jma"] = body
    with pytest.raises(SectionError, match=r"^www\.jma\.go\.jp: the answer is not"):
        house.fetch(section(office="130000"), "2026-12-01T07:00")


def test_an_old_report_does_not_reach_today(house):
    house.fetcher.answers["jma"] = answer(report())
    weather = section(office="130000")
    data = house.fetch(weather, "2026-12-01T07:00")
    with pytest.raises(SectionError, match="the forecast of 2026-12-01 05:00 does not reach 2026-12-09"):
        weather.facts(data, house.around("2026-12-09T07:00"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("くもり　時々　晴れ", "くもり時々晴れ"),
        ("晴れ　夕方　から　くもり", "晴れ、夕方からくもり"),
        ("くもり　昼過ぎ　まで　時々　雪　で　ふぶく", "くもり、昼過ぎまで時々雪でふぶく"),
        ("晴れ　時々　くもり　所により　昼前　まで　雪", "晴れ時々くもり、所により昼前まで雪"),
        ("くもり　後　晴れ", "くもりのち晴れ"),
        ("雨　夜遅く　くもり", "雨、夜遅くくもり"),
        ("くもり　時々　 晴れ　所により　夕方　まで　雪か雨", "くもり時々晴れ、所により夕方まで雪か雨"),
        ("晴れ", "晴れ"),
    ],
)
def test_texts_of_the_agency_are_speakable(text, said):
    assert spoken(text) == said


# Settings.


@pytest.mark.parametrize(
    "settings",
    [{}, {"latitude": 35.0}, {**POINT, "office": "130000"}, {"office": "13"}, {**POINT, "area": "東京地方"}, {"latitude": 99, "longitude": 0},
     {**POINT, "server": "ftp://x"}, {**POINT, "warnings": {"hail": 1}}],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(settings):
    with pytest.raises(ValidationError):
        WeatherSettings.model_validate(settings)


# Words.


def says(house, value, due="2026-12-01T07:00", **settings):
    house.fetcher.answers["open-meteo"] = answer(value)
    return house.says(KIND, settings or POINT, due)


def test_words_of_a_fine_morning(house):
    assert says(house, meteo()) == (
        "今日の天気は、晴れ。今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
        "今夜は晴れ、明日の朝は10度まで下がる見込みです。"
    )


def test_words_of_rain_from_the_afternoon(house):
    value = meteo(rain=[(hour, 2.0) for hour in range(15, 24)], codes=dict.fromkeys(range(15, 24), 63))
    text = says(house, value, **POINT, place="東京")
    assert text.startswith("今日の東京の天気は、晴れのち雨。")
    assert "午後3時ごろから、雨が降りそうです。傘をお忘れなく。" in text


def test_words_of_snow_and_frost(house):
    value = meteo(
        snow=[(hour, 1.0) for hour in range(24)], codes=dict.fromkeys(range(24), 73), temperatures={30: -2.0},
        temperature_2m_max=[8, 2, 3, 3, 3], temperature_2m_min=[1, -1, 0, 0, 0], snowfall_sum=[0, 12.4, 0, 0, 0],
    )  # fmt: skip
    text = says(house, value)
    assert text.startswith(
        "今日の天気は、雪。今朝の最低気温はマイナス1度、日中は2度まで上がり、昨日より6度低い見込みです。"
    )
    assert "雪は、一日降り続きそうです。今夜は" in text
    assert text.endswith("路面や水道の凍結にご注意ください。12センチほどの積雪に備えてください。")


def test_words_of_the_evening(house):
    text = says(house, meteo(), "2026-12-01T21:00")
    assert text == "明日の天気は、晴れ。最低気温は3度、最高気温は12度の予想です。"


@pytest.mark.parametrize(
    ("due", "changes", "text"),
    [
        ("03:00", {}, "最低気温は5度、最高気温は16度で、昨日より3度高い見込みです。今夜は晴れ、"),
        ("12:30", {}, "最高気温は16度で、昨日より3度高い見込みです。今夜は晴れ、"),
        (
            "07:00",
            {"temperature_2m_max": [None, 16, 1, 1, 1]},
            "今朝の最低気温は5度、日中は16度まで上がりそうです。今夜は晴れ、",
        ),
        ("07:00", {"temperature_2m_max": [None] * 5}, "晴れ。今夜は晴れ、"),
        ("07:00", {"temperature_2m_min": [None] * 5}, "最高気温は16度で、昨日より3度高い見込みです。"),
        (
            "07:00",
            {"temperatures": dict.fromkeys(range(96), 26.0)},
            "今夜は晴れ、26度までしか下がらず、熱帯夜になりそうです。",
        ),
    ],
)
def test_words_of_temperatures(house, due, changes, text):
    assert text in says(house, meteo(**changes), f"2026-12-01T{due}")


def test_words_of_the_office(house):
    house.fetcher.answers["jma"] = answer(report())
    assert house.says(KIND, {"office": "130000"}, "2026-12-01T07:00") == (
        "今日の天気は、晴れ時々くもり、所により昼過ぎから雨で雷を伴う。最高気温は15度の予想です。降水確率は40パーセントです。"
    )


def test_words_in_english(house):
    house.fetcher.answers["open-meteo"] = answer(meteo(rain=[(15, 2.0)], wind_speed_10m_max=[0, 15, 0, 0, 0]))
    text = house.says(KIND, POINT, "2026-12-01T07:00", language="en")
    assert text == (
        "Today: mostly clear. A high of 16 degrees, 3 degrees warmer than yesterday, and a low of 5 degrees. "
        "Rain from about 3 in the afternoon until about 4 in the afternoon. Take an umbrella. "
        "Tonight mostly clear, down to 10 degrees. Strong wind of up to 15 metres per second."
    )
