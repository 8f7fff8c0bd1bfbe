"""News: headlines that can be read out, each on one day only, from feeds of every form."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from daemon.briefings.fetcher import Answer
from daemon.briefings.sections.feed import headline, items
from daemon.briefings.sections.news import KIND, NewsSettings
from daemon.errors import SectionError

URL = {"url": "https://news.example/rss"}


def rss(*entries, encoding="UTF-8"):
    """Entries are titles, or (title, rest of the item)."""
    parts = []
    for number, entry in enumerate(entries):
        title, rest = entry if isinstance(entry, tuple) else (entry, "")
        guid = "" if "<guid" in rest else f"<guid>{title}{number}</guid>"
        parts.append(f"<item><title>{title}</title>{guid}{rest}</item>")
    text = f'<?xml version="1.0" encoding="{encoding}"?><rss version="2.0"><channel><title>N</title>{"".join(parts)}</channel></rss>'
    return text.encode(encoding)


def section(**settings):
    return KIND.section(NewsSettings.model_validate(URL | settings))


def told(house, news, due, last=None):
    """Titles, and the data as they are kept."""
    data = json.loads(json.dumps(house.fetch(news, due, last=last)))
    found = news.facts(data, house.around(due))
    return [item["title"] for item in found["items"]] if found else [], data


def titles(body, kind="application/rss+xml", charset=None):
    return [item.title for item in items(Answer(body, kind, charset), "news.example")]


# Feeds.


def test_rss_rdf_and_atom_are_read():
    rdf = """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="x"><title>N</title></channel><item rdf:about="a"><title>一つ目</title><link>https://x/a</link></item></rdf:RDF>"""
    atom = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>N</title><entry><id>1</id>
