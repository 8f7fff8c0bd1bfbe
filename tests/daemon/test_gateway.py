import asyncio
import json
from zoneinfo import ZoneInfo

import pytest

from daemon.announcer_commands import add_announcer_commands
from daemon.clock import SystemClock
from daemon.commands import Commands
from daemon.config import AnnouncementsConfig
from daemon.events import Event
from daemon.mqtt.gateway import Gateway
from daemon.mqtt.messages import Incoming
from daemon.mqtt.topics import Topics
from tests.fakes.broker import FakeBroker

TOPICS = Topics("asagoe", "kitchen", ("down",))


class FakeAnnouncer:
    def __init__(self):
        self.calls = []
        self.nothing_to_replay = False

    def check(self, announcement):
        return "there is no speaker 'x'" if announcement.speaker == "x" else None

    def submit(self, announcement):
        self.calls.append(("submit", announcement.text))

    def stop(self):
        self.calls.append(("stop",))
        return []

    def skip(self):
        self.calls.append(("skip",))

    def clear(self):
        self.calls.append(("clear",))
        return []

    def replay(self):
        self.calls.append(("replay",))
        return None if self.nothing_to_replay else "id"

    def set_volume(self, volume):
        self.calls.append(("volume", volume))

    def set_mute(self, muted):
        self.calls.append(("mute", muted))


@pytest.fixture
def house():
    class House:
        def __init__(self):
            self.announcer = FakeAnnouncer()
            self.broker = FakeBroker()
            commands = Commands()
            add_announcer_commands(commands, self.announcer)
            self.gateway = Gateway(
                announcer=self.announcer,
                commands=commands,
                settings=AnnouncementsConfig(),
                topics=TOPICS,
                clock=SystemClock(),
                zone=ZoneInfo("Asia/Tokyo"),
                snapshot=lambda: {"state": "idle"},
                health=lambda: {"version": "1"},
            )
            self.gateway.attach(self.broker)
            self.acknowledged = 0

        def receive(self, topic, payload="", retained=False):
            def accepted():
                self.acknowledged += 1

            self.gateway.on_message(
                Incoming(topic, payload if isinstance(payload, bytes) else payload.encode(), retained, accepted)
            )

        @property
        def events(self):
            return [json.loads(p) for p in self.broker.of("asagoe/kitchen/event")]

    return House()


def test_topics_do_not_overlap_and_name_the_command():
    assert len(set(TOPICS.filters)) == 9
    assert Topics("asagoe", "all").filters == ["asagoe/all/announce", "asagoe/all/do/+", "asagoe/all/set/#"]
    for base in ("asagoe/kitchen", "asagoe/all", "asagoe/group/down"):
        assert TOPICS.command(f"{base}/do/stop") == "do/stop"
    assert TOPICS.command("asagoe/other/announce") is None


@pytest.mark.parametrize("topic", ["asagoe/kitchen/announce", "asagoe/all/announce", "asagoe/group/down/announce"])
def test_announcements_arrive_on_every_topic_of_the_node(house, topic):
    house.receive(topic, "こんにちは")
    assert house.announcer.calls == [("submit", "こんにちは")]
    assert house.acknowledged == 1


@pytest.mark.parametrize(
    ("command", "payload", "call"),
    [
        ("do/stop", "", ("stop",)),
        ("do/skip", "", ("skip",)),
        ("do/clear", "x", ("clear",)),
        ("do/replay", "PRESS", ("replay",)),
        ("set/volume", "40", ("volume", 40)),
        ("set/mute", "ON", ("mute", True)),
    ],
)
def test_commands_are_carried_out(house, command, payload, call):
    house.receive(f"asagoe/kitchen/{command}", payload)
    assert house.announcer.calls == [call]
    (event,) = house.events
    assert (event["event_type"], event["id"], event["command"]) == ("done", None, command)


@pytest.mark.parametrize("command", ["announce", "do/stop", "do/replay", "set/volume"])
def test_retained_commands_are_ignored(house, command):
    house.receive(f"asagoe/kitchen/{command}", "40", retained=True)
    assert house.announcer.calls == []
    assert house.gateway.ignored_retained == 1
    assert house.acknowledged == 1


@pytest.mark.parametrize(
    ("command", "payload", "words"),
    [
        ("set/volume", "loud", "volume: a number from 0 to 100"),
        ("set/mute", "", "mute: ON or OFF"),
        ("do/dance", "", "there is no command 'do/dance'"),
        ("set/volume", b"\xff", "not UTF-8"),
        ("announce", '{"text":"x","speaker":"x"}', "there is no speaker 'x'"),
        ("announce", b"\xff", "not UTF-8"),
        ("announce", "x" * 20_000, "at most 16,384"),
    ],
)
def test_what_cannot_be_done_is_one_failed_event_and_disturbs_nothing(house, command, payload, words):
    house.receive(f"asagoe/kitchen/{command}", payload)
    house.receive("asagoe/kitchen/announce", "次")
    (event,) = house.events
    assert event["event_type"] == "failed"
    assert words in event["reason"]
    assert house.announcer.calls == [("submit", "次")]
    assert house.acknowledged == 2


