"""Home Assistant's view of a real service on a real broker: what it would find, and what it would send."""

import json
import time
from datetime import datetime, timedelta

import jinja2
import pytest

from tests.system.house import Listener, sounds, wait_for

CONFIG = "device/asagoe_kitchen/config"
QUIET = {"audio": {"device": "null", "volume": 100}}
ALARM = {"at": "06:45", "days": "mon-fri", "name": "起床", "text": "おはよう。"}
ENVIRONMENT = jinja2.Environment()
ENVIRONMENT.filters["to_json"] = lambda value: json.dumps(value, ensure_ascii=False)


@pytest.fixture
def hub():
    """Makes listeners to ``homeassistant/#``: what a Home Assistant that connects now is told."""
    opened = []

    def connect(house):
        opened.append(Listener(house.mosquitto.port, "homeassistant"))
        return opened[-1]

    yield connect
    for listener in opened:
        listener.stop()


def devices(listener):
    return [json.loads(payload) if payload else None for payload in listener.of(CONFIG)]


def device(listener, what=lambda device: True, timeout=10.0):
    """The last message of the device, once it is so."""
    return wait_for(
        lambda: next((d for d in devices(listener)[-1:] if d is not None and what(d)), None),
        timeout,
        lambda: f"the device; told: {[sorted(d['components']) if d else d for d in devices(listener)]}",
    )


def render(template, **values):
    return ENVIRONMENT.from_string(template).render(**values)


def shown(house, component):
    """The state that Home Assistant would show, by the retained topic and the template."""
    topic = component["state_topic"].removeprefix(f"{house.base}/")
    return render(component["value_template"], value_json=json.loads(house.listener.of(topic)[-1]))


def birth(house, payload="online", **options):
    house.listener.client.publish("homeassistant/status", payload, **options).wait_for_publish(5)


def test_it_is_found_retained_and_again_with_its_state_when_home_assistant_starts(make_house, hub):
    house = make_house(QUIET | {"alarms": {"wake-up": ALARM}}, sound=False)
    time.sleep(0.5)
    listener = hub(house)
    found = device(listener)
    assert found["device"]["identifiers"] == ["asagoe_kitchen"]
    assert found["components"]["alarm_wake-up"]["name"] == "アラーム 起床"
    assert all(retained for _, topic, _, retained in listener.messages if topic.endswith("/config"))
    time_topic = "time/asagoe_kitchen/alarm_time_wake-up/config"
    at = json.loads(listener.of(time_topic)[0])
    assert (at["device"]["identifiers"], shown(house, at)) == (["asagoe_kitchen"], "06:45:00")
    count, states = len(devices(listener)), len(house.listener.of("state"))
    available, health = len(house.listener.of("availability")), len(house.listener.of("health"))
    birth(house, "offline")
    birth(house)
    birth(house)
    wait_for(lambda: len(house.listener.of("health")) > health, 8, "the health after the birth message")
    assert len(devices(listener)) == count + 1
    assert len(listener.of(time_topic)) == 2
    assert house.listener.of("availability")[available:] == ["online"]
    assert len(house.listener.of("state")) > states


def test_a_retained_birth_message_is_old(make_house, hub):
    house = make_house(QUIET, sound=False)
    listener = hub(house)
    device(listener)
    birth(house, retain=True)
    wait_for(lambda: len(devices(listener)) == 2, 8, "the answer to the birth message itself")
    house.service.stop()
    house.service.start()
    wait_for(lambda: len(devices(listener)) == 3, 8, "the device after the restart")
    time.sleep(4)
    assert len(devices(listener)) == 3
    assert "retained message on homeassistant/status" not in house.service.log


def test_alarms_that_are_made_and_removed_come_and_go(make_house, hub):
    house = make_house(QUIET, sound=False)
    listener = hub(house)
    device(listener)
    house.publish("set/alarm/nap", {"at": "13:00", "text": "起きて。"})
    made = device(listener, lambda d: "alarm_nap" in d["components"])
    assert shown(house, made["components"]["alarm_nap"]) == "ON"
    assert listener.of("time/asagoe_kitchen/alarm_time_nap/config")[-1]
    told = len(devices(listener))
    house.publish("set/alarm/nap", "")
    device(listener, lambda d: "alarm_nap" not in d["components"])
    farewell, last = devices(listener)[told:]
    assert farewell["components"]["alarm_nap"] == {"platform": "switch"}
    assert farewell["components"] | last["components"] == farewell["components"]
    assert set(farewell["components"]) - set(last["components"]) == {"alarm_nap"}
    assert listener.of("time/asagoe_kitchen/alarm_time_nap/config")[-1] == ""


