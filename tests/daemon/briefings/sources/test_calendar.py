"""The section of appointments: what is over is not told, what comes is, and everything once."""

from __future__ import annotations

import json
import os
from datetime import date, datetime, timedelta

import pytest
from pydantic import ValidationError

from daemon.briefings.sections.calendar import KIND, CalendarSettings
from daemon.errors import SectionError
from tests.daemon.briefings.sources.test_ics import TOKYO, ics


def at(hours, summary, *, day="20261201", minutes=60, uid=None, place=""):
    start = datetime.strptime(day, "%Y%m%d") + timedelta(hours=hours)
    end = start + timedelta(minutes=minutes)
    where = f"LOCATION:{place}\n" if place else ""
    return f"UID:{uid or summary}\nDTSTART:{start:%Y%m%dT%H%M%S}\nDTEND:{end:%Y%m%dT%H%M%S}\n{where}SUMMARY:{summary}"


def whole(summary, first="20261201", last="20261202"):
    return f"UID:{summary}\nDTSTART;VALUE=DATE:{first}\nDTEND;VALUE=DATE:{last}\nSUMMARY:{summary}"


URL = {"url": "https://cal.example/s3cret/basic.ics"}


def section(**settings):
    return KIND.section(CalendarSettings.model_validate(settings or URL))


def facts(house, *events, due="2026-12-01T07:00", **settings):
    house.fetcher.answers["cal.example"] = ics(*events)
    return house.facts(section(**(URL | settings)), due)


def names(found, day=0):
    return [event["summary"] for event in found["days"][day]["events"]]


def test_the_day_is_told_in_its_order(house):
    found = facts(house, at(15, "会議"), at(10, "歯医者"), whole("出張"), at(10, "明日の", day="20261202"))
    assert names(found) == ["出張", "歯医者", "会議"]
    assert [event["all_day"] for event in found["days"][0]["events"]] == [True, False, False]
    assert found["days"][0]["events"][1]["start"] == datetime(2026, 12, 1, 10, tzinfo=TOKYO)


def test_what_is_over_at_the_due_time_is_not_told_and_what_goes_on_is(house):
    found = facts(house, at(8, "朝会"), at(9, "研修", minutes=180), at(10, "歯医者"), due="2026-12-01T10:00")
    assert [(e["summary"], e["ongoing"]) for e in found["days"][0]["events"]] == [("研修", True), ("歯医者", False)]


def test_what_begins_at_the_due_time_and_has_no_length_is_told(house):
    assert names(facts(house, at(7, "薬", minutes=0))) == ["薬"]
    assert facts(house, at(6, "薬", minutes=0)) is None


def test_days_of_a_long_event_are_counted(house):
    found = facts(house, whole("出張", "20261130", "20261203"))
    (trip,) = found["days"][0]["events"]
    assert (trip["number"], trip["days"]) == (2, 3)


def test_nothing_is_silence_unless_it_is_asked_for(house):
    assert facts(house) is None
    found = facts(house, at(10, "歯医者", day="20261203"), say_none=True)
    assert found["days"][0]["none"] is True
    assert (found["next"]["summary"], found["next"]["date"], found["next"]["told"]) == (
        "歯医者",
        date(2026, 12, 3),
        False,
    )
    assert facts(house, say_none=True)["next"] is None


@pytest.mark.parametrize(
    ("due", "summary", "ahead", "soon"),
    [
        ("2026-12-01T07:00", "歯医者", timedelta(hours=3), True),
        ("2026-12-01T06:30", "歯医者", timedelta(hours=3, minutes=30), False),
        ("2026-12-01T10:00", "会議", timedelta(hours=5), False),
    ],
)
def test_the_next_event(house, due, summary, ahead, soon):
    following = facts(house, at(10, "歯医者"), at(15, "会議"), whole("出張"), due=due)["next"]
    assert (following["summary"], following["ahead"], following["soon"]) == (summary, ahead, soon)


def test_in_the_evening_tomorrow_is_told_too(house):
    events = [
        at(19, "夕食"),
        at(9, "朝会", day="20261202"),
        whole("出張", "20261202", "20261203"),
        at(23, "夜勤", minutes=180),
    ]
    found = facts(house, *events, due="2026-12-01T18:00")
    assert names(found) == ["夕食", "夜勤"]
    assert names(found, 1) == ["出張", "朝会"]
    assert len(facts(house, *events, due="2026-12-01T18:00", tomorrow=None)["days"]) == 1


def test_the_limit_counts_what_it_leaves_out(house):
    found = facts(house, *(at(8 + n, f"予定{n}") for n in range(8)), limit=3)
    assert names(found) == ["予定0", "予定1", "予定2"]
    assert found["days"][0]["more"] == 5


def test_events_can_be_left_out_by_a_word(house):
    assert names(facts(house, at(9, "BLOCKED focus"), at(10, "歯医者"), exclude=["blocked"])) == ["歯医者"]


def test_several_calendars_are_told_as_one(house, tmp_path):
    mine = tmp_path / "mine.ics"
    mine.write_bytes(ics(at(9, "朝会", uid="1"), at(12, "昼食")))
    house.fetcher.answers["work.example"] = ics(at(9, "朝会", uid="1"), at(15, "会議"))
    calendars = [{"file": str(mine), "name": "家"}, {"url": "webcal://work.example/a.ics", "name": "仕事"}]
    found = house.facts(section(calendars=calendars), "2026-12-01T07:00")
    assert [(e["summary"], e["calendar"]) for e in found["days"][0]["events"]] == [
        ("朝会", "家"),
        ("昼食", "家"),
        ("会議", "仕事"),
    ]
    assert house.fetcher.asked == ["https://work.example/a.ics"]


