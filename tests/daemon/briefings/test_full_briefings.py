"""Whole briefings on ten days, word for word, as a listener would hear them: every kind of section together."""

from datetime import datetime, timedelta

import pytest

from daemon.briefings.fetcher import Answer
from engine.text import TextPipeline
from tests.daemon.briefings.sources.test_ics import ics
from tests.daemon.briefings.sources.test_news import rss
from tests.daemon.briefings.sources.test_weather import meteo
from tests.fakes.briefings import House

SECTIONS = (
    '{kind: text, id: hello, text: \'{{ "おはようございます" if due.hour < 10 else "こんにちは" if due.hour < 17 else "こんばんは" }}。\'}',
    "{kind: date, anniversaries: [{date: 2016-12-24, name: 結婚記念日}, {date: 12-31, name: 大晦日}]}",
    "{kind: weather, latitude: 35.68, longitude: 139.77}",
    '{kind: calendar, url: "https://calendar.example/KEY123/basic.ics"}',
    "{kind: waste, rules: [{name: 燃えるごみ, days: [tue, fri]}, {name: 古紙, days: 2nd wed}]}",
    '{kind: news, url: "https://news.example/rss", count: 2}',
    "{kind: mqtt, topic: home/living, name: 居間, unit: 度, digits: 0}",
)
DENTIST = "UID:1\nDTSTART:20261202T010000Z\nDURATION:PT1H\nSUMMARY:歯医者\nLOCATION:駅前クリニック"


def weather(day, **answer):
    """An answer whose second day is ``day``; see ``meteo``."""
    first = datetime.fromisoformat(day) - timedelta(days=1)
    return meteo(first=first.date().isoformat(), **answer)


