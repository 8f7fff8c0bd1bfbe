"""A sound on its way from the event loop to the player's thread, and how it ended."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from daemon.errors import PlaybackError
from engine import Audio

_log = logging.getLogger("asagoe.player")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of sound that is played in one go.

    Attributes:
        audio: what is heard.
        index: given back in the outcome, to say where a stopped playback was.
    """

    audio: Audio
    index: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a playback ended.

    Attributes:
        finished: whether it was played to its end; else it was stopped.
        index: of the last piece of which something was played, or None.
        first_sample: monotonic time of the first sample that was written after the lead-in, or None.
        ended: monotonic time at which its last sample left the device.
        seconds: of sound that was written.
        sink: the name of the sink that took it.
        audible: whether that sink can be heard.
    """

    finished: bool
    index: int | None
    first_sample: float | None
    ended: float
    seconds: float
    sink: str
    audible: bool


@dataclass(slots=True)
class Progress:
    """How far a playback has come; filled as it goes, by the thread that plays it.

    Attributes:
        index: of the last piece of which something was played.
        first_sample: monotonic time of the first sample.
        seconds: of sound that was written.
        rest: what is left of the piece under way; another thread goes on with it when this one hangs.
        gain: amplitude factor of the last block, or None.
    """

    index: int | None = None
    first_sample: float | None = None
    seconds: float = 0.0
    rest: Piece | None = None
    gain: float | None = None


class Playback:
    """A sound on its way to the player. Made by ``Player.play``; fed and stopped from the event loop."""

    def __init__(
        self,
        title: str,
        gain: Callable[[], float],
        loop: asyncio.AbstractEventLoop,
        start_at: float | None = None,
    ) -> None:
        self.title = title
        self.gain = gain
        self.start_at = start_at
        self.outcome: asyncio.Future[Outcome] = loop.create_future()
        self.started = asyncio.Event()
        self.first_sample: float | None = None
        self.progress = Progress()
        self.cut_off: str | None = None
        """Why its device was left in the middle; then only one that is heard goes on."""
        self._loop = loop
        self._pieces: deque[Piece] = deque()
        self._complete = False
        self._stopped = False
        self._changed = threading.Condition()
        self._consumed = asyncio.Event()

    async def feed(self, piece: Piece, *, ahead: int = 2) -> None:
        """Add a piece; waits while ``ahead`` pieces are waiting to be played."""
        while len(self._pieces) >= ahead and not self._stopped and not self.outcome.done():
            self._consumed.clear()
            await self._consumed.wait()
        with self._changed:
            self._pieces.append(piece)
            self._changed.notify_all()

    def complete(self) -> None:
        """No further pieces will come."""
        with self._changed:
            self._complete = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Fade out now; the outcome says where it was."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._consumed.set()

    def fail(self, error: PlaybackError) -> None:
        """End it with an error: the pieces that it waits for will not come."""
        if not self.outcome.done():
            self.outcome.set_exception(error)
        self.stop()

    @property
    def index(self) -> int | None:
        """Of the piece that is being played, or of the last one."""
        return self.progress.index

    @property
    def stopped(self) -> bool:
        """Whether a stop was asked for."""
        return self._stopped

    # The rest is called from the player's thread.

    def take(self) -> Piece | None:
        """The next piece; None when there is none yet, or no more."""
        with self._changed:
            piece = self._pieces.popleft() if self._pieces else None
        if piece is not None:
            self._tell(self._consumed.set)
        return piece

    @property
    def exhausted(self) -> bool:
        """Whether all pieces were taken and no more will come."""
        with self._changed:
            return self._complete and not self._pieces

    def wait(self, seconds: float) -> None:
        """Wait until something changes, at most so long."""
        with self._changed:
            if not self._pieces and not self._complete and not self._stopped:
                self._changed.wait(seconds)

    def begun(self, moment: float) -> None:
        """The first sample was written, at a moment of the monotonic clock."""
        self.first_sample = moment
        self._tell(self.started.set)

    def end(self, outcome: Outcome | PlaybackError) -> None:
        """Tell the event loop how it ended."""

        def settle() -> None:
            self._consumed.set()
            if self.outcome.done():
                return
            if isinstance(outcome, Outcome):
                self.outcome.set_result(outcome)
            else:
                self.outcome.set_exception(outcome)

        self._tell(settle)

    def _tell(self, action: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            _log.debug("the event loop is gone; nobody waits for %s", self.title)