def test_a_reload_renames_and_a_restart_cleans_up(make_house, hub):
    house = make_house(
        QUIET | {"alarms": {"wake-up": ALARM}, "briefings": {"m": {"sections": [{"kind": "date"}]}}}, sound=False
    )
    listener = hub(house)
    before = device(listener)["components"]
    house.service.config["alarms"]["wake-up"]["name"] = 'おき"る\\'
    house.service.write_config()
    house.service.signal(1)
    renamed = device(listener, lambda d: d["components"]["alarm_wake-up"]["name"] == 'アラーム おき"る\\')["components"]
    assert {name: item["unique_id"] for name, item in renamed.items()} == {
        name: item["unique_id"] for name, item in before.items()
    }
    house.service.stop()
    del house.service.config["alarms"], house.service.config["briefings"]
    told = len(devices(listener))
    house.service.start()
    device(listener, lambda d: "alarm_wake-up" not in d["components"])
    farewell = devices(listener)[told]["components"]
    gone = {name: item for name, item in farewell.items() if len(item) == 1}
    assert gone == {"alarm_wake-up": {"platform": "switch"}, "run_briefing_m": {"platform": "button"}}
    assert listener.of("time/asagoe_kitchen/alarm_time_wake-up/config")[-1] == ""
    assert not set(gone) & set(devices(listener)[-1]["components"])


def test_switched_off_it_takes_everything_back_and_listens_to_nobody(make_house, hub):
    house = make_house(QUIET | {"alarms": {"wake-up": ALARM}}, sound=False)
    listener = hub(house)
    device(listener)
    house.service.stop()
    house.service.config["mqtt"]["discovery"] = {"enabled": False}
    house.service.start()
    wait_for(lambda: devices(listener)[-1] is None, 8, "the removal")
    told = len(devices(listener))
    birth(house)
    time.sleep(4)
    assert listener.of("status") == ["online"]
    assert len(devices(listener)) == told
    late = hub(house)
    house.listener.client.publish("homeassistant/end", "end", qos=1, retain=True)
    wait_for(lambda: late.of("end"), 5, "what is retained")
    assert [topic for _, topic, _, _ in late.messages if topic.endswith("/config")] == []


def test_another_prefix_and_birth_message(make_house):
    mine = {"prefix": "ha/found", "birth_topic": "ha/birth", "birth_payload": "up", "locale": "en"}
    house = make_house(QUIET, sound=False)
    time.sleep(0.5)
    house.service.stop()
    house.service.config["mqtt"]["discovery"] = mine
    house.service.start()
    listener = Listener(house.mosquitto.port, "ha")
    former = Listener(house.mosquitto.port, "homeassistant")
    try:
        topic = "found/device/asagoe_kitchen/config"
        wait_for(lambda: listener.of(topic), 8, "the device")
        assert json.loads(listener.of(topic)[0])["components"]["stop"]["name"] == "Stop"
        listener.client.publish("ha/birth", "up", qos=1).wait_for_publish(5)
        wait_for(lambda: len(listener.of(topic)) == 2, 8, "the answer")
        assert [t for _, t, _, _ in former.messages if t.endswith("/config")] == []
    finally:
        listener.stop()
        former.stop()


def test_a_switch_turns_an_alarm_off_and_it_does_not_ring(make_house, hub):
    due = (datetime.now().astimezone() + timedelta(seconds=9)).replace(microsecond=0)
    alarm = {"at": due.strftime("%H:%M:%S"), "text": "おはよう。"}
    house = make_house({"timezone": str(datetime_zone()), "alarms": {"wake-up": alarm, "other": alarm}}, sound=False)
    listener = hub(house)
    switch = device(listener)["components"]["alarm_wake-up"]
    assert shown(house, switch) == "ON"
    house.listener.client.publish(switch["command_topic"], "OFF", qos=1)  # as Home Assistant's switch does
    wait_for(lambda: shown(house, switch) == "OFF", 5, "the state")
    wait_for(lambda: datetime.now().astimezone() > due + timedelta(seconds=1.5), 15, "the moment")
    rang = [e["alarm"] for e in house.listener.events if e["event_type"] == "alarm_ringing"]
    assert rang == ["other"]


def datetime_zone():
    from tzlocal import get_localzone

    return get_localzone()


