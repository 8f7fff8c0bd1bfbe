"""The thread that plays: takes sounds from the board and writes them to a chain of sinks, block by block."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from daemon.errors import PlaybackError, SinkError
from daemon.playback import Outcome, Piece, Playback
from daemon.sinks.base import Block, Sink
from daemon.sinks.chain import SinkChain
from daemon.sinks.watch import Abandoned
from engine import Audio

_log = logging.getLogger("asagoe.player")

BLOCK = 0.020
"""Seconds that are written at once: how soon a stop, a volume change or an interruption is heard."""
FADE = 0.060
"""Seconds in which a stopped sound fades out."""
TAIL = 0.150
"""Seconds of silence after the last sample, beyond the device's latency: some devices cut what is pending."""


class Board:
    """What is to be done, shared by the player and its threads; ``changed`` guards it and tells of changes.

    Attributes:
        waiting: the sound that plays, and those that follow.
        quit: the player shuts down.
        open_until: monotonic time up to which the device is kept open.
        look_again: a device answers again: when nothing plays, the sinks are tried anew from the first one.
        others: sinks that take the place of the present ones when nothing plays, or None.
        progress: monotonic time at which something last moved.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: deque[Playback] = deque()
        self.quit = False
        self.open_until = 0.0
        self.look_again = False
        self.others: Sequence[Sink] | None = None
        self.progress = time.monotonic()


class PlayerLoop:
    """Plays what stands on the board, until it is to quit, or is abandoned because its sink hangs.

    Args:
        board: what is to be done.
        sinks: this thread's alone.
        lead_in: seconds of silence before the first sample after a device was opened.
        keep_open: seconds for which a device stays open after the last sound.
    """

    def __init__(self, board: Board, sinks: SinkChain, *, lead_in: float, keep_open: float) -> None:
        self.sinks = sinks
        self._board = board
        self._lead_in = lead_in
        self._keep_open = keep_open
        self._silence_led = 0.0
        self._last_gain = 0.0

    def run(self) -> None:
        """Play until the board says quit.

        Raises:
            Abandoned: a call to a sink returned after another thread had gone on in this one's place.
        """
        while True:
            playback = self._next()
            if playback is None:
                break
            try:
                self._play(playback)
            except Abandoned:
                raise
            except Exception as error:  # noqa: BLE001 - one of the named supervisors: the next sound is played all the same
                _log.exception("a defect while playing %s", playback.title)
                self.sinks.close()
                playback.end(PlaybackError(f"a defect: {error!r}"))
            with self._board.changed:
                self._board.waiting.popleft()
        sink = self.sinks.current
        if sink is not None and sink.continuous:
            with contextlib.suppress(SinkError):
                self._write_silence(sink.latency + TAIL)
        self.sinks.close()

    def _next(self) -> Playback | None:
        """Wait for a sound; meanwhile keep an open device supplied with silence, and close it in the end."""
        board = self._board
        while True:
            with board.changed:
                if board.quit:
                    return None
                others, board.others = board.others, None
                if others is None and board.waiting:
                    return board.waiting[0]
                idle = self.sinks.current is None and board.open_until <= time.monotonic()
                if others is None and idle:
                    board.changed.wait()
                    continue
            if others is not None:
                self.sinks.replace(others)
            else:
                self._keep_warm()

    def _keep_warm(self) -> None:
        try:
            if self._board.look_again:
                self._board.look_again = False
                self.sinks.close()
            if self.sinks.current is None:
                self._open("silence", continuous_only=True)
            if self.sinks.current is None or time.monotonic() >= self._board.open_until:
                self._rest()
            else:
                self._write_silence(BLOCK)
        except Abandoned:
            raise
        except SinkError as error:
            _log.info("%s", error)
            self._rest()
        except Exception:  # as in run  # noqa: BLE001
            _log.exception("a defect while keeping the sound device open")
            self._rest()

    def _rest(self) -> None:
        self.sinks.close()
        self._board.open_until = 0.0

    def _play(self, playback: Playback) -> None:
        try:
            if not playback.stopped:
                self._open_or_retry(playback)
                self._lead_up(playback)
                self._play_pieces(playback)
        except PlaybackError as error:
            self.sinks.close()
            playback.end(error)
            return
        sink = self.sinks.current
        ended = time.monotonic() + (sink.latency if sink else 0.0)
        name, audible = (sink.name, sink.audible) if sink else ("none", False)
        finished = not playback.stopped
        if sink is not None and sink.continuous:
            # Written by _keep_warm or by the next sound; the block in which the time is over is not written.
            tail = sink.latency + TAIL + BLOCK
            board = self._board
            board.open_until = max(board.open_until, time.monotonic() + max(self._keep_open, tail))
        else:
            self.sinks.close()
        state = playback.progress
        playback.end(Outcome(finished, state.index, state.first_sample, ended, state.seconds, name, audible))

    def _lead_up(self, playback: Playback) -> None:
        """Write silence until the moment at which the sound is to begin."""
        if playback.start_at is None:
            return
        while not playback.stopped and not self._board.quit:
            left = playback.start_at - time.monotonic()
            if left <= 0:
                return
            if self.sinks.current is not None and self.sinks.current.continuous:
                self._robust_write(playback, np.zeros(self._frames(min(BLOCK, left)), np.float32))
            else:
                time.sleep(min(BLOCK, left))
                self._moved()

    def _play_pieces(self, playback: Playback) -> None:
        gain = playback.progress.gain
        self._last_gain = playback.gain() if gain is None else gain
        while not playback.stopped and not self._board.quit:
            piece = playback.progress.rest or playback.take()
            if piece is not None:
                self._play_piece(playback, piece)
            elif playback.exhausted:
                return
            elif self.sinks.current is not None and self.sinks.current.continuous:
                self._robust_write(playback, np.zeros(self._frames(BLOCK), np.float32))
            else:
                playback.wait(0.1)
                self._moved()

    def _play_piece(self, playback: Playback, piece: Piece) -> None:
        state = playback.progress
        state.rest = piece
        rate = self.sinks.sample_rate
        samples = piece.audio.resampled(rate).samples
        state.index = piece.index
        at = 0
        while at < len(samples):
            if playback.stopped or self._board.quit:
                self._fade_out(playback, samples[at:])
                break
            step = self._frames(BLOCK)
            block = self._scaled(samples[at : at + step], playback.gain())
            self._robust_write(playback, block)
            if state.first_sample is None:
                state.first_sample = time.monotonic()
                playback.begun(state.first_sample)
            at += step
            state.seconds += len(block) / rate
            state.gain = self._last_gain
            # A view of the samples, not a copy: where another thread goes on when the next write hangs.
            state.rest = Piece(Audio(samples[at:], rate), piece.index)
            if self.sinks.sample_rate != rate:  # another sink went on: the rest at its rate
                rest = Audio(samples[at:], rate)
                rate = self.sinks.sample_rate
                samples, at = rest.resampled(rate).samples, 0
        state.rest = None

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
        rate = self.sinks.sample_rate
        for _ in range(2 * len(self.sinks) + 1):
            sink = self.sinks.current
            try:
                if sink is None:
                    self._open_or_retry(playback)
                    continue
                if sink.sample_rate != rate:
                    block, rate = Audio(block, rate).resampled(sink.sample_rate).samples, sink.sample_rate
                self.sinks.write(block)
            except SinkError as error:
                _log.warning("%s", error)
                if sink is not None:
                    self.sinks.give_up(sink)
                    if not sink.continuous:  # a file that lost its beginning is no announcement
                        raise PlaybackError(str(error)) from error
            else:
                self._moved()
                return
        message = "no sound device takes the sound"
        raise PlaybackError(message)

    def _write_silence(self, seconds: float) -> None:
        """Write silence to a continuous sink, block by block."""
        left = seconds
        while left > 0:
            self.sinks.write(np.zeros(self._frames(min(BLOCK, left)), np.float32))
            self._silence_led += BLOCK
            self._moved()
            left -= BLOCK

    def _open_or_retry(self, playback: Playback) -> None:
        """Have a sink open, with its lead-in done.

        Raises:
            PlaybackError: no sink could be opened, or none that is heard for the rest of a sound whose device hangs.
        """
        sink = self.sinks.current
        if sink is None:
            sink = self._open(playback.title)
        if sink is None:
            message = f"no sound device can be used: {self.sinks.problem or 'none is configured'}"
            raise PlaybackError(message)
        if playback.cut_off is not None and not sink.continuous:
            raise PlaybackError(playback.cut_off)
        if sink.continuous and self._silence_led < self._lead_in:
            try:
                self._write_silence(self._lead_in - self._silence_led)
            except SinkError as error:
                _log.warning("%s", error)
                self.sinks.close()

    def _open(self, title: str, *, continuous_only: bool = False) -> Sink | None:
        sink = self.sinks.open(title, impatient=lambda: self._board.quit, continuous_only=continuous_only)
        self._silence_led = 0.0
        self._moved()
        return sink

    def _moved(self) -> None:
        self._board.progress = time.monotonic()

    def _frames(self, seconds: float) -> int:
        return max(1, round(seconds * self.sinks.sample_rate))
