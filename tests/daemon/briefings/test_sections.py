import asyncio
import os

import pytest

from daemon.briefings.json_path import parse_path, value_at
from daemon.briefings.sections import file as file_section
from daemon.briefings.sections.values import spoken_value, value_of
from daemon.config import ConfigError
from tests.fakes.briefings import House, at


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def why(composed):
    return composed.parts[0].left_out_because


# date


@pytest.mark.parametrize(
    ("day", "keys", "words"),
    [
        ("2026-12-01", "", "今日は12月1日、火曜日です。"),
        ("2026-11-03", "", "今日は11月3日、火曜日、文化の日です。"),
        ("2026-11-03", ", holidays: false", "今日は11月3日、火曜日です。"),
        ("2026-09-22", "", "今日は9月22日、火曜日、国民の休日です。"),
        ("2026-05-06", "", "今日は5月6日、水曜日、振替休日です。"),
        ("2026-01-01", ", era: true", "今日は令和8年1月1日、木曜日、元日です。"),
    ],
)
def test_the_day(house, day, keys, words):
    assert house.tell(f"{{kind: date{keys}}}", due=at(f"{day}T07:00:00")).text == words


def test_the_day_is_that_of_the_house(house):
    from datetime import UTC, datetime

    due = datetime(2026, 12, 1, 22, 30, tzinfo=UTC)
    assert house.tell("{kind: date}", due=due).text == "今日は12月2日、水曜日です。"


@pytest.mark.parametrize(
    ("day", "anniversary", "words"),
    [
        ("2026-12-24", "{date: 12-24, name: 記念日}", "今日は記念日です。"),
        ("2026-12-24", "{date: 2016-12-24, name: 記念日}", "今日は記念日です。今年で10年になります。"),
        ("2026-12-24", "{date: 2026-12-24, name: 記念日}", "今日は記念日です。"),
        ("2026-12-23", "{date: 12-24, name: 記念日}", ""),
        ("2026-12-23", "{date: 12-24, name: 記念日, ahead: 1}", "明日は記念日です。"),
        ("2026-12-30", "{date: 1-4, name: 仕事始め, ahead: 7}", "月曜日は仕事始めです。"),
        ("2027-02-28", "{date: 2024-02-29, name: 誕生日}", "今日は誕生日です。今年で3年になります。"),
        ("2028-02-28", "{date: 2024-02-29, name: 誕生日}", ""),
    ],
)
def test_anniversaries_of_the_house(house, day, anniversary, words):
    text = house.tell(f"{{kind: date, anniversaries: [{anniversary}]}}", due=at(f"{day}T07:00:00")).text
    assert text.partition("です。")[2] == words


def test_a_day_that_does_not_exist_is_an_error_of_its_key(house):
    with pytest.raises(ConfigError, match=r"anniversaries\[0\].date: a day such as 12-24 or 1990-12-24 is expected"):
        house.briefing(["{kind: date, anniversaries: [{date: 2-30, name: x}]}"])


def test_the_day_in_english(house):
    composed = house.tell("{kind: date}", language="en")
    assert composed.text == "Today is Tuesday, December 1."


# mqtt


def test_one_value_with_words_of_the_house(house):
    house.message("home/living/temperature", "21.44")
    section = '{kind: mqtt, topic: home/living/temperature, text: "居間は{{ value }}度です。"}'
    assert house.tell(section).text == "居間は21.4度です。"
    assert house.plan(section).topics == ("home/living/temperature",)


def test_several_values_are_one_sentence_and_what_is_missing_is_not_in_it(house):
    topics = (
        "{living: {topic: a, name: 居間, unit: 度, digits: 0}, bed: {topic: b, name: 寝室, unit: 度},"
        " out: {topic: c, path: t.out, name: 外, unit: 度}}"
    )
    section = f"{{kind: mqtt, topics: {topics}}}"
    house.message("a", "20.6")
    house.message("b", "unavailable")
    house.message("c", '{"t": {"out": -1.5}}')
    assert house.tell(section).text == "居間は21度、外はマイナス1.5度です。"
    house.message("b", "18")
    assert house.tell(section).text == "居間は21度、寝室は18度、外はマイナス1.5度です。"


