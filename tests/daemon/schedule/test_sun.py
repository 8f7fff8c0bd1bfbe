from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from daemon.config import ConfigError, RuleConfig, parse_config
from daemon.schedule.calendar import Calendar, Place
from daemon.schedule.planner import next_occurrence, occurrences
from daemon.schedule.sun import SunTime, sun_moment

TOKYO, OSLO = ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Oslo")
AT_TOKYO, AT_TROMSO = Place(35.6581, 139.7414), Place(69.65, 18.96)


# What the National Astronomical Observatory of Japan gives for Tokyo in 2024, in whole minutes: the earliest and the
# latest sunrise and sunset of the year.
@pytest.mark.parametrize(
    ("day", "event", "wall"),
    [
        (date(2024, 1, 7), "sunrise", time(6, 51)),
        (date(2024, 6, 12), "sunrise", time(4, 25)),
        (date(2024, 6, 28), "sunset", time(19, 1)),
        (date(2024, 12, 5), "sunset", time(16, 28)),
    ],
)
def test_the_sun_of_tokyo(day, event, wall):
    moment = sun_moment(day, SunTime(event), AT_TOKYO, TOKYO)
    assert abs(moment - datetime.combine(day, wall, TOKYO)) <= timedelta(minutes=1)


def test_an_offset_moves_it():
    day = date(2026, 6, 21)
    plain, moved = (
        sun_moment(day, SunTime("sunset", offset), AT_TOKYO, TOKYO) for offset in (timedelta(0), timedelta(minutes=-30))
    )
    assert plain - moved == timedelta(minutes=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sunrise", SunTime("sunrise")),
        ("sunset-30m", SunTime("sunset", timedelta(minutes=-30))),
        ("Sunset - 30m", SunTime("sunset", timedelta(minutes=-30))),
        ("sunrise+1h15m", SunTime("sunrise", timedelta(hours=1, minutes=15))),
        ("日の出+10m", SunTime("sunrise", timedelta(minutes=10))),
        ("日の入り-1h", SunTime("sunset", timedelta(hours=-1))),
        ("日没", SunTime("sunset")),
        ("7:30", time(7, 30)),
    ],
)
def test_times_by_the_sun_are_read(text, expected):
    assert RuleConfig.model_validate({"at": text}).rule().times == (expected,)


@pytest.mark.parametrize("text", ["sunset+13h", "sunset-", "sunset 30m", "sun", "moonrise", "sunset-x", "noon"])
def test_what_is_no_time_by_the_sun_is_named(text):
    with pytest.raises(ValueError, match="expected, got '"):
        RuleConfig.model_validate({"at": text})


def test_in_the_polar_night_and_the_midnight_sun_there_is_no_occurrence():
    rule = RuleConfig.model_validate({"at": "sunset"}).rule()
    world = Calendar(OSLO, None, AT_TROMSO)
    found = list(islice(occurrences(rule, datetime(2026, 5, 10, tzinfo=UTC), world), 200))
    dates = [due.astimezone(OSLO).date() for due in found]
    assert any(day.month == 5 and day.day < 20 for day in dates)
    assert not any(date(2026, 5, 22) < day < date(2026, 7, 22) for day in dates)
    assert not any(date(2026, 11, 30) < day < date(2027, 1, 12) for day in dates)
    assert dates[-1] > date(2027, 1, 15)


def test_where_the_sun_never_sets_at_a_date_there_is_no_next_one():
    rule = RuleConfig.model_validate({"at": "sunset", "days": "06-21"}).rule()
    assert next_occurrence(rule, datetime(2026, 1, 1, tzinfo=UTC), Calendar(OSLO, None, AT_TROMSO)) is None


def test_the_pole_disturbs_nothing():
    rule = RuleConfig.model_validate({"at": ["sunrise", "7:00"], "days": "2026-12-24"}).rule()
    pole = Calendar(ZoneInfo("UTC"), None, Place(90, 0))
    assert list(occurrences(rule, datetime(2026, 1, 1, tzinfo=UTC), pole)) == [datetime(2026, 12, 24, 7, tzinfo=UTC)]


def test_the_sun_needs_a_place():
    with pytest.raises(
        ConfigError, match=r"x\.yaml:1: schedule\[0\]\.at: the sun needs a place; add place: \{latitude"
    ):
        parse_config("schedule: [{at: [7:00, sunset], say: x}]", "x.yaml")
    parse_config("place: {latitude: 35.7, longitude: 139.7}\nschedule: [{at: [7:00, sunset], say: x}]", "x.yaml")
