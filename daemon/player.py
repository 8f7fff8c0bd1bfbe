"""Plays sound, one after another, from a thread of its own: blocking writes, never a callback.

The thread (``PlayerLoop``) keeps a device open for a while after a sound (writing silence), so that the next one needs
no lead-in and loses no first syllable. When a device fails in the middle, it is opened again, and if that does not
help, the next sink in the list goes on at the very block that was refused.

When a device hangs, so that a call to it does not return, its thread is abandoned and another one goes on at that very
block with the other sinks. The device is tried again once the call has returned. So no device holds more than one
thread, and a device that never answers again is never waited for again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from daemon.playback import Outcome, Playback
from daemon.player_loop import Board, PlayerLoop
from daemon.sinks.base import Sink
from daemon.sinks.chain import Report, SinkChain, hangs
from daemon.sinks.watch import TICK, Abandoned

_log = logging.getLogger("asagoe.player")

PATIENCE = 3.0
"""Seconds, beyond what its buffer holds, after which a call to a device that has not returned is taken to hang."""
STUCK = 30.0
"""Seconds without a move, with work to do, after which the player is not alive."""
_STOP_PATIENCE = 0.5
"""Seconds that a stop or the end of the service waits for a call that does not return."""


class Player:
    """Owns the sinks and the threads that write to them.

    Args:
        sinks: tried in this order whenever a sound begins.
        lead_in: seconds of silence before the first sample after a device was opened.
        keep_open: seconds for which a device stays open after the last sound.
        on_sink: see ``SinkChain``; called in the player's thread.
        on_hang: called with a sentence when a device hangs, in a thread of the player.
        patience: seconds after which a call to a device that has not returned is taken to hang, beyond what the
            device's buffer holds.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        *,
        lead_in: float,
        keep_open: float,
        on_sink: Report = lambda *_: None,
        on_hang: Callable[[str], None] = lambda _: None,
        patience: float = PATIENCE,
    ) -> None:
        self._board = Board()
        self._on_hang = on_hang
        self._patience = patience
        self._hanging: set[str] = set()
        self._make_loop = partial(PlayerLoop, self._board, lead_in=lead_in, keep_open=keep_open)
        self._loop = self._make_loop(SinkChain(sinks, on_sink, self._hanging))
        self._thread = self._new_thread()
        self._guard = threading.Thread(target=self._watch, name="player guard", daemon=True)
        self._ended = threading.Event()

    @property
    def sample_rate(self) -> int:
        """In Hz, of the sink in use or the one that will be tried first."""
        return self._loop.sinks.sample_rate

    @property
    def alive(self) -> bool:
        """Whether its threads run and, when there is work, something has moved within the last half minute."""
        busy = bool(self._board.waiting) or self._loop.sinks.current is not None
        stuck = busy and time.monotonic() - self._board.progress > STUCK
        return self._thread.is_alive() and self._guard.is_alive() and not stuck

    @property
    def hanging(self) -> frozenset[str]:
        """The names of the devices that hang, each with a thread that waits for it."""
        return frozenset(self._hanging)

    def start(self) -> None:
        """Start the threads."""
        self._thread.start()
        self._guard.start()

    def play(self, title: str, gain: Callable[[], float], start_at: float | None = None) -> Playback:
        """Begin a sound; it is heard after those that were begun before.

        Args:
            title: for people and file names.
            gain: asked for each block, in the player's thread: amplitude factor, 0 or more.
            start_at: moment of the monotonic clock before which no sample of it is written, only silence.
        """
        playback = Playback(title, gain, asyncio.get_running_loop(), start_at)
        board = self._board
        with board.changed:
            if not board.waiting:
                board.progress = time.monotonic()  # it was idle until now, not stuck
            board.waiting.append(playback)
            board.changed.notify_all()
        return playback

    def wake(self, seconds: float) -> None:
        """Open the device now and keep it open for so long: a sound that begins meanwhile needs no lead-in."""
        board = self._board
        with board.changed:
            board.open_until = max(board.open_until, time.monotonic() + seconds)
            board.changed.notify_all()

    def use(self, sinks: Sequence[Sink]) -> None:
        """Use other sinks, from the next sound on; the device is opened at once to find out whether it can be."""
        board = self._board
        with board.changed:
            board.others = tuple(sinks)
            board.open_until = max(board.open_until, time.monotonic() + 0.1)
            board.changed.notify_all()

    def shut_down(self, timeout: float = 2.0) -> None:
        """Stop whatever plays and close the sink.

        Returns when the thread has ended, the time is over, or it hangs in its device: nobody waits for that.
        """
        board = self._board
        with board.changed:
            board.quit = True
            for playback in board.waiting:
                playback.stop()
            board.changed.notify_all()
        deadline = time.monotonic() + timeout
        while self._thread.is_alive() and time.monotonic() < deadline:
            self._thread.join(TICK)
            if self._loop.sinks.watch.late > _STOP_PATIENCE:
                _log.warning("the sound device does not answer; nobody waits for it")
                break
        self._ended.set()
        if self._guard.is_alive():
            self._guard.join(1.0)

    # The guard's thread.

    def _watch(self) -> None:
        """Look at the call in which the thread is, until the player has shut down."""
        while not self._ended.wait(TICK):
            watch = self._loop.sinks.watch
            watch.look()
            if watch.late > _STOP_PATIENCE:
                self._settle_stopped()
            if not self._board.quit:
                self._go_on_without(watch.abandon(self._patience))

    def _settle_stopped(self) -> None:
        """Tell whoever stopped a sound that it has ended, though its device does not answer."""
        with self._board.changed:
            stopped = [playback for playback in self._board.waiting if playback.stopped]
        for playback in stopped:
            state = playback.progress
            now = time.monotonic()
            playback.end(Outcome(False, state.index, state.first_sample, now, state.seconds, "none", False))

    def _go_on_without(self, sink: Sink | None) -> None:
        """Let another thread do the work of the one that hangs in a sink."""
        if sink is None:
            return
        problem = hangs(sink.name)
        _log.error("%s: a call to it has not returned; going on without it", problem)
        self._hanging.add(sink.name)
        board = self._board
        with board.changed:
            if board.waiting and board.waiting[0].progress.first_sample is not None:
                board.waiting[0].cut_off = problem
            board.open_until = max(board.open_until, time.monotonic() + TICK)  # find out where sound goes now
            board.progress = time.monotonic()
        self._loop = self._make_loop(self._loop.sinks.after_hang(sink))
        self._thread = self._new_thread()
        self._thread.start()
        self._on_hang(problem)

    # The player's threads.

    def _new_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, args=(self._loop,), name="player", daemon=True)

    def _run(self, loop: PlayerLoop) -> None:
        try:
            loop.run()
        except Abandoned:
            self._came_back(loop.sinks)

    def _came_back(self, sinks: SinkChain) -> None:
        """A call to a device returned after all, and this thread is no longer the player's: close it and end."""
        sink = sinks.watch.hung
        if sink is None:
            return
        sink.close()
        self._hanging.discard(sink.name)
        _log.info("the sound device %r answers again", sink.name)
        self._board.look_again = True
        self.wake(TICK)  # find out whether it can be used, so that the state is true again
