"""The bounded queue of announcements: by priority, in order within a priority."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from daemon.announcement import Announcement, Priority
from daemon.timings import Timings


@dataclass(frozen=True, slots=True)
class Item:
    """An announcement and how far it has come.

    Attributes:
        announcement: what is to be said.
        resume_at: number of the piece (sentence) to go on with, over all repeats; 0 is the beginning.
        interruptions: how often something cut in.
        timings: of what was said of it already, or None.
    """

    announcement: Announcement
    resume_at: int = 0
    interruptions: int = 0
    timings: Timings | None = None


class AnnouncementQueue:
    """Waiting announcements. For one event loop; not for threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._heap: list[_Entry] = []
        self._arrivals = itertools.count()
        self._returns = itertools.count(0, -1)
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Item]:
        """The items in the order in which they will be said."""
        return (entry[3] for entry in sorted(self._heap, key=_order))

    def put(self, announcement: Announcement, *, cut_in: bool = False, resume_at: int = 0) -> Item | None:
        """Add an announcement at the end of its priority, or at its head when it cuts in.

        Args:
            announcement: what is to be said.
            cut_in: whether it goes to the head.
            resume_at: sentence to begin with.

        Returns:
            What had to give way: when the queue is full, the newest of the lowest priority, which may be the
            announcement itself; None when there was room. Alarms are never refused, give way to nothing and take no
            place: each has one round at most here.
        """
        evicted = None
        bounded = [entry for entry in self._heap if not _is_alarm(entry[3].announcement)]
        if len(bounded) >= self.limit and not _is_alarm(announcement):
            lowest = max(bounded, key=_order)
            if lowest[3].announcement.priority >= announcement.priority:
                return Item(announcement)
            self._heap.remove(lowest)
            heapq.heapify(self._heap)
            evicted = lowest[3]
        self._push(_CUTTING_IN if cut_in else _ARRIVED, next(self._arrivals), Item(announcement, resume_at))
        return evicted

    def put_back(self, item: Item) -> None:
        """Return an interrupted item to the head of its priority, behind what cut in; never refused."""
        self._push(_INTERRUPTED, next(self._returns), item)

    async def get(self) -> Item:
        """Wait for the next item and take it."""
        while not self._heap:
            self._filled.clear()
            await self._filled.wait()
        return heapq.heappop(self._heap)[3]

    def peek(self) -> Item | None:
        """The next item, left in its place."""
        return self._heap[0][3] if self._heap else None

    def holds(self, announcement_id: str) -> bool:
        """Whether an announcement waits."""
        return any(entry[3].announcement.id == announcement_id for entry in self._heap)

    def take(self, announcement_id: str) -> Item | None:
        """Take one announcement out, wherever it stands; None when it does not wait."""
        for entry in self._heap:
            if entry[3].announcement.id == announcement_id:
                self._heap.remove(entry)
                heapq.heapify(self._heap)
                return entry[3]
        return None

    def clear(self) -> list[Item]:
        """Take everything out, in order."""
        items = list(self)
        self._heap.clear()
        return items

    def position(self, announcement: Announcement) -> int:
        """How many go before it."""
        return next((at for at, item in enumerate(self) if item.announcement is announcement), 0)

    def _push(self, lane: int, order: int, item: Item) -> None:
        heapq.heappush(self._heap, (-item.announcement.priority, lane, order, item))
        self._filled.set()


_Entry = tuple[int, int, int, Item]
_CUTTING_IN, _INTERRUPTED, _ARRIVED = range(3)
"""Lanes within a priority."""


def _is_alarm(announcement: Announcement) -> bool:
    return announcement.priority is Priority.ALARM


def _order(entry: _Entry) -> tuple[int, int, int]:
    return entry[:3]
