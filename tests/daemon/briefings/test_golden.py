"""Whole briefings of the sections that need no other package, word for word, as a listener would hear them."""

import pytest

from daemon.errors import SectionError
from engine.text import TextPipeline
from tests.fakes.briefings import House, at

SECTIONS = (
    '{kind: text, id: hello, text: "{% if due.hour < 10 %}おはようございます{% elif due.hour < 17 %}こんにちは'
    '{% else %}こんばんは{% endif %}。{{ due | time }}です。"}',
    "{kind: date, anniversaries: [{date: 2016-12-24, name: 結婚記念日, ahead: 2}, {date: 12-31, name: 大晦日},"
    " {date: 2-11, name: 開校記念日}]}",
    "{kind: mqtt, id: rooms, topics: {living: {topic: home/living, name: 居間, unit: 度, digits: 0},"
    " out: {topic: home/out, path: temperature, name: 外, unit: 度, digits: 0}}}",
    '{kind: mqtt, id: doors, topics: {door: {topic: home/door, words: {"ON": 玄関の鍵が開いています}},'
    ' window: {topic: home/window, words: {"ON": 寝室の窓が開いています}}}}',
    '{kind: http, id: power, url: "https://power.example/KEY123", values: {today: today, last: last},'
    " text: \"昨日の電気は{{ today | count('キロワット時') }}、{{ today | compared(last, '前の日', 'キロワット時', '多い', '少ない') }}です。\","
    " when: {days: not sun}}",
    "{kind: text, id: frost, text: \"水道の凍結に気をつけてください。\", when: \"topics['home/frost'] == 'ON'\"}",
    "{kind: text, id: bye, text: いってらっしゃい。, when: {days: workdays}}",
    "{kind: text, id: rest, text: よい休日を。, when: {days: not workdays}}",
)

ALL = {"home/living": "20.6", "home/out": '{"temperature": 4.4}', "home/door": "OFF", "home/window": "OFF"}
POWER = {"today": 12, "last": 9}

DAYS = {
    "a weekday": (
        "2026-12-02T07:00:00",
        ALL,
        POWER,
        "おはようございます。午前7時です。今日は12月2日、水曜日です。居間は21度、外は4度です。"
        "昨日の電気は12キロワット時、前の日より3キロワット時多いです。いってらっしゃい。",
    ),
    "a Sunday": (
        "2026-12-06T09:30:00",
        ALL,
        POWER,
        "おはようございます。午前9時半です。今日は12月6日、日曜日です。居間は21度、外は4度です。よい休日を。",
    ),
    "a holiday": (
        "2026-11-03T07:05:00",
        ALL,
        {"today": 9, "last": 9},
        "おはようございます。午前7時5分です。今日は11月3日、火曜日、文化の日です。居間は21度、外は4度です。"
        "昨日の電気は9キロワット時、前の日と同じです。よい休日を。",
    ),
    "two days before an anniversary": (
        "2026-12-22T07:00:00",
        ALL,
        POWER,
        "おはようございます。午前7時です。今日は12月22日、火曜日です。あさっては結婚記念日です。今年で10年になります。"
        "居間は21度、外は4度です。昨日の電気は12キロワット時、前の日より3キロワット時多いです。いってらっしゃい。",
    ),
    "31 December": (
        "2026-12-31T12:00:00",
        ALL,
        POWER,
        "こんにちは。正午です。今日は12月31日、木曜日です。今日は大晦日です。居間は21度、外は4度です。"
        "昨日の電気は12キロワット時、前の日より3キロワット時多いです。いってらっしゃい。",
    ),
    "New Year's Day": (
        "2027-01-01T08:00:00",
        ALL,
        POWER,
        "おはようございます。午前8時です。今日は1月1日、金曜日、元日です。居間は21度、外は4度です。"
        "昨日の電気は12キロワット時、前の日より3キロワット時多いです。よい休日を。",
    ),
    "frost": (
        "2027-01-20T06:45:00",
        ALL | {"home/out": '{"temperature": -6.2}', "home/frost": "ON"},
        POWER,
        "おはようございます。午前6時45分です。今日は1月20日、水曜日です。居間は21度、外はマイナス6度です。"
        "昨日の電気は12キロワット時、前の日より3キロワット時多いです。水道の凍結に気をつけてください。いってらっしゃい。",
    ),
    "doors and windows open in the evening": (
        "2026-12-02T22:15:00",
        ALL | {"home/door": "ON", "home/window": "ON"},
        POWER,
        "こんばんは。午後10時15分です。今日は12月2日、水曜日です。居間は21度、外は4度です。"
        "玄関の鍵が開いています。寝室の窓が開いています。"
        "昨日の電気は12キロワット時、前の日より3キロワット時多いです。いってらっしゃい。",
    ),
    "a sensor is dead": (
        "2026-12-02T07:00:00",
        ALL | {"home/living": "unavailable"},
        POWER,
        "おはようございます。午前7時です。今日は12月2日、水曜日です。外は4度です。"
        "昨日の電気は12キロワット時、前の日より3キロワット時多いです。いってらっしゃい。",
    ),
    "no network and no broker": (
        "2026-12-02T07:00:00",
        {},
        SectionError("power.example cannot be reached"),
        "おはようございます。午前7時です。今日は12月2日、水曜日です。いってらっしゃい。",
    ),
}


@pytest.mark.parametrize("name", DAYS)
def test_a_whole_briefing(tmp_path, name):
    moment, topics, power, words = DAYS[name]
    house = House(tmp_path, now=moment)
    for topic, payload in topics.items():
        house.message(topic, payload, minutes_ago=5)
    house.network.answers["https://power.example/KEY123"] = power
    composed = house.tell(*SECTIONS)
    assert composed.text == words
    for part in composed.parts:
        assert (part.text is None) == (part.left_out_because is not None)
    assert "KEY123" not in str(composed)


def test_what_was_good_an_hour_ago_is_told_with_its_age(tmp_path):
    house = House(tmp_path, now="2026-12-02T06:00:00")
    house.network.answers["https://power.example/KEY123"] = POWER
    house.tell(*SECTIONS)
    house.network.answers.clear()
    composed = house.tell(*SECTIONS, due=at("2026-12-02T07:00:00"))
    assert composed.text == (
        "おはようございます。午前7時です。今日は12月2日、水曜日です。"
        "1時間前の情報です。昨日の電気は12キロワット時、前の日より3キロワット時多いです。いってらっしゃい。"
    )


def test_a_briefing_is_read_as_it_is_meant():
    kana = TextPipeline().kana
    read = [kana(text) for text in DAYS["frost"][3].split("。") if text]
    assert read == [
        "オハヨーゴザイマス",
        "ゴゼンロクジヨンジューゴフンデス",
        "キョーワイチガツハツカ、スイヨービデス",
        "イマワニジューイチド、ソトワマイナスロクドデス",
        "キノーノデンキワジューニキロワットジ、マエノヒヨリサンキロワットジオーイデス",
        "スイドーノトーケツニキヲツケテクダサイ",
        "イッテラッシャイ",
    ]
