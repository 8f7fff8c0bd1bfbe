"""Fifteen things that went wrong with MQTT in other projects, each as one house has it: a real broker, one service.

| case | what went wrong elsewhere | what is right |
|---|---|---|
| 1 | a retained announcement is said at every reconnect | it is ignored, counted, and logged once |
| 2 | overlapping subscriptions deliver a message twice | each topic of the node is heard once |
| 3 | QoS 1 delivers twice | once, by the id, and without an id when the broker repeats itself |
| 4 | a backlog of stale announcements after an absence | only what is still good is said |
| 5 | bytes that are not UTF-8 end the network thread | one failed event; the next is said |
| 6 | Japanese text crashes | it arrives as it was sent |
| 7 | an empty payload | says nothing; on a command it is the command |
| 8 | text that looks like JSON, or half of it | a JSON object is read, other text is said as it is, bad JSON is told |
| 9 | JSON traps: half pairs, NaN, keys twice, depth, long numbers | refused with a reason |
| 10 | huge payloads | refused with a reason; long texts are cut into sentences and said |
| 11 | a message reaches a shell | there is none |
| 12 | speaking blocks the network thread | commands are heard while something is said |
| 13 | no broker at boot, wrong name, wrong password | it starts, speaks by its schedule, goes on trying |
| 14 | the hub or the broker restarts | state, health and availability are there again |
| 15 | two services with one client id | named in the log |
"""

import json
import time

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.system.faults import run_with_faults
from tests.system.house import House, Listener, Service, sender, wait_for
from tests.system.proxy import Proxy


class Room:
    """A house whose service reaches the broker through a proxy; shared by the cases."""

    def __init__(self, folder):
        config = {"audio": {"device": "null", "volume": 100}, "groups": ["down"]}
        self.house = House(folder, config, sound=False)
        self.proxy = Proxy(self.house.mosquitto.port)
        self.house.service.config["mqtt"]["url"] = f"mqtt://127.0.0.1:{self.proxy.port}"

    def publish(self, topic, payload, *, retain=False, **properties):
        extra = Properties(PacketTypes.PUBLISH)
        for name, value in properties.items():
            setattr(extra, name, value)
        with sender(self.house.mosquitto.port) as client:
            client.publish(topic, payload, 1, retain=retain, properties=extra).wait_for_publish(5)

    def mark(self):
        return len(self.house.listener.messages)

    def events(self, since):
        messages = self.house.listener.messages[since:]
        return [json.loads(body) for _, topic, body, _ in messages if topic.endswith("/event")]

    def accepted(self, since):
        return [event["text"] for event in self.events(since) if event["event_type"] == "accepted"]

    def away(self):
        """Break the connection and let no other come about."""
        self.proxy.cut(hang_ups=10**6)
        wait_for(lambda: not self.proxy._pairs, 5, "the end of the connection")

    def back(self):
        before = self.house.service.log.count("connected to the broker")
        self.proxy.hang_ups = 0
        wait_for(lambda: self.house.service.log.count("connected to the broker") > before, 40, "the service to be back")

    def hush(self):
        """Stop what is being said, and wait until it is quiet."""
        self.house.publish("do/stop", {"id": f"hush {self.mark()}"})
        wait_for(lambda: self.house.listener.state()["state"] == "idle", 10, "quiet")
        time.sleep(0.2)

    def still_speaks(self):
        """A plain announcement is said to its end."""
        (event,) = self.house.ended(self.house.announce("次です。"))
        assert event["event_type"] == "finished"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    made = Room(tmp_path_factory.mktemp("room"))
    try:
        with made.house:
            yield made
    finally:
        made.proxy.close()


def test_case_1_and_2_retained_and_overlapping_topics(room):
    topics = [f"asagoe/{base}/announce" for base in ("kitchen", "all", "group/down")]
    since = room.mark()
    for number, topic in enumerate(topics):
        room.publish(topic, f"{number}番の話題です。")
    wait_for(lambda: len(room.accepted(since)) == 3, 10, "three announcements")
    for topic in topics:
        room.publish(topic, json.dumps({"text": "残ります。", "id": f"kept {topic}"}), retain=True)
    room.house.ended(*(f"kept {topic}" for topic in topics))
    since = room.mark()
    for _ in range(2):
        room.away()
        room.back()
    time.sleep(1)
    assert room.accepted(since) == []
    for topic in topics:
        assert room.house.service.log.count(f"ignored a retained message on {topic}") == 1
        room.publish(topic, b"", retain=True)
    room.still_speaks()


