import asyncio
import time

import numpy as np
import pytest

from daemon.errors import PlaybackError
from daemon.playback import Piece
from daemon.player import Player
from daemon.player_loop import FADE
from engine import Audio
from tests.fakes.sinks import MemorySink

RATE = 48_000


def tone(seconds, rate=RATE, amplitude=0.5):
    t = np.arange(round(seconds * rate)) / rate
    return Audio((amplitude * np.sin(2 * np.pi * 1000 * t)).astype(np.float32), rate)


@pytest.fixture
def make_player():
    made = []

    def make(*sinks, lead_in=0.0, keep_open=0.0, **options):
        player = Player(sinks, lead_in=lead_in, keep_open=keep_open, **options)
        player.start()
        made.append(player)
        return player

    yield make
    for player in made:
        player.shut_down()


async def play(player, *pieces, gain=lambda: 1.0, title="t"):
    playback = player.play(title, gain)
    for piece in pieces:
        await playback.feed(piece)
    playback.complete()
    return await asyncio.wait_for(playback.outcome, 10)


def test_every_sample_arrives_once_and_in_order(make_player):
    sink = MemorySink()
    sound = tone(0.5)
    outcome = asyncio.run(play(make_player(sink), Piece(sound, 0), Piece(sound, 1)))
    assert outcome.finished
    assert outcome.index == 1
    assert outcome.seconds == pytest.approx(1.0)
    expected = np.concatenate([sound.samples, sound.samples])
    assert np.array_equal(sink.samples[: len(expected)], expected)


def test_pieces_follow_each_other_without_a_gap(make_player):
    sink = MemorySink()
    flat = Audio(np.full(4801, 0.25, np.float32), RATE)  # a length that fills no block
    asyncio.run(play(make_player(sink), Piece(flat, 0), Piece(flat, 1), Piece(flat, 2)))
    assert np.array_equal(sink.sound(), np.full(3 * 4801, 0.25, np.float32))


def test_a_device_that_was_closed_gets_its_lead_in_and_one_that_is_open_does_not(make_player):
    sink = MemorySink(paced=True)
    player = make_player(sink, lead_in=0.1, keep_open=0.5)
    asyncio.run(play(player, Piece(tone(0.05), 0)))
    first = np.flatnonzero(sink.samples)[0]
    assert first == pytest.approx(0.1 * RATE, abs=RATE * 0.021)
    before = len(sink.samples)
    started = time.monotonic()
    outcome = asyncio.run(play(player, Piece(tone(0.05), 0)))
    assert outcome.first_sample - started < 0.08
    assert sink.opened == ["t"]
    assert np.flatnonzero(sink.samples[before:])[0] < 0.08 * RATE


def test_a_device_is_closed_after_it_was_idle_and_its_tail_is_written(make_player):
    sink = MemorySink(paced=True)
    player = make_player(sink, keep_open=0.1)
    asyncio.run(play(player, Piece(tone(0.05), 0)))
    time.sleep(0.5)
    assert not sink.is_open
    assert len(sink.samples) >= (0.05 + 0.15) * RATE


def test_waking_opens_the_device_beforehand(make_player):
    sink = MemorySink(paced=True)
    player = make_player(sink, lead_in=0.2)
    player.wake(2.0)
    time.sleep(0.4)
    started = time.monotonic()
    outcome = asyncio.run(play(player, Piece(tone(0.05), 0)))
    assert outcome.first_sample - started < 0.08


@pytest.mark.parametrize("rate", [24_000, 44_100])
def test_other_rates_are_converted(make_player, rate):
    sink = MemorySink()
    asyncio.run(play(make_player(sink), Piece(tone(0.5, rate), 0)))
    assert len(sink.sound()) == pytest.approx(0.5 * RATE, rel=0.01)
    spectrum = np.abs(np.fft.rfft(sink.sound()))
    assert np.fft.rfftfreq(len(sink.sound()), 1 / RATE)[spectrum.argmax()] == pytest.approx(1000, abs=5)


def test_a_stop_fades_out_and_says_where_it_was(make_player):
    sink = MemorySink(paced=True)

    async def scenario():
        playback = make_player(sink).play("t", lambda: 1.0)
        await playback.feed(Piece(tone(0.1), 0))
        await playback.feed(Piece(tone(5.0), 1))
        playback.complete()
        await asyncio.sleep(0.4)
        asked = time.monotonic()
        playback.stop()
        outcome = await playback.outcome
        return outcome, outcome.ended - asked

    outcome, took = asyncio.run(scenario())
    assert not outcome.finished
    assert outcome.index == 1
    assert took < FADE + 0.1
    end = sink.sound()[-round(FADE * RATE) :]
    assert np.abs(end[-200:]).max() < 0.05
    assert np.abs(np.diff(sink.sound())).max() < 0.1  # a tone of 1 kHz at 0.5 moves by 0.065 a sample: no click


def test_gain_is_applied_and_changes_without_a_click(make_player):
    sink = MemorySink(paced=True)
    gain = 1.0

    async def scenario():
        nonlocal gain
        playback = make_player(sink).play("t", lambda: gain)
        await playback.feed(Piece(Audio(np.full(RATE, 0.5, np.float32), RATE), 0))
        playback.complete()
        await asyncio.sleep(0.3)
        gain = 0.0
        await playback.outcome

    asyncio.run(scenario())
    sound = sink.sound(1e-7)
    assert sound[0] == 0.5
    assert len(sound) < 0.9 * RATE  # the rest of the second is silent
    assert np.abs(np.diff(sound)).max() < 0.002


def test_nothing_is_clipped_by_more_than_full_scale(make_player):
    sink = MemorySink()
    asyncio.run(play(make_player(sink), Piece(tone(0.1), 0), gain=lambda: 4.0))
    assert np.abs(sink.samples).max() == 1.0


