"""What was accepted is neither lost nor repeated by a restart."""

import asyncio
from datetime import UTC, datetime, timedelta

from daemon import events
from daemon.announcement import Announcement, Priority
from daemon.events import Event
from daemon.store import Database, Records
from daemon.waiting import Waiting
from tests.fakes.announcing import House, run
from tests.fakes.clock import FakeClock

NOW = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)


class Start:
    """One start of a service that keeps its announcements in a file."""

    def __init__(self, path, clock):
        self.clock = clock
        self.database = Database(path)
        self.database.open()
        self.records = Records(self.database)
        self.records.load()
        self.kept = Waiting(clock, self.records)

    def make(self, name, **fields):
        return Announcement(name, f"{name}です。", "mqtt", self.clock.now(), self.clock.monotonic(), **fields)


def test_what_has_not_ended_is_there_at_the_next_start_in_order(tmp_path):
    clock = FakeClock(NOW)
    first = Start(tmp_path / "db", clock)
    made = []
    for name in "abc":
        made.append(first.make(name, priority=Priority.HIGH, speaker="mei", options={"speed": 1.2}, max_wait=600.0))
        first.kept.add(made[-1])
        clock.advance(1)
    first.kept.begin(made[0], 0)
    first.kept.on_event(Event(events.STARTED, "a"))
    first.kept.on_event(Event(events.FINISHED, "b"))
    first.database.close()
    clock.advance(60)
    again = Start(tmp_path / "db", clock)
    restored = again.kept.restore()
    assert [(a.id, a.text, resume_at) for a, resume_at in restored] == [("a", "aです。", 0), ("c", "cです。", 0)]
    announcement = restored[1][0]
    assert (announcement.priority, announcement.speaker, dict(announcement.options)) == (
        Priority.HIGH,
        "mei",
        {"speed": 1.2},
    )
    assert announcement.received == made[2].received
    assert not announcement.expired(clock.now(), clock.monotonic())
    clock.advance(540)
    assert announcement.expired(clock.now(), clock.monotonic())  # the time that the service was away counts
    again.database.close()


def test_what_was_being_said_goes_on_at_its_sentence(tmp_path):
    clock = FakeClock(NOW)
    first = Start(tmp_path / "db", clock)
    a = first.make("a", expires=NOW + timedelta(hours=1))
    first.kept.add(a)
    first.kept.begin(a, 0)
    assert first.kept.leave(a, 3)
    assert not first.kept.leave(first.make("never accepted"), 0)
    first.database.close()
    again = Start(tmp_path / "db", clock)
    ((restored, resume_at),) = again.kept.restore()
    assert (restored.id, restored.expires, resume_at) == ("a", NOW + timedelta(hours=1), 3)
    again.database.close()


def test_what_kills_the_service_again_and_again_is_given_up(tmp_path):
    clock = FakeClock(NOW)
    start = Start(tmp_path / "db", clock)
    start.kept.add(start.make("poison"))
    for _ in range(3):
        ((restored, _),) = start.kept.restore()
        start.kept.begin(restored, 0)
        start.database.close()
        start = Start(tmp_path / "db", clock)
    assert start.kept.restore() == []
    assert dict(start.records.all("waiting")) == {}
    start.database.close()


def test_what_cannot_be_understood_is_left_out(tmp_path):
    start = Start(tmp_path / "db", FakeClock(NOW))
    for name, value in (("a", {}), ("b", {"announcement": {}, "attempts": 0, "resume_at": 0}), ("c", [])):
        start.records.put("waiting", name, value)
    assert start.kept.restore() == []
    assert dict(start.records.all("waiting")) == {}
    start.database.close()


def test_an_announcer_that_stops_leaves_what_waits_to_the_next(tmp_path):
    async def scenario():
        database = Database(tmp_path / "db")
        database.open()
        records = Records(database)
        async with asyncio.timeout(20), House(tmp_path) as house:
            kept = Waiting(house.clock, records)
            house.announcer._kept = kept
            house.bus.listen(kept.on_event)
            done = house.say("済んだ。")
            await house.until("finished", done)
            current = house.say("一つ目の文です。二つ目の文です。三つ目の文です。")
            waiting = house.say("待っている。")
            await house.until("started", current)
            while house.announcer._current.position < 1:
                await asyncio.sleep(0.01)
            house.announcer.shut_down()
            assert set(records.all("waiting")) == {current, waiting}
            assert "dropped" not in house.story(current) + house.story(waiting)
        restored = kept.restore()
        assert [(a.id, resume_at) for a, resume_at in restored] == [(current, 1), (waiting, 0)]
        async with House(tmp_path) as house:
            for announcement, resume_at in restored:
                house.announcer.restore(announcement, resume_at)
            await house.ended(current, waiting)
            assert house.story(current) == ["queued", "started", "finished"]
            house.announcer.submit(restored[0][0])  # the broker delivers it once more
            assert house.announcer.counters["duplicates"] == 1
            # Two of three sentences, and the one that waited.
            assert len(house.sink.sound()) / 24_000 < 2.0
        database.close()

    run(scenario())
