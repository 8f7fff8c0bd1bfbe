"""What was asked for before: ids that are handled once, and texts that are not said twice within a time."""

from __future__ import annotations

from collections import OrderedDict

from daemon.announcement import Announcement

REMEMBERED = 2000
"""So many ids are remembered, so that a message that is delivered twice is handled once."""


class Repetitions:
    """Remembers ids and texts. Times are seconds on the monotonic clock, the caller's."""

    def __init__(self) -> None:
        self._handled: OrderedDict[str, None] = OrderedDict()
        self._texts: dict[tuple[str, str | None], tuple[str, float]] = {}

    def is_handled(self, announcement_id: str) -> bool:
        """Whether an announcement of that id came before."""
        return announcement_id in self._handled

    def remember(self, announcement_id: str) -> None:
        """An announcement of that id came."""
        self._handled[announcement_id] = None
        while len(self._handled) > REMEMBERED:
            self._handled.popitem(last=False)

    def is_said(self, announcement: Announcement, now: float) -> bool:
        """Whether its text was said a moment ago, where it asks for that; else it is noted as said."""
        if not announcement.dedupe:
            return False
        self._texts = {key: said for key, said in self._texts.items() if said[1] > now}
        key = (announcement.text, announcement.speaker)
        if key in self._texts:
            return True
        self._texts[key] = (announcement.id, now + announcement.dedupe)
        return False

    def not_heard(self, announcement: Announcement) -> None:
        """It was not heard after all: the same text is no repetition."""
        key = (announcement.text, announcement.speaker)
        if self._texts.get(key, ("", 0.0))[0] == announcement.id:
            del self._texts[key]
