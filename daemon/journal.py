"""One line in the journal for every announcement, with what became of it and when."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from daemon import events
from daemon.announcement import Announcement
from daemon.timings import Timings

_journal = logging.getLogger("asagoe.announcement")


def write_end(
    announcement: Announcement, kind: str, reason: str | None, timings: Timings, details: Mapping[str, Any]
) -> None:
    """Write the line: ``kind`` is the type of its last event."""
    level = logging.WARNING if kind == events.FAILED else logging.INFO
    facts = {"id": announcement.id, "outcome": kind, "reason": reason, "origin": announcement.origin}
    facts |= {"priority": announcement.priority.name.lower(), "text": announcement.text}
    _journal.log(level, "announcement", extra={"facts": facts | timings.as_json() | dict(details)})
