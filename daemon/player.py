"""Plays sound, one after another, from a thread of its own: blocking writes, never a callback.

The thread keeps a device open for a while after a sound (writing silence), so that the next one needs no lead-in and
loses no first syllable. When a device fails in the middle, it is opened again, and if that does not help, the next
sink in the list goes on at the very block that was refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daemon.errors import PlaybackError, SinkError, SinkMissingError
from daemon.sinks.base import Block, Sink
from engine import Audio

_log = logging.getLogger("asagoe.player")

BLOCK = 0.020
"""Seconds that are written at once: how soon a stop, a volume change or an interruption is heard."""
FADE = 0.060
"""Seconds in which a stopped sound fades out."""
TAIL = 0.150
"""Seconds of silence after the last sample, beyond the device's latency: some devices cut what is pending."""
RETRIES = (0.2, 0.5, 1.0)
"""Seconds before each further attempt to open a device that is busy."""
RETRY_AGAIN_AFTER = 30.0
"""A device that failed all attempts is given a single one until this many seconds later."""


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


class Playback:
    """A sound on its way to the player. Made by ``Player.play``; fed and stopped from the event loop."""

    def __init__(self, title: str, gain: Callable[[], float], loop: asyncio.AbstractEventLoop) -> None:
        self.title = title
        self.gain = gain
        self.outcome: asyncio.Future[Outcome] = loop.create_future()
        self.started = asyncio.Event()
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

    def begun(self) -> None:
        """The first sample was written."""
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