def test_case_3_delivered_twice_said_once(room):
    since = room.mark()
    for _ in range(3):
        room.house.announce("番号は同じです。", id="same")
    room.house.ended("same")
    room.proxy.mute = True  # its acknowledgement does not reach the broker
    room.publish("asagoe/kitchen/announce", "番号のない文です。")
    wait_for(lambda: "番号のない文です。" in room.house.service.log, 10, "the announcement")
    room.away()
    room.proxy.mute = False
    room.back()
    room.still_speaks()
    assert room.accepted(since).count("番号は同じです。") == 1
    assert room.house.service.log.count('text="番号のない文です。"') == 1


def test_case_4_only_what_is_still_good_is_said_after_an_absence(room):
    since = room.mark()
    room.away()
    room.publish("asagoe/kitchen/announce", "古い一つ目。", MessageExpiryInterval=1)
    room.publish(
        "asagoe/kitchen/announce", json.dumps({"text": "古い二つ目。", "id": "o2", "expires_at": time.time() + 1})
    )
    room.publish("asagoe/kitchen/announce", json.dumps({"text": "まだよい。", "id": "good"}), MessageExpiryInterval=60)
    time.sleep(2.5)
    room.back()
    assert [event["event_type"] for event in room.house.ended("o2", "good")] == ["expired", "finished"]
    assert "古い一つ目。" not in room.accepted(since)


@pytest.mark.parametrize(
    "payload", [b"\xff\xfe\x00", "洗濯".encode("cp932"), b"\xc3\x28", b"\xed\xa0\x80", b"\x80" * 500]
)
def test_case_5_not_utf_8(room, payload):
    since = room.mark()
    room.publish("asagoe/kitchen/announce", payload)
    wait_for(lambda: room.events(since), 5, "the answer")
    (event,) = room.events(since)
    assert event["event_type"] == "failed"
    assert "not UTF-8" in event["reason"]
    room.still_speaks()


def test_case_6_japanese_arrives_as_it_was_sent(room):
    since = room.mark()
    texts = ["洗濯が終わりました。", "ｶﾞｷﾞ㍻Ünïcödé😀は", "\ufeff頭に印があります。", "一行目\n二行目"]
    for text in texts:
        room.publish("asagoe/kitchen/announce", text.encode())
    wait_for(lambda: len(room.accepted(since)) == len(texts), 10, "the texts")
    assert room.accepted(since) == [text.removeprefix("\ufeff") for text in texts]
    room.hush()


def test_case_7_an_empty_payload(room):
    since = room.mark()
    for payload in (b"", b" \n"):
        room.publish("asagoe/kitchen/announce", payload)
    room.publish("asagoe/kitchen/do/stop", b"")
    wait_for(lambda: room.events(since), 5, "the acknowledgement")
    assert [(event["event_type"], event.get("command")) for event in room.events(since)] == [("done", "do/stop")]


def test_case_8_json_or_text(room):
    since = room.mark()
    literal = ["a;b;c", "42", "null", '"引用"', "[お知らせ] 雨", "{東急|とうきゅう}線", "\\n と ' と \" です", "true"]
    for text in literal:
        room.publish("asagoe/kitchen/announce", text)
    wait_for(lambda: len(room.accepted(since)) == len(literal), 10, "the texts")
    assert room.accepted(since) == literal
    room.hush()
    since = room.mark()
    room.publish("asagoe/kitchen/announce", '{"text": "途中で')
    wait_for(lambda: room.events(since), 5, "the answer")
    assert "begins like a JSON object but is none" in room.events(since)[0]["reason"]


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (r'{"text":"\ud800"}', "half of a surrogate pair"),
        ('{"text":"a","speed":NaN}', "NaN is not a JSON value"),
        ('{"text":"a","volume":1e999}', "too large"),
        ('{"text":"a","text":"b"}', "given twice"),
        ('{"text":' * 2000, ""),
        ('{"text":"a","repeat":' + "9" * 5000 + "}", "5000 digits"),
    ],
)
def test_case_9_json_traps(room, payload, words):
    since = room.mark()
    room.publish("asagoe/kitchen/announce", payload)
    wait_for(lambda: room.events(since), 5, "the answer")
    (event,) = room.events(since)
    assert event["event_type"] == "failed"
    assert words in event["reason"]
    room.still_speaks()


def test_case_10_huge_and_long(room):
    since = room.mark()
    room.publish("asagoe/kitchen/announce", b"x" * 1_000_000)
    wait_for(lambda: room.events(since), 10, "the answer")
    assert "at most 16,384" in room.events(since)[0]["reason"]
    long = room.house.announce("これは長い文です。" * 300)
    room.house.event("started", long)
    room.house.publish("do/stop", "")
    room.house.ended(long)
    since, connections = room.mark(), room.house.service.log.count("connected to the broker")
    room.publish("asagoe/kitchen/announce", b"x" * 5_000_000)  # beyond the packet size that we name to the broker
    time.sleep(0.5)
    assert room.events(since) == []
    assert room.house.service.log.count("connected to the broker") == connections
    room.still_speaks()