# The moment; weather, calendar and headlines; what is heard; the sections that have nothing to say.
DAYS = {
    "weekday": (
        "2026-12-02T07:00:00",
        (weather("2026-12-02"), ics(DENTIST), ["日銀が金利を据え置き", "新しい駅が開業"]),
        (
            "おはようございます。今日は12月2日、水曜日です。今日の天気は、晴れ。"
            "今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
            "今夜は晴れ、明日の朝は10度まで下がる見込みです。今日の予定は1件です。"
            "午前10時から、歯医者、場所は駅前クリニック。次の歯医者まで、あと3時間です。"
            "ニュースを2件お伝えします。日銀が金利を据え置き。新しい駅が開業。居間は21度です。"
        ),
        ["waste"],
    ),
    "rainy friday": (
        "2026-12-04T07:00:00",
        (
            weather("2026-12-04", rain=[(h, 2.0) for h in range(14, 18)], codes=dict.fromkeys(range(14, 18), 61)),
            ics("UID:1\nDTSTART;VALUE=DATE:20261203\nDTEND;VALUE=DATE:20261206\nSUMMARY:出張"),
            ["<b>大雨</b>のおそれ&amp;注意"],
        ),
        (
            "おはようございます。今日は12月4日、金曜日です。今日の天気は、晴れのち弱い雨。"
            "今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
            "午後2時ごろから午後6時ごろにかけて、雨が降りそうです。傘をお忘れなく。"
            "今夜は晴れ、明日の朝は10度まで下がる見込みです。今日の予定は1件です。出張、3日間の2日目。"
            "今日は、燃えるごみの収集日です。ニュースです。大雨のおそれ&注意。居間は21度です。"
        ),
        [],
    ),
    "sunday": (
        "2026-12-06T09:00:00",
        (weather("2026-12-06"), ics("UID:1\nDTSTART:20261206T050000Z\nDURATION:PT2H\nSUMMARY:映画"), []),
        (
            "おはようございます。今日は12月6日、日曜日です。今日の天気は、晴れ。"
            "今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
            "今夜は晴れ、明日の朝は10度まで下がる見込みです。今日の予定は1件です。午後2時から、映画。"
            "居間は21度です。"
        ),
        ["news", "waste"],
    ),
    "holiday": (
        "2026-11-03T08:00:00",
        (
            weather("2026-11-03"),
            ics("UID:1\nDTSTART:20261104T010000Z\nDURATION:PT1H\nSUMMARY:会議"),
            ["円相場は小幅な値動き"],
        ),
        (
            "おはようございます。今日は11月3日、火曜日、文化の日です。今日の天気は、晴れ。"
            "今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
            "今夜は晴れ、明日の朝は10度まで下がる見込みです。今日は、燃えるごみの収集日です。ニュースです。"
            "円相場は小幅な値動き。居間は21度です。"
        ),
        ["calendar"],
    ),
    "2nd wed": (
        "2026-12-09T07:00:00",
        (
            weather("2026-12-09", temperatures=dict.fromkeys(range(24, 31), -2.0)),
            ics("UID:1\nDTSTART:20261208T223000Z\nDURATION:PT30M\nSUMMARY:朝の電話"),
            ["図書館が新装開館"],
        ),
        (
            "おはようございます。今日は12月9日、水曜日です。今日の天気は、晴れ。"
            "今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
            "今夜は晴れ、明日の朝はマイナス2度まで下がる見込みです。路面や水道の凍結にご注意ください。"
            "今日の予定は1件です。午前7時半から、朝の電話。次の朝の電話まで、あと30分です。"
            "今日は、古紙の収集日です。ニュースです。図書館が新装開館。居間は21度です。"
        ),
        [],
    ),
    "xmas eve evening": (
        "2026-12-24T19:00:00",
        (
            weather("2026-12-24"),
            ics("UID:1\nDTSTART:20261224T100000Z\nDURATION:PT2H\nSUMMARY:夕食"),
            ["駅前でイルミネーション"],
        ),
        (
            "こんばんは。今日は12月24日、木曜日です。今日は結婚記念日です。今年で10年になります。"
            "明日の天気は、晴れ。最低気温は3度、最高気温は12度の予想です。今日の予定は1件です。"
            "午後7時から、夕食。明日は、燃えるごみの収集日です。ニュースです。駅前でイルミネーション。"
            "居間は21度です。"
        ),
        [],
    ),
    "31 dec": (
        "2026-12-31T12:00:00",
        (
            weather("2026-12-31"),
            ics("UID:1\nDTSTART:20261231T143000Z\nDURATION:PT1H\nSUMMARY:初詣"),
            ["高速道路は夕方から混雑"],
        ),
        (
            "こんにちは。今日は12月31日、木曜日です。今日は大晦日です。今日の天気は、晴れ。"
            "最高気温は16度で、昨日より3度高い見込みです。今夜は晴れ、明日の朝は10度まで下がる見込みです。"
            "今日の予定は1件です。午後11時半から、初詣。ニュースです。高速道路は夕方から混雑。"
            "居間は21度です。"
        ),
        ["waste"],
    ),
    "new year": (
        "2027-01-01T08:00:00",
        (
            weather("2027-01-01"),
            ics("UID:1\nDTSTART:20270104T000000Z\nDURATION:PT1H\nSUMMARY:仕事始め"),
            ["各地で初日の出"],
        ),
        (
            "おはようございます。今日は1月1日、金曜日、元日です。今日の天気は、晴れ。"
            "今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
            "今夜は晴れ、明日の朝は10度まで下がる見込みです。今日は、燃えるごみの収集日です。ニュースです。"
            "各地で初日の出。居間は21度です。"
        ),
        ["calendar"],
    ),
    "snow": (
        "2027-01-20T06:30:00",
        (
            weather(
                "2027-01-20",
                snow=[(h, 1.5) for h in range(9, 15)],
                codes=dict.fromkeys(range(9, 15), 73),
                temperatures=dict.fromkeys(range(48), -1.0),
                temperature_2m_max=[9.0, 2.0, 5.0, 5.0, 5.0],
                temperature_2m_min=[1.0, -3.0, 0.0, 0.0, 0.0],
                snowfall_sum=[0.0, 9.0, 0, 0, 0],
            ),
            ics("UID:1\nDTSTART:20270120T010000Z\nDURATION:PT1H\nSUMMARY:中止の会\nSTATUS:CANCELLED"),
            ["大雪に警戒"],
        ),
        (
            "おはようございます。今日は1月20日、水曜日です。今日の天気は、雪。"
            "今朝の最低気温はマイナス3度、日中は2度まで上がり、昨日より7度低い見込みです。"
            "午前9時ごろから午後3時ごろにかけて、雪が降りそうです。"
            "今夜は晴れ、明日の朝はマイナス1度まで下がる見込みです。路面や水道の凍結にご注意ください。"
            "9センチほどの積雪に備えてください。ニュースです。大雪に警戒。居間は21度です。"
        ),
        ["calendar", "waste"],
    ),
    "no network": (
        "2026-12-02T07:00:00",
        (None, None, None),
        ("おはようございます。今日は12月2日、水曜日です。居間は21度です。"),
        ["calendar", "news", "waste", "weather"],
    ),
}


def compose(tmp_path, name):
    moment, (forecast, calendar, headlines), _, _ = DAYS[name]
    house = House(tmp_path, now=moment)
    house.message("home/living", "20.6", minutes_ago=5)
    answers = house.network.answers
    if forecast is not None:
        answers["https://api.open-meteo.com/"] = forecast
        answers["https://calendar.example/KEY123/basic.ics"] = Answer(calendar, "text/calendar", "utf-8")
        answers["https://news.example/rss"] = Answer(rss(*headlines), "application/rss+xml")
    return house.tell(*SECTIONS)


@pytest.mark.parametrize("name", DAYS)
def test_a_whole_briefing_of_every_kind(tmp_path, name, caplog):
    composed = compose(tmp_path, name)
    assert composed.text == DAYS[name][2]
    assert sorted(part.section for part in composed.parts if part.text is None) == DAYS[name][3]
    assert "KEY123" not in str(composed) + caplog.text


def test_what_is_heard_on_a_snowy_morning(tmp_path):
    kana = TextPipeline().kana(compose(tmp_path, "snow").parts[2].text)
    assert kana.split("。") == [
        "キョーノテンキワ、ユキ",
        "ケサノサイテーキオンワマイナスサンド、ニッチューワニドマデアガリ、キノーヨリナナドヒクイミコミデス",
        "ゴゼンクジゴロカラゴゴサンジゴロニカケテ、ユキガフリソーデス",
        "コンヤワハレ、アシタノアサワマイナスイチドマデサガルミコミデス",
        "ロメンヤスイドーノトーケツニゴチューイクダサイ",
        "キューセンチホドノセキセツニソナエテクダサイ",
        "",
    ]
