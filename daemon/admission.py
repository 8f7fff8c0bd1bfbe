"""Whether an announcement is said: what came before, mute, and quiet hours."""

from __future__ import annotations

from dataclasses import dataclass

from daemon.announcement import Announcement
from daemon.clock import Clock
from daemon.mix import Mix
from daemon.quiet import SAY, Action, softened
from daemon.quiet_keeper import QuietKeeper
from daemon.repetitions import Repetitions


@dataclass(frozen=True, slots=True)
class Admitted:
    """It is said, maybe softer than was asked for."""

    announcement: Announcement


@dataclass(frozen=True, slots=True)
class Deferred:
    """It is said when the quiet hours are over.

    Attributes:
        until: in ISO 8601; None where nobody knows.
    """

    until: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """It is not said."""

    reason: str


class Admission:
    """Decides, in the order of the reasons. All calls are on the event loop.

    Args:
        clock: of repetitions.
        quiet: keeps the quiet hours; None for none.
    """

    def __init__(self, clock: Clock, quiet: QuietKeeper | None) -> None:
        self._clock = clock
        self._quiet = quiet
        self._repetitions = Repetitions()

    def is_new(self, announcement: Announcement) -> bool:
        """Whether no announcement of its id came before; it is remembered."""
        if self._repetitions.is_handled(announcement.id):
            return False
        self._repetitions.remember(announcement.id)
        return True

    def refusal(self, announcement: Announcement, mix: Mix) -> str | None:
        """Why an announcement is not accepted, or None."""
        if mix.silences(announcement):
            return "muted"
        if self._repetitions.is_said(announcement, self._clock.monotonic()):
            return "the same text was said a moment ago"
        return None

    def judge(self, announcement: Announcement) -> Admitted | Deferred | Refused:
        """What the quiet hours do with an announcement; what they defer, they keep from here on."""
        verdict = SAY if self._quiet is None else self._quiet.judge(announcement)
        if self._quiet is None or verdict.action not in (Action.DROP, Action.DEFER):
            return Admitted(softened(announcement, verdict))
        if verdict.action is Action.DROP:
            return Refused("quiet hours")
        if not self._quiet.hold(announcement):
            return Refused("quiet hours, and too many are deferred already")
        return Deferred(None if verdict.until is None else verdict.until.isoformat(timespec="seconds"))

    def not_heard(self, announcement: Announcement) -> None:
        """It was not heard after all: the same text is no repetition."""
        self._repetitions.not_heard(announcement)