def test_words_for_values_and_silence_when_all_is_well(house):
    topics = '{w: {topic: w, words: {"ON": 窓が開いています, "OFF": null}}, l: {topic: l, words: {"false": 鍵が開いています。}}}'
    section = f"{{kind: mqtt, topics: {topics}}}"
    house.message("w", "OFF")
    house.message("l", "true")
    composed = house.tell(section)
    assert (composed.text, why(composed)) == ("", "nothing worth saying")
    house.message("w", "ON")
    house.message("l", "false")
    assert house.tell(section).text == "窓が開いています。鍵が開いています。"


def test_a_value_that_is_too_old_is_not_told(house):
    section = '{kind: mqtt, topic: t, text: "{{ value }}度です。", max_age: 30m}'
    assert why(house.tell(section)) == "no value yet of t"
    house.message("t", "20", minutes_ago=29)
    assert house.tell(section).text == "20度です。"
    house.clock.advance(120)
    assert why(house.tell(section)) == "nothing worth saying"  # the one that was kept is as old
    house.message("t", "20", minutes_ago=90)
    assert house.tell(section.replace("30m", "2h")).text == "2時間前の情報です。20度です。"


def test_after_a_restart_the_value_that_was_kept_is_told_until_it_is_too_old(house):
    section = '{kind: mqtt, topic: t, text: "{{ value }}度です。", max_age: 3h}'
    house.message("t", "20")
    house.tell(section)
    house.topics.clear()
    house.clock.advance(3600)
    assert house.tell(section).text == "1時間前の情報です。20度です。"
    house.clock.advance(2.5 * 3600)
    assert house.tell(section).text == ""


def test_a_message_that_is_not_what_the_path_expects_is_left_out(house):
    house.message("t", "<html>")
    assert why(house.tell("{kind: mqtt, topic: t, path: a.b, name: x}")) == (
        "the value of t cannot be told: it is not JSON"
    )
    house.message("t", '{"a": 1}')
    assert why(house.tell("{kind: mqtt, topic: t, path: b, name: x}")) == (
        "the value of t cannot be told: there is nothing under b"
    )


@pytest.mark.parametrize(
    "keys",
    ["topic: a, topics: {b: c}", "name: x", "topic: a/+", "topic: 'a/#'", "topics: {due: a}", "topics: {a b: c}"],
)
def test_topics_that_cannot_be_told_are_errors(house, keys):
    with pytest.raises(ConfigError):
        house.briefing([f"{{kind: mqtt, {keys}}}"])


# values and paths


@pytest.mark.parametrize(
    ("value", "spoken"),
    [
        ("21.50", 21.5),
        ("-3", -3),
        ("1e3", 1000.0),
        ("unknown", None),
        ("Unavailable", None),
        ("", None),
        (" None ", None),
        ("nan", None),
        (float("inf"), None),
        ("晴れ<b>x</b>\x07", "晴れx"),
        (True, True),
        ("0x10", "0x10"),
        ("９", "９"),
        ("x" * 9000, "x" * 2000),
    ],
)
def test_values_are_numbers_words_or_nothing(value, spoken):
    assert spoken_value(value) == spoken
    assert type(spoken_value(value)) is type(spoken)


def test_values_within_json():
    assert value_of('{"a": [{"b": "7"}]}', "a[0].b") == 7
    assert value_of('{"a": [1, 2]}', "$.a[-1]") == 2
    assert value_of('{"max temp": 3}', '["max temp"]') == 3
    for text, path in (('{"a": 1}', "a.b"), ("[]", "[0]"), ("[" * 100_000, "a"), ('{"a": {}}', "a"), ("{", "a")):
        with pytest.raises(ValueError, match=r"nothing under|nested|not JSON|list or a mapping"):
            value_of(text, path)


def test_paths():
    assert parse_path("current.temperature") == ("current", "temperature")
    assert parse_path('$.days[0]["max"]') == ("days", 0, "max")
    assert parse_path("$") == ()
    assert value_at([1], "$") == [1]
    for bad in ("a..b", "a[", "a[x]", "a.", "a b[", "[1"):
        with pytest.raises(ValueError, match="a path such as"):
            parse_path(bad)


# http


