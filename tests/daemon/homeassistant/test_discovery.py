"""When Home Assistant is told what: on a broker in memory."""

import asyncio
import json
from dataclasses import replace

import pytest

from daemon.homeassistant import discovery as room
from daemon.homeassistant.discovery import Discovery
from daemon.homeassistant.facts import AlarmFact
from daemon.mqtt.messages import Incoming
from daemon.store import Database, Records
from tests.daemon.homeassistant.facts import APART, FULL
from tests.fakes.broker import FakeBroker

TOPIC = "homeassistant/device/asagoe_kitchen/config"
NAP = "homeassistant/time/asagoe_kitchen/alarm_time_nap/config"


class Gateway(FakeBroker):
    def __init__(self):
        super().__init__()
        self.states = 0

    def publish_everything(self):
        self.states += 1


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    for name, seconds in {"SETTLE": 0.01, "APART": 0.02, "STATE_AFTER": 0.01}.items():
        monkeypatch.setattr(room, name, seconds)


class Node:
    def __init__(self, records=None, facts=FULL, **options):
        self.gateway = Gateway()
        self.records = records or Records(Database(None))
        self.facts = facts
        options = {"enabled": True, "prefix": "homeassistant", "birth_payload": "online", "apart": APART} | options
        self.discovery = Discovery(
            gateway=lambda: self.gateway,
            records=self.records,
            facts=lambda: self.facts,
            jitter=(0.02, 0.02),
            **options,
        )

    @property
    def devices(self):
        return [json.loads(payload) for payload in self.gateway.of(TOPIC)]

    def birth(self, payload="online", retained=False):
        self.discovery.on_birth(Incoming("homeassistant/status", payload.encode(), retained))


def without(component):
    """A node whose last start told of one component more."""
    records = Records(Database(None))
    told = {"topic": TOPIC, "components": {component: "sensor"}, "singles": []}
    records.set("discovery", told)
    return records


def run(scenario):
    asyncio.run(scenario())


def test_nothing_is_told_before_all_parts_are_there_or_without_a_connection():
    async def scenario():
        node = Node()
        node.discovery.on_connection(True)
        assert node.gateway.published == []
        node.gateway.connected = False
        node.discovery.begin()
        assert node.gateway.published == []
        node.gateway.connected = True
        node.discovery.on_connection(True)
        assert len(node.devices) == 1
        assert all(retain for _, _, retain in node.gateway.published)

    run(scenario)


def test_a_change_is_told_once_and_no_change_not_at_all():
    async def scenario():
        node = Node()
        node.discovery.begin()
        node.discovery.refresh_soon()
        await asyncio.sleep(0.05)
        assert len(node.devices) == 1
        node.facts = replace(FULL, briefings=("morning", "evening", "noon"))
        node.discovery.refresh_soon()
        node.discovery.refresh_soon()
        await asyncio.sleep(0.05)
        assert len(node.devices) == 2
        assert "run_briefing_noon" in node.devices[1]["components"]

    run(scenario)


def test_what_is_gone_is_taken_leave_of_and_then_left_out():
    async def scenario():
        node = Node(facts=replace(FULL, alarms=(*FULL.alarms, AlarmFact("nap2", "x", False))))
        node.discovery.begin()
        await asyncio.sleep(0.05)
        node.facts = FULL
        node.discovery.refresh_soon()
        await asyncio.sleep(0.1)
        _, farewell, last = node.devices
        assert farewell["components"]["alarm_nap2"] == {"platform": "switch"}
        assert "alarm_nap2" not in last["components"]
        assert node.records.setting("discovery")["components"].keys() == last["components"].keys()

    run(scenario)


def test_a_connection_that_breaks_in_between_loses_no_farewell():
    async def scenario():
        node = Node(without("old"))
        node.discovery.begin()
        assert node.devices[0]["components"]["old"] == {"platform": "sensor"}
        node.gateway.connected = False
        node.discovery.on_connection(False)
        await asyncio.sleep(0.05)
        assert len(node.devices) == 1
        assert "old" in node.records.setting("discovery")["components"]  # also for a start after a power cut
        node.gateway.connected = True
        node.discovery.on_connection(True)
        await asyncio.sleep(0.05)
        assert ["old" in device["components"] for device in node.devices] == [True, True, False]

    run(scenario)


def test_a_component_that_became_of_another_kind_is_removed_as_the_old_kind_first():
    async def scenario():
        node = Node(without("mute"))
        node.discovery.begin()
        await asyncio.sleep(0.05)
        assert [device["components"]["mute"]["platform"] for device in node.devices] == ["sensor", "switch"]
        assert len(node.devices[0]["components"]["mute"]) == 1

    run(scenario)


def test_a_topic_of_its_own_is_cleared_when_its_component_is_gone():
    async def scenario():
        node = Node(facts=replace(FULL, alarms=(AlarmFact("nap", "nap", True),)))
        node.discovery.begin()
        node.facts = replace(FULL, alarms=())
        node.discovery.refresh_soon()
        await asyncio.sleep(0.05)
        assert json.loads(node.gateway.of(NAP)[0])["availability_topic"] == "asagoe/kitchen/availability"
        assert node.gateway.of(NAP)[1:] == [""]

    run(scenario)


def test_another_prefix_clears_the_former_topics():
    async def scenario():
        records = Records(Database(None))
        first = Node(records)
        first.discovery.begin()
        second = Node(records, prefix="ha")
        second.discovery.begin()
        assert second.gateway.of(TOPIC) == [""]
        assert all(second.gateway.of(topic) == [""] for topic, _, _ in first.gateway.published)

    run(scenario)


def test_switched_off_it_clears_what_was_told_once():
    async def scenario():
        records = Records(Database(None))
        first = Node(records)
        first.discovery.begin()
        for expected in ({topic for topic, _, _ in first.gateway.published}, set()):
            off = Node(records, enabled=False)
            off.discovery.begin()
            off.birth()
            await asyncio.sleep(0.05)
            assert {topic for topic, payload, _ in off.gateway.published if payload == ""} == expected
            assert {payload for _, payload, _ in off.gateway.published} <= {""}

    run(scenario)


def test_each_birth_message_is_answered_after_a_moment_with_device_and_state_several_as_one():
    async def scenario():
        node = Node()
        node.discovery.begin()
        node.birth("offline")
        node.birth(retained=True)
        await asyncio.sleep(0.06)
        assert len(node.devices) == 1
        node.birth()
        node.birth()
        assert len(node.devices) == 1
        await asyncio.sleep(0.1)
        assert (len(node.devices), node.gateway.states) == (2, 1)
        node.discovery.close()
        node.birth()
        node.discovery.refresh_soon()
        await asyncio.sleep(0.06)
        assert len(node.devices) == 2

    run(scenario)


@pytest.mark.parametrize("kept", [3, {}, {"topic": TOPIC, "components": [], "singles": []}])
def test_what_is_remembered_and_cannot_be_understood_is_forgotten(kept):
    async def scenario():
        records = Records(Database(None))
        records.set("discovery", kept)
        node = Node(records)
        node.discovery.begin()
        assert len(node.devices) == 1
        assert records.setting("discovery")["topic"] == TOPIC

    run(scenario)
