"""Whatever is sent, the next good announcement is said."""

import json
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.announcer_commands import add_announcer_commands
from daemon.clock import SystemClock
from daemon.commands import Commands
from daemon.config import AnnouncementsConfig
from daemon.mqtt.gateway import Gateway
from daemon.mqtt.hermes import SAY, Hermes
from daemon.mqtt.messages import Incoming
from daemon.mqtt.topics import Topics
from tests.daemon.test_gateway import FakeAnnouncer
from tests.fakes.broker import FakeBroker
from tests.fakes.payloads import COMMANDS, CORPUS, payloads


class Door:
    """A gateway with everything that listens, and an announcer that takes all."""

    def __init__(self, second_encoding=None):
        self.announcer, self.broker = FakeAnnouncer(), FakeBroker()
        self.acknowledged = 0
        commands = Commands()
        add_announcer_commands(commands, self.announcer)
        self.gateway = Gateway(
            announcer=self.announcer,
            commands=commands,
            settings=AnnouncementsConfig(),
            topics=Topics("asagoe", "kitchen", ("down",)),
            clock=SystemClock(),
            zone=ZoneInfo("Asia/Tokyo"),
            snapshot=dict,
            health=dict,
            second_encoding=second_encoding,
        )
        self.gateway.attach(self.broker)
        hermes = Hermes(
            submit=self.announcer.submit,
            publish=self.gateway.publish,
            sites=["kitchen", "default"],
            settings=AnnouncementsConfig,
            clock=SystemClock(),
            zone=ZoneInfo("Asia/Tokyo"),
        )
        self.gateway.listen(SAY, hermes.on_message)

    def receive(self, topic, payload):
        def accepted():
            self.acknowledged += 1

        self.gateway.on_message(Incoming(topic, payload, False, accepted))

    def good_one_is_said(self):
        self.receive("asagoe/kitchen/announce", "よい知らせです。".encode())
        assert self.announcer.calls[-1] == ("submit", "よい知らせです。")


def test_twenty_thousand_payloads_and_then_a_good_one():
    door = Door()
    for command, payload in payloads(20_000):
        door.receive(f"asagoe/kitchen/{command}", payload)
        if command == "announce":
            door.receive(SAY, payload)
    said = [call[1] for call in door.announcer.calls if call[0] == "submit"]
    assert len(said) > 500  # not all of them are bad
    assert all(text.strip() and len(text) <= 3000 for text in said)
    for _, body, _ in door.broker.published:  # every answer is JSON that can be sent
        json.loads(body.encode("utf-8"))
    assert door.acknowledged == 20_000 + sum(command == "announce" for command, _ in payloads(20_000))
    door.good_one_is_said()


@pytest.mark.parametrize("name", CORPUS)
def test_each_of_the_corpus_on_each_topic_gives_at_most_one_answer(name):
    door = Door()
    for command in dict.fromkeys(COMMANDS):
        before = len(door.broker.published)
        door.receive(f"asagoe/kitchen/{command}", CORPUS[name])
        assert len(door.broker.published) - before <= 1
    door.good_one_is_said()


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([*COMMANDS, "hermes"]),
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.dictionaries(
            st.sampled_from(["text", "id", "value", "nodes", "volume", "speed", "siteId", "x"]),
            st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=4),
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_no_payload_raises(command, payload):
    door = Door(second_encoding="cp932")
    door.receive(SAY if command == "hermes" else f"asagoe/kitchen/{command}", payload)
    door.good_one_is_said()
    for _, body, _ in door.broker.published:
        json.loads(body.encode("utf-8"))