def test_a_device_that_breaks_in_the_middle_is_opened_again_and_loses_nothing(make_player):
    sink = MemorySink()
    sink.fails_after = 10_000
    sound = tone(0.5)
    outcome = asyncio.run(play(make_player(sink), Piece(sound, 0)))
    assert outcome.finished
    assert sink.opened == ["t", "t"]
    assert np.array_equal(
        sink.sound(), sound.samples[1:] if sound.samples[0] == 0 else sound.samples
    ) or np.array_equal(sink.samples[: len(sound.samples)], sound.samples)


def test_the_next_sink_goes_on_where_the_first_one_broke(make_player):
    reports = []
    broken, spare = MemorySink("usb"), MemorySink("spare", sample_rate=24_000)
    broken.fails_after = 9600
    broken.vanishes = True
    player = make_player(broken, spare, on_sink=lambda *report: reports.append(report))

    outcome = asyncio.run(play(player, Piece(tone(0.5), 0)))
    assert outcome.finished
    assert outcome.sink == "spare"
    heard = len(broken.samples) / RATE + len(spare.sound()) / 24_000
    assert heard == pytest.approx(0.5, abs=0.01)
    assert reports[0] == ("usb", True, None)
    assert reports[-1][:2] == ("spare", True)
    assert "there is no sound device 'usb'" in reports[-1][2]


def test_a_busy_device_is_tried_again(make_player):
    sink, spare = MemorySink("usb"), MemorySink("spare")
    sink.busy = 2
    assert asyncio.run(play(make_player(sink, spare), Piece(tone(0.1), 0))).sink == "usb"


def test_without_any_device_files_are_written_and_it_is_said_once(make_player):
    reports = []
    device, files = MemorySink("usb"), MemorySink("folder", continuous=False)
    device.missing = True
    player = make_player(device, files, on_sink=lambda *report: reports.append(report))
    for title in ("a", "b"):
        outcome = asyncio.run(play(player, Piece(tone(0.1), 0), title=title))
        assert (outcome.sink, outcome.audible) == ("folder", False)
    assert files.opened == ["a", "b"]
    assert files.closed == 2
    assert len(reports) == 1


def test_a_device_that_appears_is_used_from_then_on(make_player):
    device, files = MemorySink("usb"), MemorySink("folder", continuous=False)
    device.missing = True
    player = make_player(device, files)
    assert asyncio.run(play(player, Piece(tone(0.1), 0))).sink == "folder"
    device.missing = False
    assert asyncio.run(play(player, Piece(tone(0.1), 0))).sink == "usb"


def test_when_no_sink_can_be_used_it_fails_with_the_reason_and_the_next_sound_is_tried(make_player):
    sink = MemorySink("usb")
    sink.missing = True
    player = make_player(sink)
    with pytest.raises(PlaybackError, match="there is no sound device 'usb'"):
        asyncio.run(play(player, Piece(tone(0.1), 0)))
    sink.missing = False
    assert asyncio.run(play(player, Piece(tone(0.1), 0))).finished


def test_while_the_next_piece_is_late_silence_is_written(make_player):
    sink = MemorySink(paced=True)

    async def scenario():
        playback = make_player(sink).play("t", lambda: 1.0)
        await playback.feed(Piece(tone(0.1), 0))
        await asyncio.sleep(0.4)
        await playback.feed(Piece(tone(0.1), 1))
        playback.complete()
        return await playback.outcome

    assert asyncio.run(scenario()).finished
    gap = np.flatnonzero(np.diff(np.flatnonzero(np.abs(sink.samples) > 0.01)) > 2000)
    assert len(gap) == 1


def test_shutting_down_ends_a_sound_within_a_moment(make_player):
    sink = MemorySink(paced=True)
    player = make_player(sink)

    async def scenario():
        playback = player.play("t", lambda: 1.0)
        await playback.feed(Piece(tone(30.0), 0))
        await playback.started.wait()

    asyncio.run(scenario())
    before = time.monotonic()
    player.shut_down()
    assert time.monotonic() - before < 1.0
    assert not sink.is_open


def test_other_sinks_take_the_next_sound_and_the_old_one_is_closed(make_player):
    async def scenario():
        old, new = MemorySink("old"), MemorySink("new", sample_rate=24_000)
        told = []
        player = make_player(old, keep_open=5.0, on_sink=lambda *report: told.append(report))
        await play(player, Piece(tone(0.1), 0))
        player.use([new, old])
        outcome = await play(player, Piece(tone(0.1), 0))
        assert outcome.sink == "new"
        assert (old.closed, np.abs(new.samples).max() > 0.4) == (1, True)
        assert told == [("old", True, None), ("new", True, None)]

    asyncio.run(scenario())


def test_the_sound_that_plays_ends_where_it_began_when_other_sinks_are_named(make_player):
    async def scenario():
        old, new = MemorySink("old", paced=True), MemorySink("new")
        player = make_player(old)
        playback = player.play("t", lambda: 1.0)
        await playback.feed(Piece(tone(0.4), 0))
        await asyncio.sleep(0.1)
        player.use([new])
        playback.complete()
        outcome = await asyncio.wait_for(playback.outcome, 10)
        assert (outcome.finished, outcome.sink, outcome.seconds) == (True, "old", pytest.approx(0.4))

    asyncio.run(scenario())


def test_a_chosen_sink_that_cannot_be_opened_leaves_the_sound_to_the_next(make_player):
    async def scenario():
        chosen, configured = MemorySink("chosen"), MemorySink("configured")
        chosen.missing = True
        player = make_player(MemorySink("first"))
        player.use([chosen, configured])
        assert (await play(player, Piece(tone(0.1), 0))).sink == "configured"

    asyncio.run(scenario())
