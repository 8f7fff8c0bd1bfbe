"""Every message is right by Home Assistant's own schemas; the committed ones are what the service sends."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.homeassistant.facts import Facts
from daemon.homeassistant.payloads import Told
from tests.daemon.homeassistant.facts import FULL, told, with_locale
from tests.daemon.homeassistant.wheels import NEWEST, OLDER, ask, wheel

GOLDEN = Path(__file__).with_name("golden")

needs = {
    version: pytest.mark.skipif(
        wheel(version) is None,
        reason=f"needs the wheel of Home Assistant {version} (67 MB): script/test --all downloads it once",
    )
    for version in (NEWEST, OLDER)
}


def messages(device):
    return [(device.topic, device.payload()), *device.singles.items()]


def pretty(device):
    every = {topic: json.loads(payload) for topic, payload in messages(device)}
    return json.dumps(every, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@pytest.mark.parametrize("locale", ["ja", "en"])
def test_the_committed_messages_are_current(locale):
    """After a change that is meant: write ``pretty(told(with_locale(…)))`` to the file and read the difference."""
    golden = (GOLDEN / f"full-{locale}.json").read_text(encoding="utf-8")
    assert json.loads(pretty(told(with_locale(locale)))) == json.loads(golden)


BARE = Facts("x", "asagoe/x", "ja", "1", "x86_64")
FAREWELL = told().farewell(Told(told().topic, {**told().told.components, "old": "sensor", "mute": "button"}))
EVERYTHING = {
    "ja": messages(told()),
    "en": messages(told(with_locale("en"))),
    "bare": messages(told(BARE)),
    "japanese base": messages(told(replace(FULL, base="家/台所"))),
    "farewell": [(told().topic, FAREWELL)],
}


@needs[NEWEST]
def test_the_newest_home_assistant_takes_all_of_it():
    assert ask(NEWEST, [message for sent in EVERYTHING.values() for message in sent]) == []


@needs[OLDER]
def test_an_older_one_takes_the_device_and_does_not_listen_to_what_it_does_not_know():
    device = told()
    assert ask(OLDER, [(device.topic, device.payload())]) == []
    assert {topic.split("/")[1] for topic in device.singles} == {"time", "datetime"}


@needs[OLDER]
def test_within_the_device_an_unknown_platform_would_make_it_refuse_everything():
    """Why those platforms go on topics of their own, and proof that the schemas do refuse."""
    device = told(apart=())
    (complaint,) = ask(OLDER, [(device.topic, device.payload())])
    assert complaint[1] is None
    assert "components']['alarm_time_wake-up']['platform']" in complaint[2]


MISTAKES = {
    "origin": (lambda p: p.pop("origin"), "required key not provided"),
    "abbreviation": (lambda p: p.update(cmp={}), "extra keys not allowed"),
    "unique_id": (lambda p: p["components"]["stop"].pop("unique_id"), "unique_id"),
    "command_topic": (lambda p: p["components"]["stop"].pop("command_topic"), "required key not provided"),
    "template": (lambda p: p["components"]["mute"].update(value_template="{{ x"), "invalid template"),
    "device_class": (lambda p: p["components"]["next_alarm"].update(device_class="timetable"), "SensorDeviceClass"),
    "state_class": (lambda p: p["components"]["state"].update(state_class="measurement"), "state_class"),
    "options": (lambda p: p["components"]["chime"].pop("options"), "required key not provided"),
    "range": (lambda p: p["components"]["volume"].update(min=200), "min"),
    "event_types": (lambda p: p["components"]["alarm_event"].pop("event_types"), "required key not provided"),
    "unknown": (lambda p: p["components"]["siren"].update(support_volume="yes"), "unknown key support_volume"),
    "topic": (lambda p: p["components"]["volume"].update(state_topic="a/#/b"), "wildcard"),
}


@needs[NEWEST]
def test_the_schemas_tell_mistakes():
    sent = []
    for name, (change, _) in MISTAKES.items():
        payload = json.loads(told().payload())
        change(payload)
        sent.append((f"homeassistant/device/{name}/config", json.dumps(payload)))
    said = ask(NEWEST, sent)
    assert [topic.split("/")[2] for topic, _, _ in said] == list(MISTAKES)
    for (_, expected), (_, _, sentence) in zip(MISTAKES.values(), said, strict=True):
        assert expected in sentence
