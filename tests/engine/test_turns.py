"""Turns: one holder at a time, urgent ones first, nobody forgotten."""

import threading
import time

import pytest

from engine.turns import Turns, in_background, working


def queue_up(turns, names, order, *, background):
    """Threads that wait for the turn in the order of their names."""
    threads = []
    for name in names:
        before = turns.waiting

        def wait(name=name):
            turns.take(background=background)
            order.append(name)
            turns.give()

        threads.append(threading.Thread(target=wait))
        threads[-1].start()
        while turns.waiting == before:
            time.sleep(0.001)
    return threads


def test_urgent_ones_pass_the_background_and_keep_their_order():
    turns, order = Turns(), []
    assert turns.take()
    threads = queue_up(turns, ["later 1", "later 2"], order, background=True)
    threads += queue_up(turns, ["now 1", "now 2"], order, background=False)
    turns.give()
    for thread in threads:
        thread.join()
    assert order == ["now 1", "now 2", "later 1", "later 2"]
    assert turns.take(timeout=0)


def test_a_wait_ends_with_its_time_or_when_it_is_cancelled_and_the_turn_goes_on():
    turns = Turns()
    turns.take()
    begun = time.monotonic()
    assert not turns.take(timeout=0.05)
    assert 0.04 < time.monotonic() - begun < 1
    cancel = threading.Event()
    threading.Timer(0.05, cancel.set).start()
    assert not turns.take(cancel=cancel)
    assert turns.waiting == 0
    turns.give()
    assert turns.take(timeout=0)


def test_what_is_rendered_ahead_is_known_within_its_block_only():
    turns = Turns()
    with working(background=lambda: True), turns.turn():
        assert in_background()
        assert not turns.take(timeout=0)
    assert not in_background()
    assert turns.take(timeout=0)


def test_an_interrupted_wait_loses_no_turn(monkeypatch):
    turns = Turns()
    turns.take()

    def interrupt(self, timeout=None):
        turns.give()  # the turn comes in the very moment
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        turns.take()
    monkeypatch.undo()
    assert turns.take(timeout=0)


def test_under_load_one_holds_it_at_a_time_and_all_get_it():
    turns, inside, most, done = Turns(), 0, 0, 0

    def work(background):
        nonlocal inside, most, done
        for _ in range(200):
            turns.take(background=background)
            inside += 1
            most = max(most, inside)
            done += 1
            inside -= 1
            turns.give()

    threads = [threading.Thread(target=work, args=(number % 2 == 0,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, done) == (1, 1600)
