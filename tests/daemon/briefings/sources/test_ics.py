"""Calendars: the right occurrences on the right days of the house."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.briefings.sections import ics as ics_module
from daemon.briefings.sections.ics import Occurrence, from_json, kept, merged, occurrences, without_the_past
from daemon.errors import SectionError

TOKYO = ZoneInfo("Asia/Tokyo")
TOKYO_ZONE = """BEGIN:VTIMEZONE
TZID:Asia/Tokyo
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0900
TZOFFSETTO:+0900
END:STANDARD
END:VTIMEZONE
"""


def ics(*events, head=""):
    body = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test\n{head}{body}END:VCALENDAR\n".replace("\n", "\r\n").encode()


def of(day, *events, days=1, head="", zone=TOKYO):
    first = date.fromisoformat(day)
    return occurrences(ics(*events, head=head), first, first + timedelta(days=days - 1), zone, "test")


def told(day, *events, **options):
    return [(e.summary, e.start.isoformat(), e.end.isoformat()) for e in of(day, *events, **options)]


def test_an_event_of_the_evening_in_utc_is_one_of_the_next_morning_in_tokyo():
    event = "UID:1\nDTSTART:20261201T223000Z\nDTEND:20261201T233000Z\nSUMMARY:電話会議"
    assert told("2026-12-01", event) == []
    assert told("2026-12-02", event) == [("電話会議", "2026-12-02T07:30:00+09:00", "2026-12-02T08:30:00+09:00")]


def test_recurrences_leave_out_their_exceptions():
    event = """UID:1
DTSTART;TZID=Asia/Tokyo:20261201T090000
DTEND;TZID=Asia/Tokyo:20261201T093000
RRULE:FREQ=WEEKLY;BYDAY=TU,TH
EXDATE;TZID=Asia/Tokyo:20261208T090000,20261210T090000
SUMMARY:朝会"""
    days = [e.start.date().isoformat() for e in of("2026-12-01", event, days=17, head=TOKYO_ZONE)]
    assert days == ["2026-12-01", "2026-12-03", "2026-12-15", "2026-12-17"]


def test_a_moved_instance_is_told_where_it_was_moved_to_and_not_where_it_was():
    series = """UID:1
DTSTART;TZID=Asia/Tokyo:20261201T090000
DTEND;TZID=Asia/Tokyo:20261201T100000
RRULE:FREQ=DAILY;COUNT=5
SUMMARY:朝会"""
    moved = """UID:1