<title type="html">&lt;b&gt;一つ目&lt;/b&gt;</title><updated>2026-12-01T00:00:00Z</updated></entry></feed>"""
    assert titles(rss("一つ目")) == titles(rdf.encode()) == titles(atom.encode(), "application/atom+xml") == ["一つ目"]


@pytest.mark.parametrize("encoding", ["EUC-JP", "Shift_JIS", "UTF-16"])
def test_other_encodings_are_read(encoding):
    assert titles(rss("日本語の見出し", encoding=encoding)) == ["日本語の見出し"]


def test_the_charset_of_the_answer_is_read():
    body = rss("日本語の見出し").decode().replace(' encoding="UTF-8"', "").encode("euc-jp")
    assert titles(body, "text/xml", "euc-jp") == ["日本語の見出し"]


def test_a_bomb_of_entities_does_not_unfold():
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY e0 "ha">{entities}]>' + rss("&e9;", "無事").decode()[38:]
    found = titles(bomb.encode())
    assert all(len(title) < 200 for title in found)
    assert "無事" in found


def test_files_of_the_machine_are_not_read_into_headlines(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    head = f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    assert "s3cret" not in str(titles((head + rss("見出し &x;").decode()[38:]).encode()))


@pytest.mark.parametrize(
    "body", [b"", b"<html><body>login</body></html>", b"{}", b"\x00" * 99, b"/etc/passwd", b"https://x.example/"]
)
def test_what_is_no_feed_is_said_to_be_none(body):
    with pytest.raises(SectionError, match=r"^news\.example: the answer is no feed"):
        titles(body)


def test_a_body_that_is_the_name_of_a_file_is_not_opened(tmp_path):
    path = tmp_path / "feed.xml"
    path.write_bytes(rss("盗み見"))
    with pytest.raises(SectionError):
        titles(str(path).encode())


def test_a_feed_with_a_mistake_is_read_as_far_as_it_goes():
    assert titles(rss("一つ目 & その続き", "二つ目")[:-20])[0].startswith("一つ目")


@pytest.mark.parametrize("piece", ["<a>", "<a ", "<!--", "<item><title>x</title></item>"])
def test_a_feed_made_to_take_long_is_refused_at_once(piece):
    with pytest.raises(SectionError, match="too large"):
        titles((rss("一").decode()[:-20] + piece * 60_000).encode())


# Headlines.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("【速報】A社とB社＝経営統合へ…（写真）", "速報、A社とB社、経営統合へ"),
        ("首相「続投」を表明　与党内に異論も", "首相「続投」を表明 与党内に異論も"),
        ("東京で雪｜交通に乱れ", "東京で雪、交通に乱れ"),
        ("株価が急落 — 米国市場", "株価が急落、米国市場"),
        ("日経平均3-2で反発", "日経平均3-2で反発"),
        ("A/B test と 男/女", "A/B test と 男、女"),
        ("〈社説〉物価と賃金", "社説、物価と賃金"),
        ("これは本当か？！", "これは本当か？！"),
        ("地震の備え→まず水を", "地震の備え、まず水を"),
        ("■お知らせ▽続き★", "お知らせ 続き"),
        ("&lt;b&gt;強調&lt;/b&gt; https://t.example/x", "強調"),
        ("熱戦の結果（動画あり）", "熱戦の結果"),
        ("米・中・日の協議", "米・中・日の協議"),
        ("…", ""),
        ("🎉", ""),
    ],
)
def test_headlines_can_be_read_out(text, said):
    assert headline(text) == said


def test_the_publisher_at_the_end_goes():
    assert headline("雪の予報 - 朝の新聞", "朝の新聞") == "雪の予報"
    assert headline("朝の新聞", "朝の新聞") == "朝の新聞"
    entry = ("雪の予報 - 朝の新聞", '<source url="https://x/">朝の新聞</source>')
    assert titles(rss(entry)) == ["雪の予報"]


def test_a_long_headline_is_cut():
    assert len(headline("長い見出し" * 100)) <= 120


# What is told.


def test_as_many_as_asked_in_the_order_of_the_feed(house):
    house.fetcher.answers["news.example"] = rss("一", "二", "三", "四")
    assert told(house, section(count=3), "2026-12-01T07:00")[0] == ["一", "二", "三"]


def test_what_was_told_yesterday_is_not_told_again(house):
    news = section(count=2)
    house.fetcher.answers["news.example"] = rss("一", "二", "三")
    first, data = told(house, news, "2026-12-01T07:00")
    second, data = told(house, news, "2026-12-02T07:00", data)
    house.fetcher.answers["news.example"] = rss("四", "一", "二", "三")
    third, data = told(house, news, "2026-12-03T07:00", data)
    fourth, _ = told(house, news, "2026-12-04T07:00", data)
    assert (first, second, third, fourth) == (["一", "二"], ["三"], ["四"], [])


def test_a_briefing_that_is_heard_twice_on_a_day_says_the_same(house):
    news = section(count=2)
    house.fetcher.answers["news.example"] = rss("一", "二", "三")
    first, data = told(house, news, "2026-12-01T07:00")
    house.fetcher.answers["news.example"] = rss("零", "一", "二", "三")
    again, data = told(house, news, "2026-12-01T08:00", data)
    assert first == again == ["一", "二"]
    assert told(house, news, "2026-12-02T07:00", data)[0] == ["零", "三"]


def test_a_look_at_a_day_to_come_tells_nothing_ahead(house):
    news = section(count=2)
    house.fetcher.answers["news.example"] = rss("一", "二", "三")
    _, data = told(house, news, "2026-12-24T07:00")
    assert told(house, news, "2026-12-01T07:00", data)[0] == ["一", "二"]


def test_yesterdays_data_hold_only_what_was_not_told(house):
    news = section(count=2)
    house.fetcher.answers["news.example"] = rss("一", "二", "三")
    _, data = told(house, news, "2026-12-01T07:00")
    found = news.facts(data, house.around("2026-12-02T07:00"))
    assert [item["title"] for item in found["items"]] == ["三"]


def test_the_same_headline_under_another_id_or_in_other_brackets_is_a_repeat(house):
    news = section()
    house.fetcher.answers["news.example"] = rss(("「雪」の予報", "<guid>1</guid>"), ("別の話", "<guid>2</guid>"))
    _, data = told(house, news, "2026-12-01T07:00")
    house.fetcher.answers["news.example"] = rss(
        ("『雪』の 予報", "<guid>9</guid>"), ("別の話の続き", "<guid>2</guid>"), ("新しい話", "<guid>3</guid>")
    )
    assert told(house, news, "2026-12-02T07:00", data)[0] == ["新しい話"]


def test_what_was_told_is_forgotten_after_two_weeks(house):
    news = section()
    house.fetcher.answers["news.example"] = rss("一")
    _, data = told(house, news, "2026-12-01T07:00")
    assert told(house, news, "2026-12-15T07:00", data)[0] == []
    house.fetcher.answers["news.example"] = rss("二")
    _, data = told(house, news, "2026-12-16T07:00", data)
    assert len(data["told"]) == 2


@pytest.mark.parametrize("last", [None, {}, [], {"told": 3}, {"told": {"x": "yesterday"}}, "x"])
def test_memory_that_cannot_be_read_is_none(house, last):
    house.fetcher.answers["news.example"] = rss("一")
    assert told(house, section(), "2026-12-01T07:00", last)[0] == ["一"]


def test_old_headlines_are_not_told(house):
    old = ("昔の話", "<pubDate>Sun, 29 Nov 2026 09:00:00 +0900</pubDate>")
    new = ("今朝の話", "<pubDate>Mon, 30 Nov 2026 22:30:00 GMT</pubDate>")
    odd = ("時刻のない話", "<pubDate>someday</pubDate>")
    house.fetcher.answers["news.example"] = rss(old, new, odd)
    assert told(house, section(), "2026-12-01T08:00")[0] == ["今朝の話", "時刻のない話"]
    assert told(house, section(newest="3d"), "2026-12-01T08:00")[0] == ["昔の話", "今朝の話", "時刻のない話"]
    found = house.facts(section(), "2026-12-01T08:00")
    assert found["items"][0]["at"].isoformat() == "2026-12-01T07:30:00+09:00"


def test_words_decide_what_is_told(house):
    house.fetcher.answers["news.example"] = rss(
        "東京の雪", "大阪の雪", "【PR】東京の靴", ("株価", "<description>東京市場</description>")
    )
    assert told(house, section(include=["東京"], exclude=["pr"]), "2026-12-01T07:00")[0] == ["東京の雪", "株価"]


def test_several_feeds_take_turns_and_the_same_headline_is_told_once(house):
    house.fetcher.answers |= {"a.example": rss("一", "二", "三"), "b.example": rss("い", "一", "ろ")}
    news = section(url=["https://a.example/", "https://b.example/"], count=5)
    assert told(house, news, "2026-12-01T07:00")[0] == ["一", "い", "二", "三", "ろ"]


def test_a_feed_that_fails_beside_a_good_one_is_left_out_and_logged(house, caplog):
    house.fetcher.answers |= {"a.example": rss("一"), "b.example": SectionError("b.example: answers 500")}
    news = section(url=["https://a.example/", "https://b.example/"])
    assert told(house, news, "2026-12-01T07:00")[0] == ["一"]
    assert "b.example: answers 500" in caplog.text
    house.fetcher.answers["a.example"] = SectionError("a.example: answers 404")
    with pytest.raises(SectionError, match=r"a\.example: answers 404; b\.example: answers 500"):
        house.fetch(news, "2026-12-01T07:00")


def test_a_long_feed_stays_small_enough_to_be_kept(house):
    house.fetcher.answers["news.example"] = rss(
        *((f"{n}" + "見出し" * 60, f"<description>{'要約。' * 200}</description>") for n in range(300))
    )
    _, data = told(house, section(), "2026-12-01T07:00")
    assert len(json.dumps(data, ensure_ascii=False).encode()) < 256_000


def test_data_that_are_not_news_are_one_sentence(house):
    with pytest.raises(SectionError, match="not built as expected"):
        section().facts({"items": [{}], "told": {}}, house.around("2026-12-01T07:00"))


@pytest.mark.parametrize("settings", [{}, {"url": []}, URL | {"exclude": [" "]}, URL | {"count": 0}])
def test_settings_that_do_not_fit_are_refused(settings):
    with pytest.raises(ValidationError):
        NewsSettings.model_validate(settings)


def test_no_address_is_repeated_in_what_is_printed_of_the_settings():
    assert "t0ken" not in repr(NewsSettings.model_validate({"url": "https://x/t0ken"}))


# Words.


def test_words(house):
    entries = ("【速報】雪の予報", "<description>&lt;p&gt;都心で積もる。&lt;/p&gt;</description>"), "これは本当か？"
    house.fetcher.answers["news.example"] = rss(*entries)
    assert house.says(KIND, URL, "2026-12-01T07:00") == "ニュースを2件お伝えします。速報、雪の予報。これは本当か？"
    assert house.says(KIND, URL | {"summary": True, "count": 1}, "2026-12-01T07:00") == (
        "ニュースです。速報、雪の予報。都心で積もる。"
    )
    house.fetcher.answers["news.example"] = rss("Snow ahead", "Is it true?")
    assert house.says(KIND, URL, "2026-12-01T07:00", language="en") == "The headlines. Snow ahead. Is it true?"


def test_words_of_nothing(house):
    house.fetcher.answers["news.example"] = rss()
    assert house.says(KIND, URL, "2026-12-01T07:00") is None
    assert house.says(KIND, URL | {"say_none": True}, "2026-12-01T07:00") == "新しいニュースはありません。"
