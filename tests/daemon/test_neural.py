"""A neural speaker on the daemon's way: style and prosody of a message, refusals, substitutes, the phrase cache."""

from __future__ import annotations

import numpy as np
import pytest

from daemon.renderer import EMBEDDED
from engine import PrepareError
from tests.daemon.test_announcer import House, run
from tests.fakes.published import VOICE, unpack_published


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return unpack_published(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    """So that the voice is prepared once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def house(tmp_path, tree, shared_cache, monkeypatch):
    monkeypatch.setenv("ASAGOE_CACHE", str(shared_cache))
    house = House(tmp_path, paced=False)
    house.tts.load("f1", source=tree.as_uri(), voice=VOICE, seed=1)
    house.tts.load("lively", source=str(tree), voice=VOICE)
    house.tts.load("ghost", source=str(tree / "nowhere")).load(EMBEDDED, source="openjtalk:mei")
    with pytest.raises(PrepareError, match=r"^1 speaker\(s\) could not be prepared: ghost: there is no folder"):
        house.tts.prepare()
    house.renderer.configure("ghost", frozenset({"f1", "lively", "ghost"}))
    return house


async def spoken(house, **fields):
    """The one sentence of an announcement, and its segment."""
    job = await house.renderer.plan(house.make("今日は良い天気ですね。", **fields))
    return (await house.renderer.render(job, job.plan.segments[0])).spoken.audio.samples, job


def test_the_options_of_a_message_are_heard(house):
    pytest.importorskip("pyworld")

    async def scenario():
        async with house:
            plain, _ = await spoken(house, speaker="f1")
            for options in ({"style": "Happy"}, {"speed": 1.5}, {"pitch": 3}, {"intonation": 1.5}):
                other, job = await spoken(house, speaker="f1", options=options)
                assert job.instead_of is None
                assert len(other) != len(plain) or np.abs(other - plain).max() > 1e-2, options
            faster, _ = await spoken(house, speaker="f1", options={"speed": 1.5})
            assert len(faster) < 0.8 * len(plain)

    run(scenario())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"style": "Angry"}, "speaker f1 has no style 'Angry'; it has Neutral, Happy, Sad"),
        ({"speaker_id": 2}, "speaker_id must be from 0 to 1 with this voice, got 2"),
    ],
)
def test_what_the_voice_does_not_have_is_one_failed_event(house, options, reason):
    async def scenario():
        async with house:
            bad = house.say("はい。", speaker="f1", options=options)
            good = house.say("はい。", speaker="f1", options={"style": "Happy"})
            await house.ended(bad, good)
            assert house.story(bad) == ["accepted", "queued", "failed"]
            assert (await house.until("failed", bad)).reason == reason
            assert house.story(good) == ["accepted", "queued", "started", "finished"]

    run(scenario())


def test_the_embedded_voice_stands_in_for_one_that_is_missing(house):
    async def scenario():
        async with house:
            by_name = house.say("はい。", speaker="ghost", options={"style": "Happy", "speed": 1.2})
            by_default = house.say("はい。")
            other = house.say("はい。", speaker="f1")
            await house.ended(by_name, by_default, other)
            for name in (by_name, by_default):
                started = (await house.until("started", name)).details
                assert (started["speaker"], started["instead_of"]) == (EMBEDDED, "ghost")
            assert (await house.until("started", other)).details == {"speaker": "f1"}

    run(scenario())


def test_a_sentence_without_a_seed_is_made_once_and_then_repeated(house):
    async def scenario():
        async with house:
            for cached, options in ((0, {}), (1, {}), (0, {"style": "Happy"}), (1, {"style": "Happy"})):
                name = house.say("洗濯が終わりました。", speaker="lively", options=options)
                event = await house.until("finished", name)
                assert (event.details["sentences"], event.details["cached"]) == (1, cached)
            first, _ = await spoken(house, speaker="lively")
            again, _ = await spoken(house, speaker="lively")
            assert np.abs(first - again).max() < 1e-4  # 16 bits in the cache

    run(scenario())


def test_another_sound_revision_makes_the_sentence_anew(house, monkeypatch):
    async def scenario():
        async with house:
            await house.until("finished", house.say("はい。", speaker="f1"))
            monkeypatch.setattr("engine.speaker.SOUND_REVISION", "next")
            event = await house.until("finished", house.say("はい。", speaker="f1"))
            assert event.details["cached"] == 0

    run(scenario())
