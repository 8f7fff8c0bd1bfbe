"""Several nodes in a house, with a real broker: who speaks, and whose voice it is."""

import json
import time

import pytest

from tests.fakes.payloads import payloads
from tests.system.house import Listener, Service, wait_for

NULL = {"audio": {"device": "null", "volume": 100}}


class Second:
    """Another node on the same broker."""

    def __init__(self, house, folder, config):
        folder.mkdir()
        url = house.service.config["mqtt"]["url"]
        settings = {"timezone": "Asia/Tokyo"} | NULL | config
        settings["mqtt"] = {"url": url, "keepalive": "5s"} | config.get("mqtt", {})
        self.base = f"asagoe/{config['node']}"
        self.service = Service(folder, settings)
        self.listener = Listener(house.mosquitto.port, self.base)

    def __enter__(self):
        self.service.start()
        wait_for(lambda: "online" in self.listener.of("availability"), 10, "availability")
        return self

    def __exit__(self, *_):
        self.service.stop()
        self.listener.stop()

    def accepted(self):
        return [event["id"] for event in self.listener.events if event["event_type"] == "accepted"]

    def say(self, text, name):
        self.listener.client.publish(f"{self.base}/announce", json.dumps({"text": text, "id": name}), 1)
        return self.event("finished", name)

    def event(self, kind, name):
        return wait_for(
            lambda: next((e for e in self.listener.events if e["event_type"] == kind and e["id"] == name), None),
            20,
            lambda: f"{kind} of {name}; log:\n{self.service.log[-3000:]}",
        )


def test_all_speak_once_and_named_nodes_speak_alone(make_house, tmp_path):
    house = make_house({"groups": ["down"]} | NULL, sound=False)
    with Second(house, tmp_path / "second", {"node": "bedroom", "groups": ["up"]}) as bedroom:

        def send(topic, name, **fields):
            body = json.dumps({"text": "お知らせです。", "id": name} | fields)
            house.listener.client.publish(f"asagoe/{topic}/announce", body, 1).wait_for_publish(5)

        send("all", "everybody")
        send("all", "bedroom only", nodes=["bedroom"])
        send("all", "both by group", nodes=["up", "down"])
        send("group/down", "down")
        send("all", "nobody", nodes=["attic"])
        send("all", "last")
        wait_for(lambda: "last" in bedroom.accepted() and house.story("last"), 10, "the last one")
        accepted = [event["id"] for event in house.listener.events if event["event_type"] == "accepted"]
        assert accepted == ["everybody", "both by group", "down", "last"]
        assert bedroom.accepted() == ["everybody", "bedroom only", "both by group", "last"]
        house.ended("last")
        bedroom.event("finished", "last")


def test_hermes_says_and_answers_and_the_site_selects_the_node(make_house, tmp_path):
    house = make_house(NULL, sound=False)
    listener = Listener(house.mosquitto.port, "hermes")
    with Second(house, tmp_path / "second", {"node": "bedroom", "mqtt": {"hermes_sites": []}}) as bedroom:
        try:
            time.sleep(0.3)

            def say(**fields):
                listener.client.publish(
                    "hermes/tts/say", json.dumps({"text": "できました。"} | fields)
                ).wait_for_publish(5)

            say(siteId="bedroom", id="a", sessionId="s")
            say(siteId="kitchen", id="b")
            say(id="c")
            say(siteId="kitchen", id="d", volume=7)
            wait_for(lambda: len(listener.of("tts/sayFinished")) == 3, 20, "three answers")
            answers = [json.loads(body) for body in listener.of("tts/sayFinished")]
            assert sorted((answer["id"], answer["siteId"]) for answer in answers) == [
                ("a", "bedroom"),
                ("b", "kitchen"),
                ("c", "default"),
            ]
            assert len(bedroom.accepted()) == 1
            (error,) = [json.loads(body) for body in listener.of("error/tts")]
            assert (error["context"], error["siteId"]) == ("d", "kitchen")
        finally:
            listener.stop()


