import subprocess
import sys
from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.config import ConfigError, parse_config
from daemon.config.calendar import country_of
from daemon.schedule.calendar import Calendar, Holidays


def calendar_of(text):
    return parse_config(text, "x.yaml").calendar


def names(calendar, first, last):
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return {f"{day:%m-%d}": calendar.name_of(day) for day in days if calendar.name_of(day)}


def problems(text):
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "x.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_the_holidays_of_japan_in_2026_with_their_names():
    assert names(calendar_of("timezone: Asia/Tokyo"), date(2026, 1, 1), date(2026, 12, 31)) == {
        "01-01": "元日",
        "01-12": "成人の日",
        "02-11": "建国記念の日",
        "02-23": "天皇誕生日",
        "03-20": "春分の日",
        "04-29": "昭和の日",
        "05-03": "憲法記念日",
        "05-04": "みどりの日",
        "05-05": "こどもの日",
        "05-06": "振替休日",
        "07-20": "海の日",
        "08-11": "山の日",
        "09-21": "敬老の日",
        "09-22": "国民の休日",
        "09-23": "秋分の日",
        "10-12": "スポーツの日",
        "11-03": "文化の日",
        "11-23": "勤労感謝の日",
    }


@pytest.mark.parametrize("language", ["en_US.UTF-8", "ja_JP.UTF-8", "C"])
def test_names_do_not_depend_on_the_environment(monkeypatch, language):
    from daemon.schedule import calendar

    for key in ("LANGUAGE", "LANG", "LC_ALL"):
        monkeypatch.setenv(key, language)
    calendar._of_year.cache_clear()
    assert calendar_of("timezone: Asia/Tokyo").name_of(date(2026, 1, 1)) == "元日"


@pytest.mark.parametrize(
    ("text", "day", "name"),
    [
        ("timezone: Asia/Tokyo\nholidays: {language: en_US}", date(2026, 1, 1), "New Year's Day"),
        ("timezone: Europe/Berlin", date(2026, 10, 3), "Tag der Deutschen Einheit"),
        ("timezone: Europe/Berlin", date(2026, 1, 6), None),
        ("timezone: Europe/Berlin\nholidays: {subdivision: BY}", date(2026, 1, 6), "Heilige Drei Könige"),
        ("timezone: Europe/Berlin\nholidays: {country: JP}", date(2026, 9, 22), "国民の休日"),
        ("timezone: Europe/Berlin\nholidays: {country: jp}", date(2026, 9, 22), "国民の休日"),
        ("timezone: America/New_York", date(2026, 7, 4), "Independence Day"),
        ("timezone: America/New_York", date(2021, 12, 31), "New Year's Day (observed)"),
        ("timezone: Asia/Tokyo\nholidays: {country: none}", date(2026, 1, 1), None),
        ("timezone: UTC", date(2026, 1, 1), None),
    ],
)
def test_whose_holidays_are_meant(text, day, name):
    assert calendar_of(text).name_of(day) == name


def test_added_and_removed_days():
    calendar = calendar_of(
        "timezone: Asia/Tokyo\n"
        "holidays:\n"
        "  added:\n"
        "    08-13..08-15: お盆\n"
        "    12-29..01-03: 年末年始\n"
        "    2026-11-24: 創立記念日\n"
        "    2026-05-01: ''\n"
        "  removed: [11-03, 2026-08-14]\n"
    )
    assert names(calendar, date(2026, 8, 1), date(2026, 8, 31)) == {"08-11": "山の日", "08-13": "お盆", "08-15": "お盆"}
    assert names(calendar, date(2027, 8, 12), date(2027, 8, 31)) == dict.fromkeys(("08-13", "08-14", "08-15"), "お盆")
    assert names(calendar, date(2026, 11, 1), date(2026, 11, 30)) == {"11-23": "勤労感謝の日", "11-24": "創立記念日"}
    assert names(calendar, date(2027, 1, 1), date(2027, 1, 4)) == dict.fromkeys(("01-01", "01-02", "01-03"), "年末年始")
    assert calendar.name_of(date(2026, 5, 1)) == "holiday"


@pytest.mark.parametrize(
    ("zone", "country"),
    [
        ("Asia/Tokyo", "JP"),
        ("Japan", "JP"),
        ("Europe/Oslo", "NO"),
        ("UTC", None),
        ("Etc/GMT+5", None),
        ("EST5EDT", None),
    ],
)
def test_the_country_of_a_zone(zone, country):
    assert country_of(zone) == country


def test_a_country_that_the_library_does_not_know_has_no_holidays_and_says_so():
    calendar = Calendar(ZoneInfo("UTC"), Holidays("XX"))
    assert not calendar.knows_holidays
    assert calendar.name_of(date(2026, 1, 1)) is None
    assert Calendar(ZoneInfo("UTC"), Holidays("JP")).knows_holidays
    assert Calendar(ZoneInfo("UTC"), Holidays()).knows_holidays
    assert not Calendar(ZoneInfo("UTC")).knows_holidays


WORKDAYS = "schedule: [{at: '7:00', days: workdays, say: x}]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"timezone: UTC\n{WORKDAYS}",
            "x.yaml:2: schedule[0].days: whose holidays are meant is not clear from the time zone UTC; add holidays: "
            "{country: JP} (or another country, or none) to the file",
        ),
        (
            f"holidays: {{country: XX}}\n{WORKDAYS}",
            "x.yaml:1: holidays: holidays of the country 'XX' are not known; give its ISO 3166 code, such as JP, or none",
        ),
        (
            "holidays: {country: JP, language: de}",
            "x.yaml:1: holidays: names of holidays of JP are not known in 'de'; known are en_US, ja, th",
        ),
        (f"holidays: {{country: JP, subdivision: X}}\n{WORKDAYS}", "x.yaml:1: holidays: JP has no subdivision 'X'"),
        ("holidays: {country: FI, subdivision: X}", "x.yaml:1: holidays: FI has no subdivision 'X'; known are 01"),
        ("holidays: {added: {02-30: x}}", "x.yaml:1: holidays.added: 02-30 is not a day of the calendar"),
        ("holidays: {removed: お盆}", "x.yaml:1: holidays.removed: 2026-12-24, 12-24 (every year)"),
        ("place: {latitude: 91, longitude: 0}", "x.yaml:1: place.latitude: less than or equal to 90 is expected"),
    ],
)
def test_a_calendar_that_cannot_be_is_one_sentence(text, expected):
    found = problems(text)
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize("keys", ["country: none", "added: {08-13..08-15: お盆}"])
def test_workdays_need_no_country_where_the_house_says_so(keys):
    parse_config(f"timezone: UTC\nholidays: {{{keys}}}\n{WORKDAYS}")


def test_the_libraries_are_loaded_only_when_a_rule_asks():
    code = (
        "import sys; from daemon.config import parse_config\n"
        "for days in ('mon-fri', 'workdays'):\n"
        "    parse_config('timezone: Europe/Berlin\\nschedule: [{at: 7:00, days: ' + days + ', say: x}]')\n"
        "    print(days, 'holidays' in sys.modules, 'astral' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["mon-fri False False", "workdays True False"]