def test_replay_of_nothing_is_a_failed_event(house):
    house.announcer.nothing_to_replay = True
    house.receive("asagoe/kitchen/do/replay")
    assert house.events[0]["reason"] == "nothing was said yet that could be said again"


def test_the_id_of_a_refused_message_comes_back(house):
    house.receive("asagoe/kitchen/announce", '{"id":"7","text":"x","speed":99}')
    assert house.events[0]["id"] == "7"


def test_a_command_with_an_id_is_answered_under_it_and_carried_out_once(house):
    for _ in range(2):
        house.receive("asagoe/kitchen/set/volume", '{"value":40,"id":"c1"}')
    assert house.announcer.calls == [("volume", 40)]
    assert house.events == [
        {"event_type": "done", "id": "c1", "command": "set/volume"},
        {"event_type": "done", "id": "c1", "command": "set/volume", "duplicate": True},
    ]


def test_a_command_that_fails_can_be_sent_again_under_its_id(house):
    house.announcer.nothing_to_replay = True
    house.receive("asagoe/kitchen/do/replay", '{"id":"c1"}')
    house.announcer.nothing_to_replay = False
    house.receive("asagoe/kitchen/do/replay", '{"id":"c1"}')
    assert [(event["event_type"], event["id"], event.get("ids")) for event in house.events] == [
        ("failed", "c1", None),
        ("done", "c1", ["id"]),
    ]


@pytest.mark.parametrize(
    ("topic", "nodes", "said"),
    [
        ("all", '["kitchen","bedroom"]', True),
        ("all", '"kitchen"', True),
        ("all", '["down"]', True),
        ("all", '["bedroom"]', False),
        ("group/down", '["bedroom"]', False),
    ],
)
def test_an_announcement_can_name_its_nodes(house, topic, nodes, said):
    house.receive(f"asagoe/{topic}/announce", f'{{"text":"x","nodes":{nodes}}}')
    assert house.announcer.calls == ([("submit", "x")] if said else [])
    assert house.events == []


def test_sent_to_this_node_alone_and_meant_for_another_it_is_told(house):
    house.receive("asagoe/kitchen/announce", '{"text":"x","nodes":["bedroom"],"id":"7"}')
    assert "bedroom is not this node, kitchen" in house.events[0]["reason"]


@pytest.mark.parametrize("nodes", ["[]", "[5]", '["a b"]', '[["a"]]', '{"a":1}', "null"])
def test_nodes_that_are_none(house, nodes):
    house.receive("asagoe/all/announce", f'{{"text":"x","nodes":{nodes}}}')
    assert house.announcer.calls == ([("submit", "x")] if nodes == "null" else [])


def test_retained_messages_of_a_topic_are_told_once(house, caplog):
    for _ in range(3):
        house.receive("asagoe/kitchen/do/stop", "", retained=True)
    assert caplog.text.count("ignored a retained message") == 1
    assert house.gateway.report() == {"connected": True, "refused": 0, "ignored_retained": 3}


def test_topics_of_their_own_have_their_own_handlers(house):
    heard = []
    house.gateway.listen("other/topic", lambda message: heard.append(message.payload))
    house.gateway.listen("kept/topic", lambda message: heard.append(message.payload), retained=True)
    house.receive("other/topic", "1")
    house.receive("other/topic", "2", retained=True)
    house.receive("kept/topic", "3", retained=True)
    house.receive("no/topic", "4")
    assert heard == [b"1", b"3"]
    assert house.acknowledged == 4


def test_connecting_publishes_availability_and_state_and_stopping_says_so(house):
    house.gateway.on_connection(True)
    house.gateway.say_goodbye()
    assert house.broker.published == [
        ("asagoe/kitchen/availability", "online", True),
        ("asagoe/kitchen/state", '{"state": "idle"}', True),
        ("asagoe/kitchen/health", '{"version": "1"}', True),
        ("asagoe/kitchen/availability", "stopped", True),
    ]


def test_many_changes_are_one_state(house):
    async def scenario():
        for _ in range(20):
            house.gateway.on_change()
        await asyncio.sleep(0.15)

    asyncio.run(scenario())
    assert len(house.broker.of("asagoe/kitchen/state")) == 1


def test_events_are_json_and_not_retained(house):
    house.gateway.on_event(Event("finished", "7", None, {"first_sample_ms": 5}))
    assert house.broker.published == [
        ("asagoe/kitchen/event", '{"event_type": "finished", "id": "7", "first_sample_ms": 5}', False)
    ]
