"""The service's pulse: a small file by which another process sees that it is well (a container's health check)."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from daemon.service.notify import Notifier

STALE = 90.0
"""Seconds after which a pulse that was not renewed means that the service is stuck or gone."""


def runtime_folder() -> Path:
    """What need not survive a restart: ``RUNTIME_DIRECTORY``, else the user's, else one below the temporary folder."""
    given = os.environ.get("RUNTIME_DIRECTORY")
    if given:
        return Path(given.split(":")[0])
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session:
        return Path(session) / "asagoe"
    return Path(tempfile.gettempdir()) / f"asagoe-{os.getuid()}"


def pulse_path(node: str) -> Path:
    """The file of a node."""
    return runtime_folder() / f"{node}.pulse"


class Pulse:
    """A ``Notifier`` that hands everything on to another and also writes it to the file.

    A folder that cannot be written is no reason not to speak.

    Args:
        notifier: the other one.
        node: of the service.
    """

    def __init__(self, notifier: Notifier, node: str) -> None:
        self._inner = notifier
        self._path = pulse_path(node)
        self._status = "starting"
        self._ready = False
        self._stuck: list[str] = []

    def ready(self, status: str) -> None:
        """The service can do its job."""
        self._inner.ready(status)
        self._ready, self._status = True, status
        self._write()

    def status(self, text: str) -> None:
        """How it is, in a line."""
        self._inner.status(text)
        self._status = text
        self._write()

    def reloading(self) -> None:
        """Nothing that a health check must know: it goes on speaking."""
        self._inner.reloading()

    def stopping(self) -> None:
        """The service stops on purpose: no file, no pulse."""
        self._inner.stopping()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def alive(self) -> None:
        """All parts move."""
        self._inner.alive()
        self._stuck = []
        self._write()

    def stuck(self, parts: Sequence[str]) -> None:
        """These parts do not."""
        self._inner.stuck(parts)
        self._stuck = list(parts)
        self._write()

    @property
    def watchdog(self) -> float | None:
        """Of the other one."""
        return self._inner.watchdog

    def _write(self) -> None:
        facts = {
            "pid": os.getpid(),
            "at": time.monotonic(),
            "ready": self._ready,
            "stuck": self._stuck,
            "status": self._status,
        }
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = self._path.with_name(f".{self._path.name}.part")
            part.write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")
            part.replace(self._path)


@dataclass(frozen=True, slots=True)
class Beat:
    """What a pulse says.

    Attributes:
        well: whether the service can speak now.
        text: how it is, for people.
    """

    well: bool
    text: str


def read_pulse(node: str, now: float) -> Beat:
    """How the service of a node is.

    Args:
        node: its name.
        now: of the monotonic clock, which is the same for all processes of a machine.
    """
    path = pulse_path(node)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        age, status = now - float(facts["at"]), str(facts["status"])
        ready, stuck = bool(facts["ready"]), [str(part) for part in facts["stuck"]]
    except FileNotFoundError:
        return Beat(False, f"no asagoe runs as node {node!r} here ({path} is missing)")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Beat(False, f"{path} cannot be read: {error}")
    if age > STALE or age < 0:
        return Beat(False, f"it has not shown a sign of life for {abs(age):.0f} s; its last words: {status}")
    if stuck:
        return Beat(False, f"stuck: {', '.join(stuck)}")
    return Beat(ready, status)