@pytest.mark.parametrize("text", ['彼は"はい"と言った。', '{"text": "これも文です。"}', "{{ 1 + 1 }}です。'終わり'"])
def test_what_notify_sends_is_spoken_as_it_is(house, hub, text):
    notify = device(hub(house))["components"]["announce"]
    start = house.pulse.position
    payload = render(notify["command_template"], value=text)
    house.listener.client.publish(notify["command_topic"], payload, qos=1)
    accepted = wait_for(
        lambda: next((e for e in house.listener.events if e["event_type"] == "accepted"), None), 10, "accepted"
    )
    assert accepted["text"] == text
    house.ended(accepted["id"])
    assert sounds(house.pulse.recording(start))
    last = device(hub(house))["components"]["last_announcement"]
    wait_for(lambda: shown(house, last) == text, 5, "the last announcement")

    def attributes():
        return json.loads(render(last["json_attributes_template"], value_json=house.listener.state()))

    wait_for(lambda: (attributes()["text"], attributes()["outcome"]) == (text, "finished"), 5, "its outcome")


def test_every_command_of_the_device_is_carried_out_and_choices_are_kept(make_house, hub):
    config = QUIET | {"alarms": {"wake-up": ALARM}, "briefings": {"m": {"sections": [{"kind": "date"}]}}}
    config |= {"schedule": [{"id": "bath", "at": "20:00", "say": "お風呂。"}]}
    config |= {"speakers": {"mei": {"source": "openjtalk:mei"}, "quick": {"source": "openjtalk:mei", "speed": 1.5}}}
    house = make_house(config, sound=False)
    components = device(hub(house))["components"]
    house.announce("はい。", id="first")
    house.ended("first")
    sent = {
        "mute": ["ON", "OFF"],
        "quiet": ["ON", "auto"],
        "vacation": ["ON", "OFF"],
        "alarm_wake-up": ["OFF", "ON"],
        "schedule_bath": ["OFF", "ON"],
        "volume": ["40"],
        "alarm_volume": ["70"],
        "snooze_minutes": ["5"],
        "speaker": ["quick"],
        "chime": ["ding"],
        "device": ["null"],
        "quiet_mode": ["off", "auto"],
        "siren": ['{"state":"ON","tone":"ding","duration":1,"volume_level":0.4}', '{"state":"OFF"}'],
        "announce": ['{"text": "はい。"}'],
        **{
            name: [item.get("payload_press", "PRESS")]
            for name, item in components.items()
            if item["platform"] == "button"
        },
    }
    with_command = {name for name, item in components.items() if "command_topic" in item}
    assert with_command == set(sent)
    refused = {"snooze", "dismiss"}  # nothing rings
    for name, payloads in sent.items():
        for payload in payloads:
            house.listener.client.publish(components[name]["command_topic"], payload, qos=1)
    order = [payload for payloads in sent.values() for payload in payloads]
    answers = wait_for(
        lambda: (
            lambda found: found if len(found) == len(order) - 1 else None  # all but the announcement
        )([e for e in house.listener.events if "command" in e]),
        10,
        lambda: f"the answers; there are {[e for e in house.listener.events if 'command' in e]}",
    )
    assert {e["command"].removeprefix("do/") for e in answers if e["event_type"] == "failed"} == refused
    wanted = {"volume": "40", "alarm_volume": "70", "snooze_minutes": "5", "speaker": "quick", "chime": "ding"}
    wait_for(lambda: {n: shown(house, components[n]) for n in wanted} == wanted, 5, "the states")
    house.service.stop()
    house.service.start()
    kept = wanted | {"volume": "100"}
    wait_for(lambda: {n: shown(house, components[n]) for n in kept} == kept, 5, "the states after a restart")
    house.service.signal(1)
    wait_for(lambda: "reloaded" in house.service.log, 10, "the reload")
    house.announce("はい。", id="second")
    house.ended("second")
    assert {n: shown(house, components[n]) for n in kept} == kept
    assert house.event("finished", "second")["speaker"] == "quick"
    for item in components.values():
        if "value_template" in item and item["platform"] not in ("event", "update"):
            shown(house, item)  # every template renders


def test_events_pass_the_filters_by_their_kind(make_house, hub):
    house = make_house(QUIET, sound=False)
    components = device(hub(house))["components"]
    house.publish("do/ring", "")
    wait_for(lambda: any(e["event_type"] == "alarm_ringing" for e in house.listener.events), 5, "the bell")
    house.publish("do/dismiss", "")
    house.publish("set/volume", "loud")
    house.announce("はい。", id="x")
    house.ended("x")
    passed = {"announcement_event": [], "alarm_event": []}
    for payload in house.listener.of("event"):
        for name, found in passed.items():
            template = components[name]["value_template"]
            if render(template, value=payload, value_json=json.loads(payload)):
                found.append(json.loads(payload)["event_type"])
    assert set(passed["alarm_event"]) == {"alarm_ringing", "alarm_dismissed"}
    assert {"accepted", "started", "finished"} <= set(passed["announcement_event"])
    assert "done" not in passed["announcement_event"]
    assert set(passed["announcement_event"]) <= set(components["announcement_event"]["event_types"])
    assert "failed" not in passed["announcement_event"]
