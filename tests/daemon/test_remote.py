import asyncio
import json
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.announcement import Announcement
from daemon.clock import SystemClock
from daemon.config import ConfigError, parse_config
from daemon.errors import RequestError
from daemon.mqtt.messages import Incoming
from daemon.phrases import PhraseCache
from daemon.remote.client import RemoteRenderer, RemoteSpeaker
from daemon.remote.protocol import (
    ANSWER,
    MAX_PIECE,
    REQUEST,
    VOICES,
    answers_of,
    joined,
    parse_answer,
    parse_request,
    parse_voices,
)
from daemon.remote.server import MOST, RenderServer
from daemon.renderer import EMBEDDED, Renderer
from engine import TTS, Audio, EngineDefectError, Speaker, Spoken, VoiceNotAvailableError
from tests.fakes.voice import ToneVoice

TEXT = "一つ目の文です。二つ目の文です。"


class Bus:
    """A broker: hands what is published to whoever listens, damaged where the test says so."""

    def __init__(self):
        self.handlers = {}
        self.seen = []
        self.change = lambda topic, payload: [payload]

    def listen(self, topic, handler, *, retained=False):
        self.handlers[topic] = handler

    def publish(self, topic, payload, *, retain=False, qos=1):
        data = payload.encode() if isinstance(payload, str) else payload
        self.seen.append((topic, data, retain, qos))
        for body in self.change(topic, data):
            if topic in self.handlers:
                asyncio.get_running_loop().call_soon(self._deliver, topic, body, retain)

    def _deliver(self, topic, body, retain):
        try:
            self.handlers[topic](Incoming(topic, body, retain))
        except RequestError:
            pass  # the gateway logs it

    def requests(self):
        return [json.loads(body) for topic, body, *_ in self.seen if topic.endswith(REQUEST)]


class Node:
    def __init__(self, tmp_path, name, voices):
        self.tts = TTS()
        for speaker, voice in voices.items():
            self.tts._speakers[speaker] = Speaker(speaker, voice, self.tts.text)
        self.phrases = PhraseCache(tmp_path / name, 10**8)
        self.renderer = Renderer(self.tts, self.phrases, "f1", frozenset({"f1", "f2"}))


class Pair:
    """A big node with a voice, and a small one that has only the embedded one."""

    def __init__(self, tmp_path, *, timeout=0.6, configured=None):
        self.bus, self.voice, self.own = Bus(), ToneVoice(), ToneVoice()
        self.big = Node(tmp_path, "big", {"f1": self.voice})
        self.small = Node(tmp_path, "small", {EMBEDDED: self.own})
        self.connected = True
        self.timeout = timeout
        self.configured = configured or {"f1": RemoteSpeaker("big", "f1", {})}

    async def __aenter__(self):
        self.server = RenderServer(
            base="asagoe",
            node="big",
            publish=self.bus.publish,
            renderer=self.big.renderer,
            speakers=lambda: self.big.tts.speakers,
            default=lambda: "f1",
        )
        self.bus.listen(f"asagoe/big/{REQUEST}", self.server.on_message)
        self.client = RemoteRenderer(
            base="asagoe",
            node="small",
            publish=self.bus.publish,
            connected=lambda: self.connected,
            configured=self.configured,
            text=self.small.tts.text,
            clock=SystemClock(),
            timeout=self.timeout,
        )
        self.client.listen(self.bus.listen)
        self.small.renderer.remote = lambda: self.client.speakers
        return self

    async def meet(self):
        self.server.publish_voices()
        self.bus.publish("asagoe/big/availability", "online", retain=True)
        async with asyncio.timeout(5):
            while not self.client.speakers:
                await asyncio.sleep(0.005)

    async def __aexit__(self, *_):
        self.client.close()
        for node in (self.big, self.small):
            node.renderer.close()
            node.tts.close()

    async def say(self, text=TEXT, **fields):
        """Who speaks, and the sound of each sentence; as ``pieces_of`` does it."""
        announcement = Announcement("x", text, "test", datetime.now(UTC), 0.0, **fields)
        job = await self.small.renderer.plan(announcement)
        sounds = []
        for segment in job.plan.segments:
            sounds.append((await self.small.renderer.render(job, segment)).spoken.audio)
        return job.speaker.name, sounds


