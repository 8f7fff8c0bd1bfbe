"""A device that hangs: its thread is left, another one goes on, and nobody waits for it."""

import asyncio
import threading
import time

import numpy as np
import pytest

from daemon.errors import PlaybackError
from daemon.playback import Piece
from daemon.player import Player
from engine import Audio
from tests.fakes.sinks import MemorySink

RATE = 48_000
PATIENCE = 0.4


class HangingSink(MemorySink):
    """Hangs in ``open``, in ``write`` after so many samples, or in ``close``, until it is let go."""

    def __init__(self, name="usb", *, at="write", after=9600, **options):
        super().__init__(name, paced=True, **options)
        self.at, self.after = at, after
        self.go = threading.Event()
        self.hung = threading.Event()
        self.next = None
        self.ended_in = None
        self.written_after = 0

    def _hang(self):
        self.hung.set()
        assert self.go.wait(20)

    def open(self, title):
        if self.at == "open":
            self._hang()
        super().open(title)

    def write(self, block):
        self.written_after += self.go.is_set()
        if self.at == "write" and len(self.samples) >= self.after:
            self._hang()
        super().write(block)

    def close(self):
        if self.at == "close" and self.is_open:
            self._hang()
        super().close()
        self.ended_in = threading.current_thread()

    def renewed(self):
        self.next = MemorySink(self.name, paced=True)
        return self.next


@pytest.fixture
def make_player():
    made = []

    def make(*sinks, lead_in=0.0, keep_open=0.0, patience=PATIENCE, **options):
        player = Player(sinks, lead_in=lead_in, keep_open=keep_open, patience=patience, **options)
        player.start()
        made.append((player, sinks))
        return player

    yield make
    for player, sinks in made:
        for sink in sinks:
            if isinstance(sink, HangingSink):
                sink.go.set()
        player.shut_down()


def ramp(seconds):
    return Audio(np.linspace(0.1, 0.9, round(seconds * RATE), dtype=np.float32), RATE)


async def play(player, *sounds):
    playback = player.play("t", lambda: 1.0)
    for index, sound in enumerate(sounds):
        await playback.feed(Piece(sound, index))
    playback.complete()
    return await asyncio.wait_for(playback.outcome, 10)