def test_one_calendar_that_fails_is_a_failure_that_names_it(house):
    house.fetcher.answers |= {
        "work.example": ics(at(9, "朝会")),
        "home.example": SectionError("home.example: answers 500"),
    }
    calendars = [{"url": "https://work.example/"}, {"url": "https://home.example/"}]
    with pytest.raises(SectionError, match=r"^home\.example: answers 500$"):
        house.fetch(section(calendars=calendars), "2026-12-01T07:00")


def test_yesterdays_data_tell_of_today_and_next_week_they_do_not(house):
    house.fetcher.answers["cal.example"] = ics(at(10, "歯医者", day="20261202"), at(9, "朝会"))
    calendar = section()
    data = json.loads(json.dumps(house.fetch(calendar, "2026-12-01T07:00")))
    assert names(calendar.facts(data, house.around("2026-12-02T07:00"))) == ["歯医者"]
    assert calendar.facts(data, house.around("2026-12-08T07:00")) is None
    with pytest.raises(SectionError, match="known until 2026-12-09"):
        calendar.facts(data, house.around("2026-12-10T07:00"))
    with pytest.raises(SectionError, match="not built as expected"):
        calendar.facts({"until": "2026-12-09", "events": [{}]}, house.around("2026-12-02T07:00"))


def test_a_busy_calendar_stays_small_enough_to_be_kept(house):
    house.fetcher.answers["cal.example"] = ics(
        *(at(n % 24, f"{n}" + "予定" * 60, day=f"2026120{1 + n % 8}", place="場" * 90) for n in range(900))
    )
    assert len(json.dumps(house.fetch(section(), "2026-12-01T07:00"), ensure_ascii=False).encode()) < 256_000


def test_a_secret_that_leads_nowhere_is_one_sentence(house, monkeypatch):
    monkeypatch.delenv("CALENDAR_URL", raising=False)
    with pytest.raises(SectionError, match="CALENDAR_URL is not set"):
        house.fetch(section(url={"env": "CALENDAR_URL"}), "2026-12-01T07:00")


def test_a_file_that_cannot_be_read_is_one_sentence(house, tmp_path):
    with pytest.raises(SectionError, match="cannot be read"):
        house.fetch(section(file=str(tmp_path / "none.ics")), "2026-12-01T07:00")
    os.mkfifo(tmp_path / "pipe.ics")
    with pytest.raises(SectionError, match="is not a file"):
        house.fetch(section(file=str(tmp_path / "pipe.ics")), "2026-12-01T07:00")


def test_no_address_is_repeated_in_what_is_printed_of_the_settings():
    assert "s3cret" not in repr(CalendarSettings.model_validate(URL))


@pytest.mark.parametrize(
    "settings",
    [{}, {"url": "https://x/", "file": "/a.ics"}, {"file": "a.ics"}, {"calendars": [{"name": "x"}]}, {"calendars": []},
     {"caldav": {"url": "ftp://x/"}}, {"caldav": {"url": "https://user:pw@x/"}}, {"url": "https://x/", "limit": 0}],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(settings):
    with pytest.raises(ValidationError):
        CalendarSettings.model_validate(settings)


# Words.


def says(house, *events, due="2026-12-01T07:00", language="ja", **settings):
    house.fetcher.answers["cal.example"] = ics(*events)
    return house.says(KIND, URL | settings, due, language=language)


def test_words_of_a_day(house):
    text = says(house, whole("出張", "20261130", "20261203"), at(10, "歯医者", place="駅前"), at(15.5, "会議"))
    assert text == (
        "今日の予定は3件です。出張、3日間の2日目。午前10時から、歯医者、場所は駅前。午後3時半から、会議。"
        "次の歯医者まで、あと3時間です。"
    )


def test_words_of_a_meeting_that_goes_on_and_one_without_a_title(house):
    text = says(house, at(9, "研修", minutes=180), at(20, ""), due="2026-12-01T10:00")
    assert text == "今日の予定は2件です。正午まで、研修。午後8時から、件名のない予定。"


def test_words_of_nothing(house):
    event = at(10, "歯医者", day="20261203")
    assert says(house, event) is None
    assert (
        says(house, event, say_none=True) == "今日の予定はありません。次の予定は、あさっての午前10時から、歯医者です。"
    )


def test_words_of_the_evening(house):
    text = says(house, at(9, "朝会", day="20261202"), due="2026-12-01T20:00")
    assert text == "明日の予定は1件です。午前9時から、朝会。"


def test_words_of_many(house):
    text = says(house, *(at(8 + n, f"予定{n}") for n in range(8)), limit=1, due="2026-12-01T02:00")
    assert text == "今日の予定は8件です。午前8時から、予定0。ほかに7件あります。"


def test_words_in_english(house):
    text = says(house, whole("Trip"), at(10, "Dentist"), language="en")
    assert text == "Today there are 2 events. Trip, all day. At 10 in the morning, Dentist. Dentist begins in 3 hours."
