import asyncio
from datetime import UTC, datetime

from daemon.announcement import Announcement, Priority
from daemon.queue import AnnouncementQueue, Item

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def make(name, priority=Priority.NORMAL):
    return Announcement(name, name, "test", NOW, 0.0, priority)


def drain(queue):
    async def run():
        return [(await queue.get()).announcement.id for _ in range(len(queue))]

    return asyncio.run(run())


def test_order_is_by_priority_and_then_by_arrival():
    queue = AnnouncementQueue(10)
    for name, priority in (("n1", 1), ("l1", 0), ("h1", 2), ("a1", 3), ("n2", 1), ("c1", 4), ("h2", 2)):
        assert queue.put(make(name, Priority(priority))) is None
    assert [item.announcement.id for item in queue] == ["c1", "a1", "h1", "h2", "n1", "n2", "l1"]
    assert drain(queue) == ["c1", "a1", "h1", "h2", "n1", "n2", "l1"]


def test_alarms_are_not_bounded_and_neither_evict_nor_are_evicted():
    queue = AnnouncementQueue(1)
    assert queue.put(make("normal")) is None
    for name in ("a1", "a2", "a3"):
        assert queue.put(make(name, Priority.ALARM)) is None
    assert queue.put(make("critical", Priority.CRITICAL)).announcement.id == "normal"
    assert drain(queue) == ["critical", "a1", "a2", "a3"]


def test_an_interrupted_item_comes_before_its_equals_and_behind_what_cut_in():
    queue = AnnouncementQueue(10)
    queue.put(make("waiting"))
    queue.put(make("cutting in"), cut_in=True)
    queue.put_back(Item(make("interrupted"), 3))
    assert drain(queue) == ["cutting in", "interrupted", "waiting"]


def test_nested_interruptions_unwind_in_reverse():
    queue = AnnouncementQueue(10)
    queue.put_back(Item(make("first"), 1))
    queue.put_back(Item(make("second"), 1))
    assert drain(queue) == ["second", "first"]


def test_a_full_queue_refuses_the_newest_of_the_lowest_priority():
    queue = AnnouncementQueue(2)
    queue.put(make("a"))
    queue.put(make("b"))
    newcomer = make("c")
    assert queue.put(newcomer).announcement is newcomer
    assert queue.put(make("high", Priority.HIGH)).announcement.id == "b"
    assert drain(queue) == ["high", "a"]


def test_put_back_is_never_refused():
    queue = AnnouncementQueue(1)
    queue.put(make("a"))
    queue.put_back(Item(make("b"), 1))
    assert len(queue) == 2


def test_get_waits_for_an_item():
    async def scenario():
        queue = AnnouncementQueue(2)
        getting = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        assert not getting.done()
        queue.put(make("a"))
        return (await asyncio.wait_for(getting, 1)).announcement.id

    assert asyncio.run(scenario()) == "a"


def test_clear_gives_everything_back_in_order():
    queue = AnnouncementQueue(5)
    for name in "abc":
        queue.put(make(name))
    assert [item.announcement.id for item in queue.clear()] == ["a", "b", "c"]
    assert queue.peek() is None