RECURRENCE-ID;TZID=Asia/Tokyo:20261202T090000
DTSTART;TZID=Asia/Tokyo:20261203T150000
DTEND;TZID=Asia/Tokyo:20261203T160000
SUMMARY:朝会（変更）"""
    assert told("2026-12-02", series, moved) == []
    assert [(s, start) for s, start, _ in told("2026-12-03", series, moved)] == [
        ("朝会", "2026-12-03T09:00:00+09:00"),
        ("朝会（変更）", "2026-12-03T15:00:00+09:00"),
    ]


def test_an_instance_that_is_moved_to_where_another_one_is_makes_two():
    series = "UID:1\nDTSTART;VALUE=DATE:20261201\nRRULE:FREQ=DAILY;COUNT=5\nSUMMARY:当番"
    moved = "UID:1\nRECURRENCE-ID;VALUE=DATE:20261202\nDTSTART;VALUE=DATE:20261204\nSUMMARY:当番（交代）"
    assert [s for s, *_ in told("2026-12-04", series, moved)] == ["当番", "当番（交代）"]


def test_an_instance_that_is_moved_here_from_far_away_is_told():
    series = "UID:1\nDTSTART:20261201T000000Z\nDTEND:20261201T010000Z\nRRULE:FREQ=MONTHLY\nSUMMARY:月例"
    moved = "UID:1\nRECURRENCE-ID:20270301T000000Z\nDTSTART:20261205T000000Z\nDTEND:20261205T010000Z\nSUMMARY:前倒し"
    assert [s for s, _, _ in told("2026-12-05", series, moved)] == ["前倒し"]


def test_a_cancelled_event_and_a_cancelled_instance_are_not_told():
    series = "UID:1\nDTSTART:20261201T000000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:朝会"
    instance = (
        "UID:1\nRECURRENCE-ID:20261202T000000Z\nDTSTART:20261202T000000Z\nDURATION:PT1H\nSTATUS:CANCELLED\nSUMMARY:朝会"
    )
    single = "UID:2\nDTSTART:20261202T030000Z\nDURATION:PT1H\nSTATUS:Cancelled\nSUMMARY:会食"
    assert [s for s, _, _ in told("2026-12-01", series, instance, single)] == ["朝会"]
    assert told("2026-12-02", series, instance, single) == []


def test_an_all_day_event_of_several_days_is_on_each_of_them_and_not_on_the_day_after():
    event = "UID:1\nDTSTART;VALUE=DATE:20261201\nDTEND;VALUE=DATE:20261204\nSUMMARY:出張"
    on = [day for day in range(1, 6) if of(f"2026-12-0{day}", event)]
    assert on == [1, 2, 3]
    (trip,) = of("2026-12-03", event)
    assert trip.all_day
    assert [day for day in range(1, 6) if trip.on(date(2026, 12, day))] == [1, 2, 3]


@pytest.mark.parametrize("end", ["", "DTEND;VALUE=DATE:20261224\n", "DTEND;VALUE=DATE:20261225\n", "DURATION:P1D\n"])
def test_an_all_day_event_without_a_sound_end_lasts_a_day(end):
    event = f"UID:1\nDTSTART;VALUE=DATE:20261224\n{end}SUMMARY:イブ"
    assert told("2026-12-24", event) == [("イブ", "2026-12-24", "2026-12-25")]
    assert told("2026-12-25", event) == []


def test_a_floating_time_is_a_time_of_the_house():
    event = "UID:1\nDTSTART:20261202T090000\nDTEND:20261202T100000\nSUMMARY:歯医者"
    assert told("2026-12-02", event)[0][1] == "2026-12-02T09:00:00+09:00"
    assert told("2026-12-02", event, zone=ZoneInfo("Europe/Berlin"))[0][1] == "2026-12-02T09:00:00+01:00"


@pytest.mark.parametrize("clock", ["000000", "233000"])
def test_a_floating_time_at_the_edge_of_a_day_stays_on_its_day(clock):
    event = f"UID:1\nDTSTART:20261202T{clock}\nDURATION:PT10M\nSUMMARY:端"
    assert [day for day in ("2026-12-01", "2026-12-02", "2026-12-03") if of(day, event)] == ["2026-12-02"]


def test_zones_of_windows_are_understood():
    event = "UID:1\nDTSTART;TZID=Tokyo Standard Time:20261202T093000\nDURATION:PT1H\nSUMMARY:定例"
    assert told("2026-12-02", event)[0][1] == "2026-12-02T09:30:00+09:00"
    event = "UID:1\nDTSTART;TZID=W. Europe Standard Time:20261202T013000\nDURATION:PT1H\nSUMMARY:定例"
    assert told("2026-12-02", event)[0][1] == "2026-12-02T09:30:00+09:00"


def test_a_zone_that_nobody_knows_is_that_of_the_house_or_of_its_own_definition():
    event = "UID:1\nDTSTART;TZID=Nowhere/Land:20261202T093000\nDURATION:PT1H\nSUMMARY:定例"
    assert told("2026-12-02", event)[0][1] == "2026-12-02T09:30:00+09:00"
    own = TOKYO_ZONE.replace("Asia/Tokyo", "Nowhere/Land").replace("+0900", "+0800")
    assert told("2026-12-02", event, head=own)[0][1] == "2026-12-02T10:30:00+09:00"


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "Nowhere/Mars", "../../../etc/passwd", "", "/etc"])
def test_the_zone_of_a_whole_calendar_is_used_where_it_is_known(zone):
    event = "UID:1\nDTSTART:20261130T223000Z\nDTEND:20261130T233000Z\nRRULE:FREQ=DAILY\nSUMMARY:朝会"
    head = f"X-WR-TIMEZONE:{zone}\n"
    assert told("2026-12-02", event, head=head)[0][1] == "2026-12-02T07:30:00+09:00"


def test_recurrences_keep_their_local_hour_when_the_clocks_change():
    event = """UID:1
