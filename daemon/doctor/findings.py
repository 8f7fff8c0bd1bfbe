"""What a check gives, and how checks are run so that none of them disturbs another."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from daemon.config import Config


class Level(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        level: how serious it is: ``FAIL`` where something will not work, ``WARN`` where it may not.
        text: what was found.
        remedy: what to do; empty where nothing is to be done.
    """

    level: Level
    text: str
    remedy: str = ""


def ok(text: str) -> Finding:
    """All is well."""
    return Finding(Level.OK, text)


def warn(text: str, remedy: str) -> Finding:
    """It may not work."""
    return Finding(Level.WARN, text, remedy)


def fail(text: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding(Level.FAIL, text, remedy)


@dataclass(frozen=True, slots=True)
class Patient:
    """What is examined.

    Attributes:
        config: the configuration, or None where it cannot be read.
        path: its file, or None where there is none.
        play: whether a tone may be played.
        root: of the file system whose `/proc`, `/sys`, `/dev` and `/run` are looked at; `/` but in tests.
        environment: variables of the process.
        uid: of the user.
        groups: ids of all groups of the user.
    """

    config: Config | None
    path: Path | None = None
    play: bool = False
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    uid: int = field(default_factory=os.geteuid)
    groups: frozenset[int] = field(default_factory=lambda: frozenset({os.getegid(), *os.getgroups()}))

    def text(self, path: str) -> str:
        """What a file below the root holds; empty where it is not there or cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def exists(self, path: str) -> bool:
        """Whether a path below the root is there."""
        return os.path.lexists(self.root / path)

    @property
    def in_container(self) -> bool:
        """Whether this is a container, by the marks that engines leave."""
        return self.exists(".dockerenv") or self.exists("run/.containerenv") or "container" in self.environment


Check = Callable[[Patient], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Section:
    """A check under its name, with the seconds that it may take."""

    name: str
    check: Check
    timeout: float = 15.0


def examine(patient: Patient, sections: Sequence[Section]) -> Iterator[tuple[str, list[Finding]]]:
    """Run the checks one after another; one that fails or hangs gives a finding, and the next is run."""
    for section in sections:
        yield section.name, _run(section, patient)


def _run(section: Section, patient: Patient) -> list[Finding]:
    results: queue.SimpleQueue[list[Finding]] = queue.SimpleQueue()

    def work() -> None:
        found: list[Finding] = []
        try:
            found.extend(section.check(patient))
        except Exception as error:  # noqa: BLE001 - a supervisor: the other checks are run all the same
            found.append(fail(f"the check itself failed: {error!r}", "please report this as a defect"))
        results.put(found)

    # A daemon thread: a sound driver that hangs must not keep the command from ending.
    threading.Thread(target=work, name=f"doctor {section.name}", daemon=True).start()
    try:
        return results.get(timeout=section.timeout)
    except queue.Empty:
        text = f"no answer within {section.timeout:g} s"
        return [fail(text, "what is asked here hangs; restart it, or unplug and plug in the device")]
