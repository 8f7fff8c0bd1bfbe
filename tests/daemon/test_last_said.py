from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from daemon import events
from daemon.events import Event
from daemon.last_said import LastSaid
from tests.fakes.clock import FakeClock


def test_the_last_that_began_is_told_with_how_it_ended_and_alarms_are_not():
    last = LastSaid(FakeClock(datetime(2026, 12, 1, 0, 0, tzinfo=UTC)), ZoneInfo("Asia/Tokyo"))
    assert last.snapshot() == {"last_announcement": None}
    last.on_event(Event(events.ACCEPTED, "a", None, {"text": "はい。", "origin": "mqtt"}))
    last.on_event(Event(events.ACCEPTED, "ring", None, {"text": "おはよう。", "origin": "alarm"}))
    last.on_event(Event(events.STARTED, "a", None, {"speaker": "mei"}))
    last.on_event(Event(events.STARTED, "ring", None, {"speaker": "mei"}))
    told = {"id": "a", "text": "はい。", "origin": "mqtt", "at": "2026-12-01T09:00:00+09:00", "speaker": "mei"}
    assert last.snapshot()["last_announcement"] == told | {"outcome": None, "rendered_ms": None}
    last.on_event(Event(events.FINISHED, "a", None, {"rendered_ms": 61}))
    last.on_event(Event(events.FAILED, None, "x"))
    assert last.snapshot()["last_announcement"] == told | {"outcome": "finished", "rendered_ms": 61}


def test_one_that_was_never_heard_is_not_the_last():
    last = LastSaid(FakeClock(datetime(2026, 12, 1, tzinfo=UTC)), ZoneInfo("Asia/Tokyo"))
    last.on_event(Event(events.ACCEPTED, "a", None, {"text": "はい。", "origin": "mqtt"}))
    last.on_event(Event(events.DROPPED, "a", "muted"))
    assert last.snapshot() == {"last_announcement": None}
