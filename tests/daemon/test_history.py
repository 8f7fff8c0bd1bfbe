"""The last announcements: what is remembered of them, and no more than that."""

from datetime import UTC, datetime

import numpy as np
import pytest

from daemon.announcement import Announcement
from daemon.events import Event
from daemon.history import LONGEST_TEXT, POINTS, History, Outline
from engine import Audio
from tests.fakes.clock import FakeClock

RATE = 24_000


def tone(seconds, level, rate=RATE):
    return Audio(np.full(round(seconds * rate), level, np.float32), rate)


def announcement(name, text="はい。"):
    return Announcement(name, text, "mqtt", datetime(2026, 12, 1, tzinfo=UTC), 0.0)


@pytest.fixture
def history():
    return History(FakeClock(datetime(2026, 12, 1, tzinfo=UTC)), size=3)


def test_an_outline_shows_where_a_sound_is_loud():
    outline = Outline()
    outline.add(tone(0.5, 0.25))
    outline.add(tone(0.5, -0.8, rate=48_000))  # a chime may have another rate, and a peak may be negative
    assert outline.seconds == pytest.approx(1.0)
    assert outline.points == [25] * 50 + [80] * 50


@pytest.mark.parametrize("seconds", [0.01, 1.999, 2.0, 4.5, 60.0, 3600.0])
def test_an_outline_is_bounded_whatever_the_length(seconds):
    outline = Outline()
    for _ in range(10):
        outline.add(tone(seconds / 10, 0.5, rate=1_000))
    assert 1 <= len(outline.points) <= POINTS
    assert set(outline.points) <= {50}


def test_what_is_too_loud_is_full_scale_and_nothing_has_no_points():
    outline = Outline()
    outline.add(Audio.silence(0.0, RATE))
    assert (outline.points, outline.seconds) == ([], 0.0)
    outline.add(tone(0.01, 1.0))
    assert outline.points == [100]


def test_the_story_of_an_announcement(history):
    history.on_event(Event("accepted", "a", None, {"text": "洗濯が終わりました。", "origin": "mqtt"}))
    [entry] = history.last(5)
    assert (entry["text"], entry["origin"], entry["stage"], entry["outcome"]) == (
        "洗濯が終わりました。",
        "mqtt",
        "accepted",
        None,
    )
    history.on_event(Event("started", "a", None, {"speaker": "mei"}))
    assert history.last(5)[0]["stage"] == "started"
    history.on_sound(announcement("a"), tone(0.02, 0.5))
    timings = {"rendered_ms": 40, "first_sample_ms": 60, "ended_ms": 900, "sentences": 1, "cached": 0}
    history.on_event(Event("finished", "a", None, {"speaker": "mei", "audible": True, **timings}))
    [entry] = history.last(5)
    assert (entry["outcome"], entry["speaker"], entry["audible"]) == ("finished", "mei", True)
    assert entry["timings"] == timings
    assert (entry["waveform"], entry["seconds"]) == ([50, 50], 0.02)


def test_only_the_last_are_remembered_and_the_newest_comes_first(history):
    for name in "abcde":
        history.on_event(Event("accepted", name, None, {"text": "あ" * 5000}))
    found = history.last(10)
    assert [entry["id"] for entry in found] == ["e", "d", "c"]
    assert {len(entry["text"]) for entry in found} == {LONGEST_TEXT}
    assert [entry["id"] for entry in history.last(1)] == ["e"]


def test_the_rounds_of_a_ring_are_one_entry(history):
    ring = "wake-up@20261201T064500Z/0"
    for number in range(40):
        history.on_event(Event("accepted", f"{ring}.{number}", None, {"text": "朝です。", "origin": "alarm"}))
        history.on_sound(announcement(f"{ring}.{number}"), tone(0.01, 0.5))
        history.on_event(Event("finished", f"{ring}.{number}", None, {}))
    [entry] = history.last(10)
    assert (entry["id"], entry["rounds"], entry["waveform"]) == (ring, 40, [50])


def test_what_concerns_no_announcement_is_not_in_it(history):
    for event in (Event("alarm_ringing", "wake-up"), Event("failed", None, "no JSON"), Event("done", "x")):
        history.on_event(event)
    assert history.last(10) == []


def test_what_was_accepted_before_a_restart_has_its_text(history):
    history.on_event(Event("queued", "old"))
    history.on_sound(announcement("old", "昨日のお知らせ。"), tone(0.01, 0.1))
    assert history.last(1)[0]["text"] == "昨日のお知らせ。"


def test_one_that_was_dropped_says_why(history):
    history.on_event(Event("dropped", "briefing-1", "the briefing has nothing to say"))
    assert (history.last(1)[0]["outcome"], history.last(1)[0]["reason"]) == (
        "dropped",
        "the briefing has nothing to say",
    )