def go(tmp_path, scenario, **options):
    async def run():
        async with Pair(tmp_path, **options) as pair:
            await asyncio.wait_for(scenario(pair), 20)

    asyncio.run(run())


def test_sentences_are_made_on_the_other_node_and_sound_the_same(tmp_path):
    async def scenario(pair):
        await pair.meet()
        speaker, sounds = await pair.say()
        assert speaker == "f1"
        assert pair.voice.spoken == ["一つ目の文です。", "二つ目の文です。"]
        assert pair.own.spoken == []
        there = pair.big.tts.speakers["f1"].generate("一つ目の文です。").samples
        assert len(sounds[0].samples) == pytest.approx(len(there), abs=2)
        assert (
            np.abs(sounds[0].samples[: len(there) - 2] - there[: len(sounds[0].samples)][: len(there) - 2]).max() < 0.01
        )
        assert [request["node"] for request in pair.bus.requests()] == ["small", "small"]
        assert all(qos == 0 for topic, _, _, qos in pair.bus.seen if topic.endswith((REQUEST, ANSWER)))

    go(tmp_path, scenario)


def test_both_phrase_caches_are_used(tmp_path):
    async def scenario(pair):
        await pair.meet()
        await pair.say()
        await pair.say()
        assert len(pair.bus.requests()) == 2  # the second time it came from the small node's own cache
        pair.small.phrases._limit = 0
        await pair.say()
        assert len(pair.bus.requests()) == 4
        assert len(pair.voice.spoken) == 2  # and here from the big one's

    go(tmp_path, scenario)


def test_options_go_along_and_styles_are_those_of_the_other_voice(tmp_path):
    async def scenario(pair):
        await pair.meet()
        await pair.say("一つ。", options={"style": "Happy", "speed": 2.0})
        assert pair.bus.requests()[0]["options"] == {"style": "Happy", "speed": 2.0}
        assert pair.client.speakers["f1"].styles == ("Normal", "Happy")

    go(tmp_path, scenario)


def test_until_the_other_node_has_shown_itself_the_embedded_voice_speaks(tmp_path):
    async def scenario(pair):
        assert (await pair.say())[0] == EMBEDDED
        assert pair.client.problems == {"f1": "node big has not said yet what it renders"}
        await pair.meet()
        assert pair.client.problems == {}
        pair.bus.publish("asagoe/big/availability", "offline")
        await asyncio.sleep(0.02)
        assert (await pair.say("別の文。"))[0] == EMBEDDED
        assert pair.client.problems == {"f1": "node big is not online"}
        pair.connected = False
        assert pair.client.problems == {"f1": "there is no connection to the broker"}

    go(tmp_path, scenario)


@pytest.mark.parametrize("fault", ["nothing", "damaged", "out of order"])
def test_a_silent_node_is_given_up_once_and_then_left_alone(tmp_path, fault):
    async def scenario(pair):
        await pair.meet()

        def change(topic, payload):
            if not topic.endswith(ANSWER):
                return [payload]
            header = json.loads(payload.partition(b"\n")[0])
            if fault == "nothing" or header["kind"] != "sound":
                return []
            if fault == "damaged":
                return [payload[:-2] + b"\x12\x34"]
            if fault == "out of order":
                return [payload.replace(b'"seq": 0', b'"seq": 1')]
            return []

        pair.bus.change = change
        began = asyncio.get_running_loop().time()
        with pytest.raises(VoiceNotAvailableError, match="node big"):
            await pair.say("一つ。")
        assert asyncio.get_running_loop().time() - began < 2
        assert (await pair.say("一つ。"))[0] == EMBEDDED
        assert pair.client.problems == {"f1": "node big did not answer"}
        count = len(pair.bus.requests())
        await pair.say("二つ。")
        assert len(pair.bus.requests()) == count
        pair.bus.change = lambda topic, payload: [payload]
        pair.bus.publish("asagoe/big/availability", "online")  # it shows itself: not retained
        await asyncio.sleep(0.02)
        assert (await pair.say("三つ。"))[0] == "f1"

    go(tmp_path, scenario)


