from daemon.mqtt.house_topics import MAX_PAYLOAD, HouseTopics
from daemon.mqtt.messages import Incoming
from daemon.mqtt.topics import Topics
from tests.fakes.briefings import at
from tests.fakes.clock import FakeClock

OWN = Topics("asagoe", "kitchen", ("down",))


def house(*wanted):
    clock = FakeClock(at("2026-12-01T07:00:00"))
    return clock, HouseTopics(clock, OWN, wanted)


def test_the_last_message_is_kept_with_its_moment():
    clock, topics = house("t")
    topics.on_message(Incoming("t", b"20", retained=False))
    clock.advance(60)
    topics.on_message(Incoming("t", "２１度".encode(), retained=False))
    topics.on_message(Incoming("other", b"1", retained=False))
    assert dict(topics.values) == {"t": ("２１度", at("2026-12-01T07:01:00"))}


def test_a_retained_message_counts_but_its_repetition_makes_nothing_younger():
    clock, topics = house("t")
    topics.on_message(Incoming("t", b"20", retained=True))
    clock.advance(3600)
    topics.on_message(Incoming("t", b"20", retained=True))  # after a reconnection
    assert topics.values["t"][1] == at("2026-12-01T07:00:00")
    topics.on_message(Incoming("t", b"21", retained=True))
    assert topics.values["t"] == ("21", at("2026-12-01T08:00:00"))
    clock.advance(60)
    topics.on_message(Incoming("t", b"21", retained=False))  # the sensor spoke
    assert topics.values["t"][1] == at("2026-12-01T08:01:00")


def test_what_is_no_text_is_no_value():
    _, topics = house("t")
    for payload in (b"", b"\xff", b"x" * (MAX_PAYLOAD + 1)):
        topics.on_message(Incoming("t", b"20", retained=False))
        topics.on_message(Incoming("t", payload, retained=False))
        assert dict(topics.values) == {}


def test_only_topics_that_are_not_the_nodes_own_are_subscribed_to():
    _, topics = house(
        "home/t", "asagoe/kitchen/do/stop", "asagoe/all/announce", "asagoe/group/down/x", "asagoe/other/state"
    )
    assert topics.filters == ["asagoe/other/state", "home/t"]


def test_what_is_no_longer_wanted_is_forgotten():
    _, topics = house("a", "b")
    for name in "ab":
        topics.on_message(Incoming(name, b"1", retained=False))
    topics.want(["b", "c"])
    assert set(topics.values) == {"b"}
    assert topics.filters == ["b", "c"]
