"""Waste: every second week, the second Wednesday, the turn of the year, and the calendar of a town."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest
from pydantic import ValidationError

from daemon.briefings.sections.waste import KIND, WasteSettings
from daemon.errors import SectionError
from tests.daemon.briefings.sources.test_ics import ics

BURNABLE = {"name": "燃えるごみ", "days": ["tue", "fri"]}
PAPER = {"name": "古紙", "days": ["2nd wed"]}
BOTTLES = {"name": "びん", "every": "2 weeks", "from": "2026-12-03"}


def section(*rules, **settings):
    return KIND.section(WasteSettings.model_validate({"rules": list(rules)} | settings))


def collected(house, waste, day):
    found = house.facts(waste, f"{day}T07:00")
    return found["today"] if found else []


def days(house, waste, first, count):
    start = date.fromisoformat(first)
    every = [start + timedelta(days=n) for n in range(count)]
    return [day.isoformat() for day in every if collected(house, waste, day.isoformat())]


def test_weekdays(house):
    assert days(house, section(BURNABLE), "2026-12-01", 8) == ["2026-12-01", "2026-12-04", "2026-12-08"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (["2nd wed"], ["2026-12-09", "2027-01-13"]),
        (["第2・第4水曜"], ["2026-12-09", "2026-12-23", "2027-01-13", "2027-01-27"]),
        (["last thu"], ["2026-12-31", "2027-01-28"]),
        (["1st, 3rd mon"], ["2026-12-07", "2026-12-21", "2027-01-04", "2027-01-18"]),
    ],
)
def test_the_nth_weekday_of_a_month(house, rule, expected):
    assert days(house, section({"name": "古紙", "days": rule}), "2026-12-01", 62) == expected


def test_every_second_week_is_counted_over_the_turn_of_the_year(house):
    assert days(house, section(BOTTLES), "2026-11-01", 90) == ["2026-12-03", "2026-12-17", "2026-12-31", "2027-01-14", "2027-01-28"]  # fmt: skip


def test_two_kinds_that_take_turns(house):
    cans = {"name": "缶", "every": "隔週", "from": "2026-12-10"}
    both = section(BOTTLES, cans)
    assert [collected(house, both, f"2026-12-{day:02}") for day in (3, 10, 17, 24)] == [
        ["びん"],
        ["缶"],
        ["びん"],
        ["缶"],
    ]


def test_exceptions_of_the_house_and_of_a_kind(house):
    rule = BURNABLE | {"without": ["2026-12-04"], "also": ["2027-01-02", "2026-12-05..2026-12-06"]}
    waste = section(rule, PAPER, without=["12-31..01-03"])
    assert days(house, waste, "2026-12-04", 5) == ["2026-12-05", "2026-12-06", "2026-12-08"]
    assert days(house, waste, "2026-12-29", 8) == ["2026-12-29", "2027-01-02", "2027-01-05"]
    assert days(house, section(BURNABLE, without=["12-31..01-03"]), "2027-12-30", 8) == ["2028-01-04"]


def test_a_rule_between_dates(house):
    rule = {"name": "落ち葉", "days": ["mon"], "from": "2026-12-07", "until": "2026-12-14"}
    assert days(house, section(rule), "2026-11-25", 40) == ["2026-12-07", "2026-12-14"]


def test_holidays_of_the_house_count(house):
    house.holidays[date(2026, 12, 4)] = "祝日"
    rule = {"name": "燃えるごみ", "days": ["tue", "fri", "not holidays"]}
    assert days(house, section(rule), "2026-12-01", 8) == ["2026-12-01", "2026-12-08"]


def test_on_the_evening_before_tomorrows_is_told(house):
    waste = section(BURNABLE, PAPER)
    evening = house.facts(waste, "2026-12-08T20:00")
    assert (evening["today"], evening["tomorrow"]) == ([], ["古紙"])
    assert house.facts(waste, "2026-12-01T20:00") is None
    assert house.facts(section(BURNABLE, evening=None), "2026-12-08T20:00")["today"] == ["燃えるごみ"]


def test_when_it_had_to_be_outside_it_is_not_told_any_more(house):
    waste = section(BURNABLE, put_out_by="8:00", say_none=True)
    assert house.facts(waste, "2026-12-01T07:59")["today"] == ["燃えるごみ"]
    assert house.facts(waste, "2026-12-01T08:00") is None


def test_nothing_is_silence_unless_it_is_asked_for(house):
    assert house.facts(section(BURNABLE), "2026-12-02T07:00") is None
    assert house.facts(section(BURNABLE, say_none=True), "2026-12-02T07:00")["today"] == []


def test_several_kinds_on_one_day_are_told_in_the_order_of_the_rules_and_once(house):
    waste = section(BURNABLE, {"name": "プラスチック", "days": ["tue"]}, {"name": "燃えるごみ", "days": ["2026-12-01"]})
    assert collected(house, waste, "2026-12-01") == ["燃えるごみ", "プラスチック"]


def test_a_calendar_of_the_town_beside_the_rules(house):
    events = ["UID:1\nDTSTART;VALUE=DATE:20261202\nRRULE:FREQ=WEEKLY;INTERVAL=2\nSUMMARY:資源ごみ"]
    house.fetcher.answers["town.example"] = ics(*events)
    waste = section(BURNABLE, url="https://town.example/gomi.ics")
    assert [collected(house, waste, f"2026-12-{day:02}") for day in (1, 2, 9, 16)] == [
        ["燃えるごみ"],
        ["資源ごみ"],
        [],
        ["資源ごみ"],
    ]
    data = json.loads(json.dumps(house.fetch(waste, "2026-12-01T07:00")))
    assert waste.facts(data, house.around("2026-12-16T07:00"))["today"] == ["資源ごみ"]
    with pytest.raises(SectionError, match="known until 2026-12-16"):
        waste.facts(data, house.around("2026-12-17T07:00"))


def test_rules_need_no_network(house):
    assert house.fetch(section(BURNABLE), "2026-12-01T07:00") == {"until": None, "events": []}
    assert house.fetcher.asked == []


@pytest.mark.parametrize(
    "settings",
    [{}, {"rules": [{"name": "x"}]}, {"rules": [{"name": "x", "days": ["someday"]}]}, {"rules": [{"name": "x", "every": "2 weeks"}]},
     {"rules": [{"name": "x", "days": ["mon"], "without": ["soon"]}]}, {"rules": [BURNABLE], "without": ["2026-02-30"]},
     {"rules": [{"name": "", "days": ["mon"]}]}],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(settings):
    with pytest.raises(ValidationError):
        WasteSettings.model_validate(settings)


def test_words(house):
    settings = {
        "rules": [BURNABLE, {"name": "プラスチック", "days": ["tue"]}, PAPER],
        "put_out_by": "8:00",
        "say_none": True,
    }
    assert house.says(KIND, settings, "2026-12-01T07:00") == (
        "今日は、燃えるごみとプラスチックの収集日です。午前8時までに出してください。"
    )
    assert house.says(KIND, settings, "2026-12-08T20:00") == "明日は、古紙の収集日です。午前8時までに出してください。"
    assert house.says(KIND, settings, "2026-12-02T07:00") == "今日は、ごみの収集はありません。"
    assert house.says(KIND, settings, "2026-12-02T20:00") == "明日は、ごみの収集はありません。"
    assert house.says(KIND, settings, "2026-12-08T20:00", language="en") == (
        "Tomorrow 古紙 will be collected. Put it out by 8 in the morning."
    )
