from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.announcement import Priority
from daemon.config import AnnouncementDefaults, AnnouncementsConfig
from daemon.errors import RequestError
from daemon.mqtt.payloads import parse_announcement
from daemon.requests import parse_percent, parse_switch

NOW = datetime(2026, 12, 1, 6, 45, tzinfo=UTC)
SETTINGS = AnnouncementsConfig(defaults=AnnouncementDefaults(chime="ding"))


def announcement(payload, settings=SETTINGS):
    data = payload if isinstance(payload, bytes) else payload.encode()
    return parse_announcement(data, settings, origin="mqtt", now=NOW, monotonic=5.0, zone=ZoneInfo("Asia/Tokyo"))


def refusal(payload):
    with pytest.raises(RequestError) as caught:
        announcement(payload)
    return str(caught.value), caught.value.request_id


@pytest.mark.parametrize(
    "text",
    [
        "洗濯が終わりました",
        "a;b",
        "42",
        "null",
        '"quoted"',
        "[お知らせ] 雨です",
        "{東急|とうきゅう}線",
        "{ 名前 }",
        "say $(reboot) `x`",
    ],
)
def test_plain_text_is_spoken_as_it_is(text):
    assert announcement(text).text == text


@pytest.mark.parametrize("payload", [b"", b"  \n", b"\xef\xbb\xbf"])
def test_an_empty_message_says_nothing(payload):
    assert announcement(payload) is None


def test_a_json_object_sets_everything():
    a = announcement(
        '{"text":"火事です","id":"x1","speaker":"mei","style":"Normal","speed":1.2,"pitch":-2,"volume":80,'
        '"chime":"attention","end_chime":"done","priority":"critical","expires_at":"2026-12-01T16:00","repeat":3,'
        '"dedupe":"30s"}'
    )
    assert (a.text, a.id, a.speaker, a.volume, a.chime, a.end_chime, a.repeat, a.dedupe) == (
        ("火事です", "x1", "mei", 80, "attention", "done", 3, 30.0)
    )
    assert dict(a.options) == {"style": "Normal", "speed": 1.2, "pitch": -2.0}
    assert (a.priority, a.interrupt) == (Priority.CRITICAL, True)
    assert a.expires == datetime(2026, 12, 1, 7, 0, tzinfo=UTC)  # 16:00 in Tokyo
    assert (a.max_wait, a.received, a.received_at) == (None, NOW, 5.0)


def test_defaults_fill_the_gaps_and_none_turns_a_default_off():
    a = announcement('{"text":"x"}')
    assert (a.chime, a.priority, a.interrupt, a.max_wait, a.repeat) == ("ding", Priority.NORMAL, False, 600.0, 1)
    assert announcement('{"text":"x","chime":"none"}').chime == "none"
    assert announcement("a").id != announcement("a").id


def test_numbers_may_come_as_text_as_templates_give_them():
    a = announcement('{"text":"x","volume":"40","speed":"1.5","repeat":"2"}')
    assert (a.volume, a.options["speed"], a.repeat) == (40, 1.5, 2)


@pytest.mark.parametrize(
    ("payload", "words", "request_id"),
    [
        (b"\xff\xfe", "not UTF-8", None),
        ("洗濯".encode("cp932"), "not UTF-8", None),
        (b"x" * 20_000, "at most 16,384", None),
        ("あ" * 3001, "3,001 characters; at most 3,000", None),
        ('{"text":"x"', "begins like a JSON object but is none", None),
        ('{"text":', "begins like a JSON object", None),
        ('{"text":"x"} y', "begins like a JSON object", None),
        ("{}", "the key 'text' is missing", None),
        ('["a"]', "a JSON object with the key text", None),
        ("[1, 2]", "a JSON object with the key text", None),
        ('{"id":"7","txt":"x"}', "unknown key 'txt'", "7"),
        ('{"id":"7","text":""}', "text:", "7"),
        ('{"id":"7","text":5}', "text:", "7"),
        ('{"id":"7","text":null}', "text:", "7"),
        ('{"id":"7","text":{"a":1}}', "not an object or list", "7"),
        ('{"id":"7","text":["a"]}', "not an object or list", "7"),
        ('{"id":5,"text":"x"}', "id:", None),
        ('{"id":"","text":"x"}', "id:", None),
        ('{"id":"7","text":"x","volume":101}', "volume:", "7"),
        ('{"id":"7","text":"x","volume":true}', "volume: a number is expected", "7"),
        ('{"id":"7","text":"x","volume":"loud"}', "volume:", "7"),
        ('{"id":"7","text":"x","speed":9}', "speed must be a number from 0.25 to 4", "7"),
        ('{"id":"7","text":"x","speed":NaN}', "NaN is not a JSON value", None),
        ('{"id":"7","text":"x","priority":"urgent"}', "priority:", "7"),
        ('{"id":"7","text":"x","chime":"../../etc/passwd"}', "there is no chime", "7"),
        ('{"id":"7","text":"x","chime":"/etc/passwd"}', "there is no chime", "7"),
        ('{"id":"7","text":"x","repeat":1000}', "repeat:", "7"),
        ('{"id":"7","text":"x","expires_in":"soon"}', "a duration such as", "7"),
        ('{"id":"7","text":"x","expires_at":"soon"}', "a moment such as", "7"),
        ('{"id":"7","text":"x","expires_at":1e300}', "a moment such as", "7"),
        ('{"text":"a","text":"b"}', "the key 'text' is given twice", None),
        ('{"id":"7","text":"\\ud800"}', "half of a surrogate pair", "7"),
        ('{"id":"\\ud800","text":"x"}', "half of a surrogate pair", None),
        ('{"text":"x","volume":' + "9" * 5000 + "}", "5000 digits", None),
        ('{"a":' * 2500 + "1" + "}" * 2500, "", None),
        ('{"text":' + "[" * 10_000, "", None),
        ("[" * 10_000, "", None),
    ],
)
def test_bad_payloads_are_refused_with_a_reason_and_the_id_where_there_is_one(payload, words, request_id):
    reason, given_id = refusal(payload)
    assert words in reason
    assert len(reason) < 600
    assert given_id == request_id


@given(st.binary(max_size=300))
def test_no_bytes_raise_anything_but_a_refusal(payload):
    try:
        announcement(payload)
    except RequestError:
        pass


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
        max_leaves=8,
    )
)
def test_no_json_raises_anything_but_a_refusal(value):
    import json

    for body in (json.dumps(value), json.dumps({"text": value}), json.dumps({"text": "x", "speed": value})):
        try:
            announcement(body.encode("utf-8", "surrogatepass")[:16_000])
        except RequestError:
            pass


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("100", 100), (" 55 ", 55), ("42.0", 42)])
def test_percentages(text, value):
    assert parse_percent(text, "volume") == value


@pytest.mark.parametrize("text", ["", "-1", "101", "loud", "5e1", "1000", "0x10", "４２x", "42.5"])
def test_what_is_no_percentage(text):
    with pytest.raises(RequestError, match="volume: a number from 0 to 100"):
        parse_percent(text, "volume")


@pytest.mark.parametrize(("text", "value"), [("ON", True), ("off", False), ("true", True), ("0", False)])
def test_switches(text, value):
    assert parse_switch(text, "mute") is value


def test_what_is_no_switch():
    with pytest.raises(RequestError, match="mute: ON or OFF"):
        parse_switch("maybe", "mute")