def test_case_11_no_shell_and_no_path(room, tmp_path):
    target = tmp_path / "touched"
    for text in (f"$(touch {target})", f"`touch {target}`", f'"; touch {target}; "', "{{ 7 * 7 }}", "../../etc/passwd"):
        since = room.mark()
        room.publish("asagoe/kitchen/announce", text)
        wait_for(lambda since=since: room.accepted(since), 5, "the text")
        assert room.accepted(since) == [text]  # a template is not filled in
        room.hush()
    since = room.mark()
    for key in ("chime", "end_chime", "speaker", "style"):
        room.publish("asagoe/kitchen/announce", json.dumps({"text": "x", key: "/etc/passwd"}))
    room.publish("asagoe/kitchen/do/run/../../x", "touch")
    wait_for(lambda: len([e for e in room.events(since) if e["event_type"] == "failed"]) >= 4, 15, "refusals")
    assert not target.exists()


def test_case_12_commands_are_heard_while_something_is_said(room):
    connections = room.house.service.log.count("connected to the broker")
    long = room.house.announce("とても長い文なので、しばらくの間ずっと話し続けます。" * 6)
    room.house.event("started", long)
    for number in range(5):
        since, asked = room.mark(), time.monotonic()
        room.publish("asagoe/kitchen/set/volume", json.dumps({"value": 90 + number, "id": f"v{number}"}))
        wait_for(lambda since=since: room.events(since), 2, "the acknowledgement")
        assert time.monotonic() - asked < 1
        assert room.events(since)[0] == {
            "event_type": "done",
            "id": f"v{number}",
            "command": "set/volume",
        }
        time.sleep(1.2)
    assert room.house.listener.state()["volume"] == 94
    room.house.publish("do/stop", "")
    room.house.ended(long)
    assert room.house.service.log.count("connected to the broker") == connections


def test_case_13_without_a_broker_it_starts_and_speaks_by_its_schedule(tmp_path):
    entry = {"id": "tick", "cron": "* * * * *", "say": "定時です。"}
    config = {"node": "x", "audio": {"device": "null"}, "schedule": [entry]}
    service = Service(tmp_path, config | {"mqtt": {"url": "mqtt://no-such-host.invalid"}})
    service.start()
    try:
        wait_for(lambda: "outcome=finished" in service.log, 75, "the minute")
        assert service.log.count("its name cannot be resolved") == 1
    finally:
        assert service.stop() == 0


def test_case_14_after_a_restart_of_the_broker_all_that_is_kept_is_there_again(room):
    house = room.house
    house.publish("set/volume", "55")
    wait_for(lambda: house.listener.state()["volume"] == 55, 5, "the volume")
    before = house.service.log.count("connected to the broker")
    house.mosquitto.kill()  # without persistence it forgets everything
    time.sleep(1)
    house.mosquitto.start()
    wait_for(lambda: house.service.log.count("connected to the broker") > before, 60, "the service to be back")
    time.sleep(0.5)
    late = Listener(house.mosquitto.port, f"{house.base}")
    try:
        wait_for(lambda: late.of("state") and late.of("health") and late.of("availability"), 10, "what is kept")
        assert late.of("availability")[-1] == "online"
        assert late.state()["volume"] == 55
        assert all(kept for _, topic, _, kept in late.messages if not topic.endswith("/event"))
    finally:
        late.stop()


def test_case_15_a_twin_is_named(room, tmp_path):
    config = dict(room.house.service.config)
    twin = Service(tmp_path, config)
    twin.start()
    try:
        wait_for(lambda: "client id 'asagoe-kitchen'" in room.house.service.log + twin.log, 30, "the twin to be named")
        line = next(
            line for line in (room.house.service.log + twin.log).splitlines() if "client id 'asagoe-kitchen'" in line
        )
        assert "give each service its own node or mqtt.client_id" in line
    finally:
        twin.kill()
    wait_for(lambda: room.house.listener.of("availability")[-1] == "online", 70, "the first one to be back")
    room.still_speaks()


def test_no_announcement_is_lost_or_doubled_by_a_connection_with_faults(tmp_path):
    outcome = run_with_faults(tmp_path, 25, seed=11, pause=0.8)
    assert outcome.sent >= 15
    assert (outcome.lost, outcome.doubled, outcome.stale) == ([], [], []), outcome
    assert outcome.connections > 2