DTSTART;TZID=Europe/Berlin:20261024T090000
DURATION:PT1H
RRULE:FREQ=DAILY
SUMMARY:Standup"""
    berlin = ZoneInfo("Europe/Berlin")
    assert [e.start.hour for e in of("2026-10-24", event, days=3, zone=berlin)] == [9, 9, 9]
    assert [e.start.hour for e in of("2026-10-24", event, days=3)] == [16, 17, 17]


def test_an_event_over_midnight_is_on_both_days_and_one_that_ends_at_midnight_is_not():
    over = "UID:1\nDTSTART;TZID=Asia/Tokyo:20261201T230000\nDTEND;TZID=Asia/Tokyo:20261202T010000\nSUMMARY:夜勤"
    until = "UID:2\nDTSTART;TZID=Asia/Tokyo:20261201T220000\nDTEND;TZID=Asia/Tokyo:20261202T000000\nSUMMARY:映画"
    assert [s for s, *_ in told("2026-12-02", over, until)] == ["夜勤"]
    night, film = sorted(of("2026-12-01", over, until), key=lambda e: e.uid)
    assert (night.on(date(2026, 12, 2)), film.on(date(2026, 12, 2))) == (True, False)


def test_an_event_without_length_at_midnight_is_on_its_day():
    event = "UID:1\nDTSTART;TZID=Asia/Tokyo:20261202T000000\nSUMMARY:発売"
    assert [day for day in ("2026-12-01", "2026-12-02") if of(day, event)] == ["2026-12-02"]


def test_a_rule_until_a_date_ends_with_it_and_a_rule_with_a_date_added_has_it():
    event = "UID:1\nDTSTART;VALUE=DATE:20261201\nRRULE:FREQ=DAILY;UNTIL=20261203\nRDATE;VALUE=DATE:20261210\nSUMMARY:旬"
    assert [e.start.day for e in of("2026-12-01", event, days=14)] == [1, 2, 3, 10]


def test_what_cannot_be_read_loses_itself_and_nothing_else():
    good = "UID:9\nDTSTART:20261202T090000\nDURATION:PT1H\nSUMMARY:歯医者"
    bad = [
        "UID:1\nDTSTART:yesterday\nSUMMARY:x",
        "UID:2\nDTSTART:20261202T090000\nRRULE:FREQ=NONSENSE\nSUMMARY:x",
        "UID:3\nSUMMARY:ohne",
        "UID:4\nDTSTART:20261202T090000\nDTEND:20261202T080000\nRRULE:FREQ=DAILY;BYMONTHDAY=99\nSUMMARY:x",
        "UID:5\nDTSTART:20261302T090000\nSUMMARY:x",
    ]
    assert "歯医者" in [s for s, *_ in told("2026-12-02", *bad, good)]


ALL = ",".join(str(n) for n in range(60))


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=MINUTELY;INTERVAL=1",
        "FREQ=HOURLY",
        "FREQ=DAILY",
        f"FREQ=DAILY;INTERVAL=2;BYMINUTE={ALL};BYSECOND={ALL}",
    ],
)
def test_a_rule_that_would_take_minutes_is_left_out_alone(rule, caplog):
    begin = (
        "19700101T000000Z"
        if rule == "FREQ=HOURLY"
        else "00010101T000000Z"
        if rule == "FREQ=DAILY"
        else "20261201T000000Z"
    )
    heavy = f"UID:1\nDTSTART:{begin}\nDURATION:PT1S\nRRULE:{rule}\nSUMMARY:鼓動"
    good = "UID:9\nDTSTART:20261202T090000\nDURATION:PT1H\nSUMMARY:歯医者"
    assert [s for s, *_ in told("2026-12-02", heavy, good)] == ["歯医者"]
    assert "repeats too often" in caplog.text


def test_many_heavy_rules_do_not_add_up(caplog):
    heavy = [f"UID:{n}\nDTSTART:19900101T000000Z\nRRULE:FREQ=DAILY\nSUMMARY:{n}" for n in range(500)]
    started = time.process_time()
    assert 1 < len(of("2026-12-02", *heavy)) < 20
    assert time.process_time() - started < 10
    assert "the rules of the calendar repeat too often" in caplog.text


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTHDAY=99",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=WEEKLY;COUNT=3;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=13",
        "FREQ=DAILY;BYYEARDAY=400",
        "FREQ=DAILY;BYMONTH=2;BYYEARDAY=300",
    ],
)
def test_a_rule_that_never_fits_is_not_followed_for_ever(rule):
    started = time.process_time()
    assert of("2026-12-02", f"UID:1\nDTSTART:20261101T000000Z\nRRULE:{rule}\nSUMMARY:x") == []
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        ("FREQ=MONTHLY;BYDAY=2WE", [9]),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", [31]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", [31]),
        ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25", [25]),
        ("FREQ=DAILY;BYMONTH=12;BYMONTHDAY=10,20", [10, 20]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH", [3, 17, 31]),
    ],
)
def test_rules_of_everyday_life(rule, days):
    event = f"UID:1\nDTSTART;VALUE=DATE:20250102\nRRULE:{rule}\nSUMMARY:x"
    assert [e.start.day for e in of("2026-12-02", event, days=30)] == days


@pytest.mark.parametrize(
    ("begin", "until"),
    [("20261201T090000", "20261203T090000"), ("20261201T090000Z", "20261203T090000Z"), ("20261201", "20261203")],
)
def test_the_end_of_a_rule_is_kept(begin, until):
    kind = "" if "T" in begin else ";VALUE=DATE"
    event = f"UID:1\nDTSTART{kind}:{begin}\nRRULE:FREQ=DAILY;UNTIL={until}\nSUMMARY:x"
    assert [e.start.day for e in of("2026-12-01", event, days=6)] == [1, 2, 3]
    longer = event.replace(until, until.replace("2026", "2028"))
    assert [e.start.day for e in of("2026-12-01", longer, days=6)] == [1, 2, 3, 4, 5, 6]


def test_thousands_of_exceptions_are_refused_with_their_event(caplog):
    series = "UID:1\nDTSTART:20261201T000000Z\nRRULE:FREQ=DAILY\n" + "EXDATE:20261203T000000Z\n" * 5000 + "SUMMARY:x"
    assert of("2026-12-02", series) == []
    assert "repeats too often" in caplog.text


def test_rules_that_have_ended_cost_nothing_and_their_moved_instances_stay():
    old = [f"UID:{n}\nDTSTART:20000101T000000Z\nRRULE:FREQ=DAILY;UNTIL=20201231T000000Z\nSUMMARY:x" for n in range(500)]
    moved = "UID:7\nRECURRENCE-ID:20201230T000000Z\nDTSTART:20261202T030000Z\nSUMMARY:延期"
    assert [s for s, *_ in told("2026-12-02", *old, moved)] == ["延期"]


@pytest.mark.parametrize("block", ["BEGIN:VEVENT\r\n", "BEGIN:X\r\n"])
def test_a_calendar_made_to_take_long_is_refused_at_once(block):
    text = b"BEGIN:VCALENDAR\r\n" + block.encode() * 100_000 + b"END:VCALENDAR\r\n"
    started = time.process_time()
    with pytest.raises(SectionError, match="more than 5,000 events"):
        occurrences(text, date(2026, 12, 2), date(2026, 12, 2), TOKYO, "host")
    assert time.process_time() - started < 2


def test_every_four_hours_since_last_year_is_told():
    event = "UID:1\nDTSTART;TZID=Asia/Tokyo:20251201T020000\nDURATION:PT5M\nRRULE:FREQ=HOURLY;INTERVAL=4\nSUMMARY:薬"
    assert [e.start.hour for e in of("2026-12-02", event)] == [2, 6, 10, 14, 18, 22]


def test_words_from_outside_are_cleaned():
    event = "UID:1\nDTSTART:20261202T090000\nSUMMARY:<b>会議</b>\\, 第2🎉 https://meet.example/abc\nLOCATION:\u202e本社\\n3階"
    (event,) = of("2026-12-02", event)
    assert (event.summary, event.place) == ("会議, 第2", "本社 3階")


def test_several_calendars_in_one_file_are_read():
    text = ics("UID:1\nDTSTART:20261202T090000\nSUMMARY:一") + ics("UID:2\nDTSTART:20261202T080000\nSUMMARY:二")
    day = date(2026, 12, 2)
    assert [e.summary for e in occurrences(text, day, day, TOKYO, "test")] == ["二", "一"]


@pytest.mark.parametrize(
    "text",
    [b"", b"<html>login</html>", b"\xff\xfe\x00", b"BEGIN:VCALENDAR\r\n", b"BEGIN:VEVENT\r\nEND:VEVENT\r\n", b"[]", b":" * 99,
     b"END:VCALENDAR\r\n", b"BEGIN:VCALENDAR\r\nEND:VEVENT\r\n",
     ics("UID:1\nDTSTART:20261202T090000")[:-20]],
)  # fmt: skip
def test_what_is_no_calendar_is_said_to_be_none(text):
    with pytest.raises(SectionError, match=r"^host: the answer is no calendar"):
        occurrences(text, date(2026, 12, 2), date(2026, 12, 2), TOKYO, "host")


def test_a_calendar_without_events_is_a_good_one():
    assert of("2026-12-02") == []


def test_the_same_event_in_two_calendars_is_told_once():
    def event(uid, summary, hour):
        start = datetime(2026, 12, 2, hour, tzinfo=TOKYO)
        return Occurrence(uid, summary, start, start + timedelta(hours=1))

    mine = [event("1", "朝会", 9), event("2", "歯医者", 14)]
    hers = [event("1", "朝会（コピー）", 9), event("x", "歯医者", 14), event("1", "朝会", 10), event("", "買い物", 15)]
    assert [(e.summary, e.start.hour) for e in merged([mine, hers])] == [
        ("朝会", 9),
        ("朝会", 10),
        ("歯医者", 14),
        ("買い物", 15),
    ]


def test_looking_only_at_what_is_near_changes_nothing(monkeypatch):
    rng = random.Random(8)
    events = []
    for number in range(300):
        start = datetime(2026, 12, 2) + timedelta(hours=rng.randrange(-24 * 40, 24 * 40))
        form = rng.choice(("utc", "zone", "date", "long"))
        if form == "date":
            times = f"DTSTART;VALUE=DATE:{start:%Y%m%d}\nDTEND;VALUE=DATE:{start + timedelta(days=3):%Y%m%d}"
        elif form == "long":
            times = f"DTSTART:{start - timedelta(days=60):%Y%m%dT%H%M%S}\nDURATION:P60D"
        else:
            mark = "Z" if form == "utc" else ""
            zone = "" if form == "utc" else ";TZID=America/Los_Angeles"
            end = start + timedelta(hours=rng.randrange(30))
            times = f"DTSTART{zone}:{start:%Y%m%dT%H%M%S}{mark}\nDTEND{zone}:{end:%Y%m%dT%H%M%S}{mark}"
        rule = "\nRRULE:FREQ=WEEKLY;COUNT=6" if rng.random() < 0.2 else ""
        events.append(f"UID:{number}\n{times}{rule}\nSUMMARY:{number}\nDESCRIPTION:a\\nDTSTART:20000101")
    near = of("2026-12-01", *events, days=3)
    monkeypatch.setattr(ics_module, "without_the_past", lambda text, first, last: text)
    assert near == of("2026-12-01", *events, days=3)
    assert 40 < len(near) < 250


def test_of_many_years_little_is_read():
    day = date(2026, 12, 2)
    old = [f"UID:{n}\nDTSTART:20{n % 15 + 10}0102T090000Z\nDTEND:20{n % 15 + 10}0102T100000Z" for n in range(50)]
    left = without_the_past(ics(*old, "UID:x\nDTSTART:20261202T090000"), day, day)
    assert left.count(b"BEGIN:VEVENT") == 1
    assert left.startswith(b"BEGIN:VCALENDAR")
    assert left.endswith(b"END:VCALENDAR\r\n")


def test_occurrences_survive_json():
    timed = Occurrence(
        "1", "朝会", datetime(2026, 12, 2, 9, tzinfo=TOKYO), datetime(2026, 12, 2, 10, tzinfo=TOKYO), "本社", "仕事"
    )
    whole = Occurrence("2", "出張", date(2026, 12, 1), date(2026, 12, 4))
    again = [from_json(json.loads(json.dumps(event.to_json())), TOKYO) for event in (timed, whole)]
    assert again == [replace(timed, uid=""), replace(whole, uid="")]


def test_of_a_calendar_that_is_too_full_the_days_that_are_known_whole_are_said():
    start = datetime(2026, 12, 2, tzinfo=TOKYO)
    events = [Occurrence("", str(n), start + timedelta(hours=n), start + timedelta(hours=n + 1)) for n in range(500)]
    assert kept(events[:400], date(2026, 12, 9))["until"] == "2026-12-09"
    full = kept(events, date(2026, 12, 31))
    assert (full["until"], len(full["events"])) == ("2026-12-17", 400)  # hour 400 lies on the 18th