def test_a_small_node_speaks_with_the_voice_of_a_big_one_and_with_its_own_when_that_is_gone(make_house, tmp_path):
    house = make_house({"speakers": {"f1": {"source": "openjtalk:mei", "speed": 1.5}}} | NULL, sound=False)
    config = {"node": "pi", "render_on": "kitchen", "mqtt": {"render_timeout": "1s"}}
    with Second(house, tmp_path / "pi", config) as small:
        wait_for(lambda: small.listener.state()["speakers"] == {"mei": "ready"}, 10, "the big node's voice")
        event = small.say("大きい箱の声です。二つ目の文です。", "one")
        assert (event["speaker"], event["sentences"]) == ("mei", 2)
        assert "instead_of" not in small.event("started", "one")
        started = time.monotonic()
        assert small.say("大きい箱の声です。二つ目の文です。", "two")["cached"] == 2
        assert time.monotonic() - started < 10
        house.service.signal(19)  # SIGSTOP: it is there and says nothing
        try:
            event = small.say("今度は自分の声です。", "three")
            assert event["speaker"] == "embedded"
            assert 900 < event["rendered_ms"] < 4000
            event = small.say("もう待ちません。", "four")
            assert (event["speaker"], event["rendered_ms"] < 900) == ("embedded", True)
            assert "node kitchen" in small.listener.state()["unavailable"]["mei"]
        finally:
            house.service.signal(18)
        house.service.stop()
        wait_for(lambda: "not online" in small.listener.state()["unavailable"].get("mei", ""), 10, "stopped")
        house.service.start()
        wait_for(lambda: small.listener.state()["speakers"] == {"mei": "ready"}, 10, "the big node")
        assert small.say("戻りました。", "five")["speaker"] == "mei"


def test_two_nodes_that_name_each_other_do_not_go_round_in_circles(make_house, tmp_path):
    house = make_house({"speakers": {"a": {"source": "node:pi", "name": "b"}}} | NULL, sound=False)
    with Second(
        house, tmp_path / "pi", {"node": "pi", "speakers": {"b": {"source": "node:kitchen", "name": "a"}}}
    ) as small:
        assert small.say("どちらの声でしょう。", "one")["speaker"] == "embedded"
        assert house.ended(house.announce("どちらの声でしょう。"))[0]["speaker"] == "embedded"
        assert "renders no speaker a" in small.listener.state()["unavailable"]["b"]


def test_deferred_by_hand_and_said_with_a_summary(make_house):
    house = make_house(NULL, sound=False)
    house.publish("set/quiet", {"value": "ON", "id": "q"})
    house.event("done", "q")
    names = [house.announce(f"{number}番目です。") for number in range(3)]
    for name in names:
        house.event("deferred", name)
    wait_for(lambda: house.listener.state()["deferred"] == 3, 5, "the state")
    assert house.listener.state()["quiet"] is True
    urgent = house.announce("火事です。", priority="critical")
    house.ended(urgent)
    house.publish("set/quiet", "auto")
    house.ended(*names)
    finished = [event["id"] for event in house.listener.events if event["event_type"] == "finished"]
    assert finished[0] == urgent
    assert finished[2:] == names
    texts = [event["text"] for event in house.listener.events if event["event_type"] == "accepted"]
    assert texts[-1] == "おやすみの間のお知らせが3件あります。"


@pytest.mark.timeout(300)
def test_twenty_thousand_payloads_and_then_a_good_one_is_said(make_house):
    house = make_house(NULL, sound=False)

    def is_done(name):
        return any(name in body for _, _, body, _ in house.listener.messages[-1000:])

    for number, (command, payload) in enumerate(payloads(20_000, seed=2)):
        info = house.listener.client.publish(f"{house.base}/{command}", payload, 1)
        if number % 250 == 249:  # mosquitto keeps a thousand for a client that is slower, and drops what is more
            info.wait_for_publish(30)
            house.publish("set/mute", {"value": "OFF", "id": f"unmute {number}"})
            wait_for(lambda number=number: is_done(f"unmute {number}"), 60, lambda: house.service.log[-2000:])
    house.publish("set/quiet", "auto")
    house.publish("do/stop", "")
    (event,) = house.ended(house.announce("よい知らせです。"), timeout=60)
    assert event["event_type"] == "finished"
    assert house.service.resident() < 400
    assert "Traceback" not in house.service.log
    assert house.service.log.count("connected to the broker") == 1
