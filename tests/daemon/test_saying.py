"""Starting on the second, sound that is ready, rising volume, and halting whatever hangs."""

import asyncio
import time

import numpy as np
import pytest

from daemon.announcement import Clip, Fade, Priority
from daemon.playback import Piece
from engine import Audio
from tests.fakes.announcing import House, run

RATE = 24_000
LATE = 0.2
"""Seconds; how late things really are is measured by the benchmark of punctuality."""


def clip(*seconds, level=0.5):
    return Clip(
        tuple(Piece(Audio(np.full(round(s * RATE), level, np.float32), RATE), n) for n, s in enumerate(seconds)), "bell"
    )


def test_the_first_sample_is_written_at_the_moment_that_was_asked_for(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.player.wake(2.0)
            start = time.monotonic() + 0.7
            event = await house.until("finished", house.say("鐘", clip=clip(0.2), start_at=start))
            first = event.details["first_sample_ms"] / 1000 + house.announcer._last.received_at
            assert 0 <= first - start < LATE

    run(scenario())


def test_what_is_interrupted_goes_on_until_shortly_before(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            talk = house.say("長い文です。" * 8)
            await house.until("started", talk)
            start = time.monotonic() + 1.2
            alarm = house.say("鐘", clip=clip(0.2), start_at=start, priority=Priority.CRITICAL)
            await asyncio.sleep(0.8)
            assert "interrupted" not in house.story(talk)
            event = await house.until("finished", alarm)
            first = event.details["first_sample_ms"] / 1000 + house.announcer._last.received_at
            assert 0 <= first - start < LATE
            assert "interrupted" in house.story(talk)
            await house.until("finished", talk)

    run(scenario())


def test_sound_that_is_ready_needs_no_voice(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.voice.error = RuntimeError("no voice")
            event = await house.until("finished", house.say("鐘", clip=clip(0.1, 0.1)))
            assert event.details["speaker"] == "bell"
            assert len(house.sink.sound()) == pytest.approx(0.2 * RATE, abs=2)

    run(scenario())


def test_a_voice_that_hangs_does_not_hold_up_what_interrupts(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.voice.may_speak.clear()
            stuck = house.say("止まる。")
            await asyncio.sleep(0.1)
            begun = time.monotonic()
            await house.until("finished", house.say("鐘", clip=clip(0.1), priority=Priority.CRITICAL))
            assert time.monotonic() - begun < 1
            house.voice.may_speak.set()
            await house.until("finished", stuck)

    run(scenario())


def test_a_voice_that_hangs_can_be_skipped(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.voice.may_speak.clear()
            stuck = house.say("止まる。")
            await asyncio.sleep(0.1)
            house.announcer.skip()
            assert (await house.until("dropped", stuck, timeout=1)).reason == "skipped"
            house.voice.may_speak.set()

    run(scenario())


def test_a_volume_rises_in_even_steps_on_the_scale_of_volumes():
    fade = Fade(begin=10, seconds=20, since=100)
    assert [fade.volume(70, 100 + s) for s in (-1, 0, 5, 10, 20, 99)] == [10, 10, 25, 40, 70, 70]
    assert fade.volume(5, 100) == 5  # never louder than the target
    assert Fade(begin=0, seconds=0, since=0).volume(60, 0) == 60


def test_the_rise_is_heard(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            fade = Fade(begin=20, seconds=1.0, since=time.monotonic())
            await house.until("finished", house.say("鐘", clip=clip(1.5), volume=100, fade=fade))
            sound = house.sink.sound()
            tenths = [float(np.abs(sound[n * 2400 : (n + 1) * 2400]).max()) for n in range(15)]
            assert tenths[0] < 0.06  # (28 / 100)² of 0.5, and a little for the way into the player
            assert tenths == sorted(tenths)
            assert tenths[-1] == pytest.approx(0.5, abs=0.01)
            assert np.abs(np.diff(sound[: 1 * RATE])).max() < 0.01  # no step that clicks

    run(scenario())


def test_one_announcement_can_be_cancelled_wherever_it_is(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            first = house.say("長い文です。" * 8)
            second, third = house.say("二番。"), house.say("三番。")
            assert house.announcer.cancel(second, "dismissed")
            assert house.announcer.cancel(first, "dismissed")
            assert not house.announcer.cancel("nobody", "dismissed")
            await house.until("finished", third)
            assert [house.story(n)[-1] for n in (first, second)] == ["dropped", "dropped"]

    run(scenario())
