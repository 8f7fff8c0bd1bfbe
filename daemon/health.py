"""How the service is: versions, age, memory, speakers, the last error. For whoever watches over it."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from daemon import events
from daemon.clock import Clock
from daemon.events import Event
from engine import Speaker, __version__

PERIOD = 60.0
"""Seconds between two reports."""


class Health:
    """Gathers what a report needs.

    Args:
        clock: of the uptime.
        speakers: those that are ready, by name.
        problems: why others are not.
        failing: why those that are ready failed at their last sentence.
        audio: where sound goes.
        compute: the device that neural voices are computed on, and what is wrong with the configured one.
        counters: what happened so far.
        mqtt: how the connection to the broker is.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        speakers: Callable[[], Mapping[str, Speaker]],
        problems: Callable[[], Mapping[str, str]],
        audio: Callable[[], Mapping[str, Any]],
        counters: Callable[[], Mapping[str, int]],
        compute: Callable[[], Mapping[str, Any]] = dict,
        failing: Callable[[], Mapping[str, str]] = dict,
        mqtt: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._speakers = speakers
        self._problems = problems
        self._audio = audio
        self._counters = counters
        self._compute = compute
        self._failing = failing
        self._mqtt = mqtt
        self._last_error: tuple[datetime, Event] | None = None

    def on_event(self, event: Event) -> None:
        """Remember the last thing that went wrong."""
        if event.type in events.TROUBLE:
            self._last_error = (self._clock.now(), event)

    def report(self) -> dict[str, Any]:
        """The report, fit for JSON. Memory in MB, times in seconds or ISO 8601."""
        problems, failing = self._problems(), self._failing()
        ready = {
            name: {
                "state": "ready" if speaker.is_loaded else "resting",
                "family": speaker.family,
                "memory_mb": round(speaker.memory / 1e6, 1),
            }
            | ({"failed": failing[name]} if name in failing else {})
            for name, speaker in self._speakers().items()
        }
        missing = {name: {"state": "unavailable", "reason": reason} for name, reason in problems.items()}
        error = self._last_error
        return {
            "version": __version__,
            "python": platform.python_version(),
            "uptime_s": round(self._clock.monotonic() - self._started),
            "memory_mb": _resident(),
            "threads": threading.active_count(),
            "speakers": ready | missing,
            "audio": dict(self._audio()),
            "compute": dict(self._compute()),
            "counters": dict(self._counters()),
            "mqtt": dict(self._mqtt()),
            "last_error": error
            and {"at": error[0].isoformat(timespec="seconds"), "id": error[1].id, "reason": error[1].reason},
        }


def _resident() -> float | None:
    """Resident memory of this process in MB, where the system tells it (proc(5))."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    kilobytes = next((line.split()[1] for line in lines if line.startswith("VmRSS:")), None)
    return None if kilobytes is None else round(int(kilobytes) / 1024, 1)
