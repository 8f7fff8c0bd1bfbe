import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from daemon.config import AnnouncementsConfig
from daemon.events import Event
from daemon.mqtt.hermes import SAY, Hermes
from daemon.mqtt.messages import Incoming
from tests.fakes.clock import FakeClock

KITCHEN = {"siteId": "kitchen", "sessionId": "s1", "id": "q1"}


class Site:
    def __init__(self, settings=None):
        self.said, self.published = [], []
        self.hermes = Hermes(
            submit=self.said.append,
            publish=lambda topic, payload: self.published.append((topic, json.loads(payload))),
            sites=["kitchen", "down", "default"],
            settings=lambda: settings or AnnouncementsConfig(),
            clock=FakeClock(datetime(2026, 12, 1, tzinfo=UTC)),
            zone=ZoneInfo("Asia/Tokyo"),
        )

    def say(self, body, **message):
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.hermes.on_message(Incoming(SAY, payload, False, **message))


def test_it_is_answered_when_it_was_really_said():
    site = Site()
    site.say({"text": "こんにちは", "lang": "ja_JP", "volume": 0.25, "extra": {"a": 1}} | KITCHEN)
    (announcement,) = site.said
    assert (announcement.text, announcement.volume, announcement.origin) == ("こんにちは", 50, "hermes")
    for kind in ("accepted", "queued", "started"):
        site.hermes.on_event(Event(kind, announcement.id))
    assert site.published == []
    site.hermes.on_event(Event("finished", announcement.id))
    assert site.published == [("hermes/tts/sayFinished", {"siteId": "kitchen", "sessionId": "s1", "id": "q1"})]
    site.hermes.on_event(Event("finished", announcement.id))
    assert len(site.published) == 1


def test_the_same_id_twice_is_said_twice():
    site = Site()
    for _ in range(2):
        site.say({"text": "もう一度"} | KITCHEN)
    assert len({announcement.id for announcement in site.said}) == 2
    for announcement in site.said:
        site.hermes.on_event(Event("finished", announcement.id))
    assert [body["id"] for _, body in site.published] == ["q1", "q1"]


@pytest.mark.parametrize("kind", ["failed", "dropped", "expired"])
def test_what_was_not_said_is_an_error(kind):
    site = Site()
    site.say({"text": "x"} | KITCHEN)
    site.hermes.on_event(Event(kind, site.said[0].id, "a reason"))
    assert site.published == [
        ("hermes/error/tts", {"siteId": "kitchen", "sessionId": "s1", "error": f"{kind}: a reason", "context": "q1"})
    ]


@pytest.mark.parametrize(("site_id", "count"), [("kitchen", 1), ("down", 1), (None, 1), ("bedroom", 0), ("", 1)])
def test_the_site_selects_the_node(site_id, count):
    site = Site()
    site.say({"text": "x", "siteId": site_id})
    site.say({"text": 5, "siteId": site_id})
    assert len(site.said) == len(site.published) == count


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": None}, "text: text is expected"),
        ({"text": "a" * 4000}, "at most 3,000"),
        ({"text": "x", "volume": 80}, "volume: a number from 0 to 1"),
        ({"text": "x", "volume": True}, "volume: a number from 0 to 1"),
        ({"text": "\ud800"}, "text: text is expected"),
        ({"text": "x", "id": 5}, "id: text"),
        (b"\xff", "not UTF-8"),
        (b"hello", "begins like"),
        (b"[1]", "a JSON object"),
        (b'{"text":"a","text":"b"}', "given twice"),
    ],
)
def test_bad_payloads_are_answered_with_the_error_of_the_protocol(body, words):
    site = Site()
    site.say(body)
    ((topic, answer),) = site.published
    assert topic == "hermes/error/tts"
    assert words in answer["error"]
    assert site.said == []


def test_nothing_to_say_is_finished_at_once():
    site = Site()
    site.say({"text": " "} | KITCHEN)
    assert site.published == [("hermes/tts/sayFinished", {"siteId": "kitchen", "sessionId": "s1", "id": "q1"})]


def test_the_message_expiry_of_mqtt_5_counts():
    site = Site()
    site.say({"text": "x"}, expires_in=3.0)
    assert site.said[0].max_wait == 3.0