class Player:
    """Owns the sinks and the thread that writes to them.

    Args:
        sinks: tried in this order whenever a sound begins.
        lead_in: seconds of silence before the first sample after a device was opened.
        keep_open: seconds for which a device stays open after the last sound.
        on_sink: called in the player's thread when another sink is in use, or a sink fails: with its name, whether
            it can be heard, and what is wrong with the sinks before it (None when nothing is).
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        *,
        lead_in: float,
        keep_open: float,
        on_sink: Callable[[str, bool, str | None], None] = lambda *_: None,
    ) -> None:
        self._sinks = tuple(sinks)
        self._lead_in = lead_in
        self._keep_open = keep_open
        self._on_sink = on_sink
        self._reported: tuple[str, bool, str | None] | None = None
        self._sink: Sink | None = None
        self._silence_led = 0.0
        self._open_until = 0.0
        self._failed_at: dict[str, float] = {}
        self._waiting: deque[Playback] = deque()
        self._wake = threading.Condition()
        self._quit = False
        self._last_gain = 0.0
        self.progress = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    @property
    def sample_rate(self) -> int:
        """In Hz, of the sink in use or the one that will be tried first."""
        return (self._sink or self._sinks[0]).sample_rate

    @property
    def alive(self) -> bool:
        """Whether the thread runs and, when it has work, has moved within the last half minute."""
        busy = bool(self._waiting) or self._sink is not None
        return self._thread.is_alive() and not (busy and time.monotonic() - self.progress > 30.0)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def play(self, title: str, gain: Callable[[], float]) -> Playback:
        """Begin a sound; it is heard after those that were begun before.

        Args:
            title: for people and file names.
            gain: asked for each block, in the player's thread: amplitude factor, 0 or more.
        """
        playback = Playback(title, gain, asyncio.get_running_loop())
        with self._wake:
            self._waiting.append(playback)
            self._wake.notify_all()
        return playback

    def wake(self, seconds: float) -> None:
        """Open the device now and keep it open for so long: a sound that begins meanwhile needs no lead-in."""
        with self._wake:
            self._open_until = max(self._open_until, time.monotonic() + seconds)
            self._wake.notify_all()

    def shut_down(self, timeout: float = 2.0) -> None:
        """Stop whatever plays and close the sink; returns when the thread has ended or the time is over."""
        with self._wake:
            self._quit = True
            for playback in self._waiting:
                playback.stop()
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)

    # The rest runs in the player's thread.

    def _run(self) -> None:
        while True:
            playback = self._next()
            if playback is None:
                break
            self._play(playback)
            with self._wake:
                self._waiting.popleft()
        sink = self._sink
        if sink is not None and sink.continuous:
            with contextlib.suppress(SinkError):
                self._write_silence(sink.latency + TAIL)
        self._close()

    def _next(self) -> Playback | None:
        """Wait for a sound; meanwhile keep an open device supplied with silence, and close it in the end."""
        while True:
            with self._wake:
                if self._quit:
                    return None
                if self._waiting:
                    return self._waiting[0]
                idle = self._sink is None and self._open_until <= time.monotonic()
                if idle:
                    self._wake.wait()
                    continue
            self._keep_warm()

    def _keep_warm(self) -> None:
        try:
            if self._sink is None:
                self._open("silence", continuous_only=True)
            if self._sink is None or time.monotonic() >= self._open_until:
                self._close()
                self._open_until = 0.0
            else:
                self._write_silence(BLOCK)
        except SinkError as error:
            _log.info("%s", error)
            self._close()
            self._open_until = 0.0

    def _play(self, playback: Playback) -> None:
        state = _Progress()
        try:
            self._open_or_retry(playback)
            self._play_pieces(playback, state)
        except PlaybackError as error:
            self._close()
            playback.end(error)
            return
        sink = self._sink
        ended = time.monotonic() + (sink.latency if sink else 0.0)
        name, audible = (sink.name, sink.audible) if sink else ("none", False)
        finished = not playback.stopped
        if sink is not None and sink.continuous:
            tail = sink.latency + TAIL  # written by _keep_warm or by the next sound
            self._open_until = max(self._open_until, time.monotonic() + max(self._keep_open, tail))
        else:
            self._close()
        playback.end(Outcome(finished, state.index, state.first_sample, ended, state.seconds, name, audible))

    def _play_pieces(self, playback: Playback, state: _Progress) -> None:
        self._last_gain = playback.gain()
        while not playback.stopped and not self._quit:
            piece = playback.take()
            if piece is not None:
                self._play_piece(playback, piece, state)
            elif playback.exhausted:
                return
            elif self._sink is not None and self._sink.continuous:
                self._robust_write(playback, np.zeros(self._frames(BLOCK), np.float32))
            else:
                playback.wait(0.1)

    def _play_piece(self, playback: Playback, piece: Piece, state: _Progress) -> None:
        rate = self.sample_rate
        samples = piece.audio.resampled(rate).samples
        state.index = piece.index
        at = 0
        while at < len(samples):
            if playback.stopped or self._quit:
                self._fade_out(playback, samples[at:])
                return
            step = self._frames(BLOCK)
            block = self._scaled(samples[at : at + step], playback.gain())
            self._robust_write(playback, block)
            if state.first_sample is None:
                state.first_sample = time.monotonic()
                playback.begun()
            at += step
            state.seconds += len(block) / rate
            if self.sample_rate != rate:  # another sink went on: the rest at its rate
                rest = Audio(samples[at:], rate)
                rate = self.sample_rate
                samples, at = rest.resampled(rate).samples, 0

    def _fade_out(self, playback: Playback, rest: Block) -> None:
        fading = rest[: self._frames(FADE)]
        ramp = np.linspace(1.0, 0.0, len(fading), dtype=np.float32)
        self._robust_write(playback, (fading * ramp * np.float32(self._last_gain)).astype(np.float32))

    def _scaled(self, block: Block, gain: float) -> Block:
        """Apply the gain; a change is spread over the block, so that it does not click."""
        if gain == self._last_gain:
            scaled = block * np.float32(gain)
        else:
            scaled = block * np.linspace(self._last_gain, gain, len(block), dtype=np.float32)
            self._last_gain = gain
        clipped: Block = np.clip(scaled, -1.0, 1.0)
        return clipped

    def _robust_write(self, playback: Playback, block: Block) -> None:
        """Write a block; when the sink fails, find another way to write this very block."""
        rate = self.sample_rate
        for _ in range(2 * len(self._sinks) + 1):
            sink = self._sink
            try:
                if sink is None:
                    self._open_or_retry(playback)
                    continue
                if sink.sample_rate != rate:
                    block, rate = Audio(block, rate).resampled(sink.sample_rate).samples, sink.sample_rate
                sink.write(block)
            except SinkError as error:
                _log.warning("%s", error)
                if sink is not None:
                    self._failed_at.setdefault(sink.name, time.monotonic())
                self._close()
            else:
                self.progress = time.monotonic()
                return
        message = "no sound device takes the sound"
        raise PlaybackError(message)

    def _write_silence(self, seconds: float) -> None:
        """Write silence to a continuous sink, block by block."""
        assert self._sink is not None  # noqa: S101
        left = seconds
        while left > 0:
            self._sink.write(np.zeros(self._frames(min(BLOCK, left)), np.float32))
            self._silence_led += BLOCK
            self.progress = time.monotonic()
            left -= BLOCK

    def _open_or_retry(self, playback: Playback) -> None:
        """Have a sink open, with its lead-in done.

        Raises:
            PlaybackError: no sink could be opened.
        """
        sink = self._sink
        if sink is None:
            sink = self._open(playback.title)
        if sink is None:
            message = f"no sound device can be used: {self._reported[2] if self._reported else 'none is configured'}"
            raise PlaybackError(message)
        if sink.continuous and self._silence_led < self._lead_in:
            try:
                self._write_silence(self._lead_in - self._silence_led)
            except SinkError as error:
                _log.warning("%s", error)
                self._close()

    def _open(self, title: str, *, continuous_only: bool = False) -> Sink | None:
        problems: list[str] = []
        for sink in self._sinks:
            if continuous_only and not sink.continuous:
                continue
            problem = self._try(sink, title)
            if problem is None:
                self._sink = sink
                self._silence_led = 0.0
                self._report(sink.name, sink.audible, "; ".join(problems) or None)
                return sink
            problems.append(problem)
        if problems:
            spare = next((sink for sink in self._sinks if continuous_only and not sink.continuous), None)
            self._report(spare.name if spare else "none", False, "; ".join(problems))
        return None

    def _try(self, sink: Sink, title: str) -> str | None:
        """Open a sink, several times where it may help; returns what went wrong in the end."""
        failed = self._failed_at.get(sink.name)
        again = failed is None or time.monotonic() - failed > RETRY_AGAIN_AFTER
        problem = ""
        for pause in (0.0, *(RETRIES if again and sink.continuous else ())):
            time.sleep(pause)
            self.progress = time.monotonic()
            try:
                sink.open(title)
            except SinkError as error:
                problem = str(error)
                if isinstance(error, SinkMissingError) or self._quit:
                    break  # waiting does not make one appear
            else:
                self._failed_at.pop(sink.name, None)
                return None
        self._failed_at[sink.name] = time.monotonic()
        return problem

    def _report(self, name: str, audible: bool, problem: str | None) -> None:
        report = (name, audible, problem)
        if report != self._reported:
            self._reported = report
            self._on_sink(*report)

    def _close(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.close()

    def _frames(self, seconds: float) -> int:
        return max(1, round(seconds * self.sample_rate))


@dataclass(slots=True)
class _Progress:
    """How far a playback has come; filled as it goes."""

    index: int | None = None
    first_sample: float | None = None
    seconds: float = 0.0