def until(condition, seconds=3.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_next_device_goes_on_at_the_very_block_of_the_write_that_hangs(make_player):
    reports, sentences = [], []
    usb, spare = HangingSink(), MemorySink("spare", paced=True)
    player = make_player(usb, spare, on_sink=lambda *r: reports.append(r), on_hang=sentences.append)
    sound = ramp(0.5)
    begun = time.monotonic()
    outcome = asyncio.run(play(player, sound))
    assert PATIENCE < time.monotonic() - begun < 0.5 + PATIENCE + 0.5
    assert (outcome.finished, outcome.sink, outcome.audible) == (True, "spare", True)
    assert outcome.seconds == pytest.approx(0.5)
    heard = np.concatenate([usb.samples, spare.sound()])
    assert np.array_equal(heard, sound.samples)
    assert sentences == ["the sound device 'usb' hangs"]
    assert reports[-1] == ("spare", True, "the sound device 'usb' hangs")


def test_a_device_that_hangs_while_it_is_opened_loses_nothing_of_the_sound(make_player):
    usb, spare = HangingSink(at="open"), MemorySink("spare")
    sound = ramp(0.3)
    outcome = asyncio.run(play(make_player(usb, spare), sound))
    assert (outcome.finished, outcome.sink) == (True, "spare")
    assert np.array_equal(spare.sound(), sound.samples)


def test_a_device_that_hangs_while_it_is_closed_does_not_hold_up_the_next_sound(make_player):
    usb, spare = HangingSink(at="close"), MemorySink("spare")
    player = make_player(usb, spare)
    assert asyncio.run(play(player, ramp(0.1))).sink == "usb"
    assert usb.hung.wait(3)
    assert asyncio.run(play(player, ramp(0.1))).sink == "spare"


def test_without_another_device_a_sound_that_was_cut_off_fails_and_the_next_one_becomes_a_file(make_player):
    usb, folder = HangingSink(), MemorySink("folder", continuous=False)
    player = make_player(usb, folder)
    with pytest.raises(PlaybackError, match="the sound device 'usb' hangs"):
        asyncio.run(play(player, ramp(0.5)))
    outcome = asyncio.run(play(player, ramp(0.1)))
    assert (outcome.sink, outcome.audible) == ("folder", False)
    assert player.alive


def test_with_no_other_sink_each_sound_fails_at_once_with_the_reason(make_player):
    player = make_player(HangingSink(at="open"))
    for longest in (PATIENCE + 0.5, 0.2):
        begun = time.monotonic()
        with pytest.raises(PlaybackError, match="the sound device 'usb' hangs"):
            asyncio.run(play(player, ramp(0.1)))
        assert time.monotonic() - begun < longest


def test_an_idle_device_that_hangs_is_noticed_and_told(make_player):
    reports = []
    usb = HangingSink(after=0)
    player = make_player(usb, MemorySink("spare", paced=True), on_sink=lambda *r: reports.append(r))
    player.wake(0.1)
    until(lambda: ("spare", True, "the sound device 'usb' hangs") in reports)
    assert player.hanging == {"usb"}


def test_when_its_write_returns_the_thread_closes_the_device_writes_no_more_and_ends(make_player):
    reports = []
    usb = HangingSink()
    player = make_player(usb, MemorySink("spare", paced=True), on_sink=lambda *r: reports.append(r))
    asyncio.run(play(player, ramp(0.5)))
    usb.go.set()
    until(lambda: usb.ended_in is not None and not usb.ended_in.is_alive())
    assert usb.closed == 1
    assert usb.written_after == 0
    # It is found out by itself that it works again, and the next sound is heard there, by a sink of its own.
    until(lambda: player.hanging == frozenset() and reports[-1] == ("usb", True, None))
    assert asyncio.run(play(player, ramp(0.1))).sink == "usb"
    assert len(usb.next.sound()) == 4800


def test_threads_do_not_accumulate(make_player):
    before = threading.active_count()
    player = make_player(HangingSink("usb"), HangingSink("hdmi", at="open"), MemorySink("spare"))
    for _ in range(6):
        asyncio.run(play(player, ramp(0.5)))
    assert player.hanging == {"usb", "hdmi"}
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("player") == 3  # one each that hangs, and the one that plays
    assert threading.active_count() - before <= 5  # and the guard, and one of asyncio's


def test_a_stop_ends_a_sound_whose_device_hangs_before_the_device_is_given_up(make_player):
    usb = HangingSink()
    player = make_player(usb, patience=5.0)

    async def scenario():
        playback = player.play("t", lambda: 1.0)
        await playback.feed(Piece(ramp(5.0), 0))
        await asyncio.to_thread(usb.hung.wait, 3)
        asked = time.monotonic()
        playback.stop()
        outcome = await asyncio.wait_for(playback.outcome, 3)
        return outcome, time.monotonic() - asked

    outcome, took = asyncio.run(scenario())
    assert (outcome.finished, outcome.index) == (False, 0)
    assert took < 1.0


def test_a_shut_down_does_not_wait_for_a_device_that_hangs(make_player):
    usb = HangingSink()
    player = make_player(usb, patience=5.0)

    async def scenario():
        playback = player.play("t", lambda: 1.0)
        await playback.feed(Piece(ramp(5.0), 0))
        await asyncio.to_thread(usb.hung.wait, 3)

    asyncio.run(scenario())
    begun = time.monotonic()
    player.shut_down()
    assert time.monotonic() - begun < 1.0


def test_other_sinks_take_over_from_a_device_that_hangs_while_it_is_closed_for_them(make_player):
    usb, chosen = HangingSink(at="close"), MemorySink("hdmi", paced=True)
    player = make_player(usb, keep_open=5.0)
    assert asyncio.run(play(player, ramp(0.1))).sink == "usb"
    player.use([chosen])
    assert usb.hung.wait(3)
    assert asyncio.run(play(player, ramp(0.1))).sink == "hdmi"


def test_a_call_that_takes_as_long_as_the_buffer_of_the_device_is_none_that_hangs(make_player):
    class Lazy(MemorySink):
        latency = 1.0

        def write(self, block):
            super().write(block)
            if len(self.samples) == 960 * 5:
                time.sleep(0.9)

    lazy = Lazy("usb")
    lazy.latency = 1.0
    player = make_player(lazy, MemorySink("spare"))
    assert asyncio.run(play(player, ramp(0.3))).sink == "usb"
    assert player.hanging == frozenset()