def test_a_sentence_that_takes_longer_than_the_patience_is_waited_for_while_the_other_is_at_work(tmp_path):
    async def scenario(pair):
        await pair.meet()
        pair.voice.delay = 1.5
        assert (await pair.say("一つ。"))[0] == "f1"
        assert pair.own.spoken == []

    go(tmp_path, scenario, timeout=0.5)


def test_a_refusal_comes_at_once_and_the_embedded_voice_takes_over(tmp_path):
    async def scenario(pair):
        await pair.meet()
        pair.voice.error = EngineDefectError("it is broken")
        with pytest.raises(VoiceNotAvailableError, match="it is broken"):
            await pair.say("一つ。")
        assert (await pair.say("一つ。"))[0] == EMBEDDED

    go(tmp_path, scenario, timeout=30)


def test_a_stop_ends_what_is_waited_for(tmp_path):
    async def scenario(pair):
        await pair.meet()
        pair.voice.may_speak.clear()
        speaking = asyncio.create_task(pair.say("一つ。"))
        await asyncio.sleep(0.1)
        pair.client.close()
        with pytest.raises(VoiceNotAvailableError, match="the service stops"):
            await speaking
        pair.voice.may_speak.set()

    go(tmp_path, scenario, timeout=30)


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (EngineDefectError("samples are not finite"), "node big: samples are not finite"),
        (MemoryError(), "node big: there is no memory left while speaker f1 speaks"),
        (RuntimeError("oops"), r"node big: a defect while speaker f1 speaks: RuntimeError\('oops'\)"),
        (OSError(5, "Input/output error"), "node big: the system refuses something .* Input/output error"),
    ],
)
def test_a_voice_that_fails_on_the_other_node_is_told_at_once_with_its_reason(tmp_path, raised, words):
    """Not by silence: that would take the whole patience, and the node would be left alone for a minute."""

    async def scenario(pair):
        await pair.meet()
        pair.voice.error = raised
        async with asyncio.timeout(10):
            with pytest.raises(VoiceNotAvailableError, match=words):
                await pair.say("一つ。")
        pair.voice.error = None
        assert (await pair.say("二つ。"))[0] == EMBEDDED

    go(tmp_path, scenario, timeout=30)


def test_a_lost_connection_ends_what_is_waited_for(tmp_path):
    async def scenario(pair):
        await pair.meet()
        pair.voice.may_speak.clear()
        speaking = asyncio.create_task(pair.say("一つ。"))
        await asyncio.sleep(0.1)
        pair.client.on_connection(False)
        with pytest.raises(VoiceNotAvailableError, match="the connection to the broker broke"):
            await speaking
        pair.voice.may_speak.set()

    go(tmp_path, scenario, timeout=30)


def test_requests_never_travel_on(tmp_path):
    """A node renders with its own voices only, also where it has others from elsewhere."""

    async def scenario(pair):
        pair.big.renderer.remote = lambda: {"f2": pair.big.tts.speakers["f1"]}
        with pytest.raises(VoiceNotAvailableError, match="no speaker f2 here"):
            async for _ in pair.big.renderer.render_for_another("f2", "一つ。", {}):
                pass
        assert "f2" in pair.big.renderer.speakers
        pair.server.publish_voices()
        await asyncio.sleep(0.2)
        voices = [json.loads(body) for topic, body, *_ in pair.bus.seen if topic.endswith(VOICES)]
        assert list(voices[-1]["speakers"]) == ["f1"]

    go(tmp_path, scenario)


def test_more_requests_than_it_can_work_on_are_refused(tmp_path):
    async def scenario(pair):
        pair.voice.may_speak.clear()
        for number in range(MOST + 2):
            body = {"id": f"{number:08x}", "node": "small", "speaker": "f1", "text": "一つ。"}
            pair.bus.publish(f"asagoe/big/{REQUEST}", json.dumps(body))
        await asyncio.sleep(0.1)
        answers = [json.loads(body) for topic, body, *_ in pair.bus.seen if topic.endswith(ANSWER)]
        refused = [answer["id"] for answer in answers if answer["kind"] == "error"]
        assert refused == [f"{MOST:08x}", f"{MOST + 1:08x}"]
        pair.voice.may_speak.set()
        await asyncio.sleep(0.3)

    go(tmp_path, scenario)