def test_json_by_paths_with_headers(house):
    house.network.answers["https://h/"] = {"a": {"b": 3}, "c": None, "d": "晴れ"}
    keys = 'values: {n: a.b, word: d, nothing: c, missing: e}, headers: {Authorization: "Bearer KEY123"}'
    text = "{{ n | count('件') }}、{{ word }}{{ nothing is defined }}{{ missing is defined }}。"
    assert house.tell(f'{{kind: http, url: "https://h/", {keys}, text: "{text}"}}').text == "3件、晴れFalseFalse。"
    assert house.network.headers == [{"Authorization": "Bearer KEY123"}]


def test_a_short_text_needs_no_path(house):
    house.network.answers["https://h/"] = "よい<i>一日</i>を\n"
    assert house.tell('{kind: http, url: "https://h/", text: "{{ value }}。"}').text == "よい一日を。"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"a": 1}, "there is nothing under b"),
        ({"b": {}}, "it is a list or a mapping; name a path within it"),
        ("<html>", "it is not JSON"),
        ("", "it is not JSON"),
    ],
)
def test_an_answer_that_cannot_be_used(house, answer, words):
    house.network.answers["https://h/KEY123"] = answer
    composed = house.tell('{kind: http, url: "https://h/KEY123", path: b, text: "{{ value }}"}')
    assert why(composed) == f"the answer of h cannot be used: {words}"


def test_a_value_that_is_null_is_nothing_to_say(house):
    house.network.answers["https://h/"] = {"b": None}
    assert why(house.tell('{kind: http, url: "https://h/", path: b, text: "{{ value }}"}')) == "nothing worth saying"


def test_a_secret_that_vanished_is_a_reason_and_no_more(house, monkeypatch):
    monkeypatch.setenv("SECRET_URL", "https://h/KEY123")
    plan = house.plan('{kind: http, url: {env: SECRET_URL}, text: "{{ value }}"}')
    monkeypatch.delenv("SECRET_URL")
    assert why(asyncio.run(house.compose(plan))) == "the environment variable SECRET_URL is not set"


# file


def test_the_text_of_a_file(house, tmp_path):
    path = tmp_path / "note.txt"
    section = f'{{kind: file, path: "{path}"}}'
    assert why(house.tell(section)) == "nothing worth saying"
    path.write_text("\ufeff牛乳を買う。\n\n<b>卵</b>も。\n三行目。\n", encoding="utf-8")
    assert house.tell(section).text == "牛乳を買う。卵も。三行目。"
    two = section.replace('"}', '", lines: 2, text: "メモ、{{ lines | listed }}"}')
    assert house.tell(two).text == "メモ、牛乳を買う。と卵も。"
    path.write_text(" \n", encoding="utf-8")
    assert why(house.tell(section)) == "nothing worth saying"


def test_a_file_that_is_old_has_nothing_to_say(house, tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("古い。", encoding="utf-8")
    section = f'{{kind: file, path: "{path}", newer_than: 2h}}'
    written = house.clock.now().timestamp()
    os.utime(path, (written, written - 3600))
    assert house.tell(section).text == "1時間前の情報です。古い。"
    os.utime(path, (written, written - 3 * 3600))
    assert house.tell(section).text == ""


def test_what_is_no_text_file_is_left_out_at_once(house, tmp_path):
    fifo, folder, large, binary = (tmp_path / name for name in ("fifo", "folder", "large", "binary"))
    os.mkfifo(fifo)
    folder.mkdir()
    large.write_bytes(b"x" * (file_section.LIMIT + 1))
    binary.write_bytes(b"\xff\xfe\x00")
    reasons = [why(house.tell(f'{{kind: file, path: "{path}"}}')) for path in (fifo, folder, large, binary)]
    assert reasons == [
        f"{fifo} is not a file",
        f"{folder} is not a file",
        f"{large} is larger than 64,000 bytes",
        f"{binary} is not UTF-8",
    ]


def test_a_file_is_named_by_its_whole_path(house):
    with pytest.raises(ConfigError, match=r"an absolute path is expected, got 'note.txt'"):
        house.briefing(["{kind: file, path: note.txt}"])


# all


def test_what_is_empty_is_silent(house):
    assert why(house.tell("{kind: text, text: '{% if due.hour > 12 %}a{% endif %}'}")) == "nothing worth saying"
    with pytest.raises(ConfigError, match="at least 1 character"):
        house.briefing(["{kind: text, text: ''}"])