def test_a_changed_voice_is_another_key_for_the_cache(tmp_path):
    async def scenario(pair):
        await pair.meet()
        before = pair.client.speakers["f1"].plan("一つ。").segments[0].key
        facts = json.loads([body for topic, body, *_ in pair.bus.seen if topic.endswith(VOICES)][-1])
        facts["speakers"]["f1"]["revision"] = "another"
        pair.bus.publish(f"asagoe/big/{VOICES}", json.dumps(facts), retain=True)
        await asyncio.sleep(0.02)
        assert pair.client.speakers["f1"].plan("一つ。").segments[0].key != before

    go(tmp_path, scenario)


def test_a_speaker_that_the_other_node_has_not_is_named(tmp_path):
    async def scenario(pair):
        pair.server.publish_voices()
        pair.bus.publish("asagoe/big/availability", "online", retain=True)
        await asyncio.sleep(0.3)
        assert pair.client.problems == {"f1": "node big renders no speaker other; it has f1"}

    go(tmp_path, scenario, configured={"f1": RemoteSpeaker("big", "other", {})})


def test_a_long_sentence_comes_in_several_pieces_and_pauses_stay():
    samples = np.sin(np.arange(2 * MAX_PIECE + 10) / 20).astype(np.float32) * 0.5
    first = Spoken(Audio(samples, 24_000), 0.3)
    second = Spoken(Audio(samples[:100], 24_000), 0.7)
    answers = [parse_answer(payload) for payload in answers_of("0" * 16, [first, second])]
    assert [(h.seq, h.last) for h, _ in answers] == [(0, False), (1, False), (2, True)]
    spoken = joined([data for _, data in answers], 24_000, answers[-1][0].pause)
    assert len(spoken.audio.samples) == len(samples) + round(0.3 * 24_000) + 100
    assert spoken.pause == 0.7
    assert np.abs(spoken.audio.samples[: len(samples)] - samples).max() < 1e-4


@given(st.binary(max_size=300))
def test_no_bytes_are_more_than_refused(payload):
    for parse in (parse_answer, parse_request, parse_voices):
        try:
            parse(payload)
        except RequestError:
            pass


@pytest.mark.parametrize(
    "body",
    [
        {"id": "0" * 16, "node": "../x", "speaker": "f1", "text": "a"},
        {"id": "0" * 16, "node": "a/b", "speaker": "f1", "text": "a"},
        {"id": "x", "node": "a", "speaker": "f1", "text": "a"},
        {"id": "0" * 16, "node": "a", "speaker": "f1", "text": "a" * 5000},
        {"id": "0" * 16, "node": "a", "speaker": "f1", "text": "a", "options": {"style": ["x"]}},
        {"id": "0" * 16, "node": "a", "speaker": "f1", "text": "a", "patience": 1e9},
    ],
)
def test_a_request_cannot_choose_a_topic_or_more_than_its_bounds(body):
    with pytest.raises(RequestError):
        parse_request(json.dumps(body).encode())


def test_the_configuration_of_remote_speakers():
    config = parse_config("node: pi\nrender_on: big\n")
    assert [(r.node, r.speaker) for r in config.remote_speakers.values()] == [("big", None)]
    assert config.own_speakers == {}
    config = parse_config(
        'node: pi\nrender_on: big\nspeakers:\n  f1: {style: Happy}\n  mei: {source: "openjtalk:mei"}\n'
        '  x: {source: "node:attic", name: f9}\n'
    )
    assert {n: (r.node, r.speaker) for n, r in config.remote_speakers.items()} == {
        "f1": ("big", "f1"),
        "x": ("attic", "f9"),
    }
    assert list(config.own_speakers) == ["mei"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node: pi\nrender_on: pi\n", "render_on: pi is this node itself"),
        ('node: pi\nspeakers: {f1: {source: "node:pi"}}\n', "speakers.f1.source: pi is this node itself"),
        ('speakers: {f1: {source: "node:a/b"}}\n', "the name of a node is expected after node:"),
        ("render_on: big\nmqtt: {broker: none}\n", "another node is reached by MQTT, and mqtt.broker is none"),
    ],
)
def test_mistakes_in_remote_speakers_are_named(text, words):
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    assert words in str(caught.value)
