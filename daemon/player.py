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

from daemon.errors import PlaybackError, SinkError
from daemon.playback import Outcome, Piece, Playback
from daemon.sinks.base import Block, Sink
from daemon.sinks.chain import Report, SinkChain
from engine import Audio

_log = logging.getLogger("asagoe.player")

BLOCK = 0.020
"""Seconds that are written at once: how soon a stop, a volume change or an interruption is heard."""
FADE = 0.060
"""Seconds in which a stopped sound fades out."""
TAIL = 0.150
"""Seconds of silence after the last sample, beyond the device's latency: some devices cut what is pending."""


class Player:
    """Owns the sinks and the thread that writes to them.

    Args:
        sinks: tried in this order whenever a sound begins.
        lead_in: seconds of silence before the first sample after a device was opened.
        keep_open: seconds for which a device stays open after the last sound.
        on_sink: see ``SinkChain``; called in the player's thread.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        *,
        lead_in: float,
        keep_open: float,
        on_sink: Report = lambda *_: None,
    ) -> None:
        self._sinks = SinkChain(sinks, on_sink)
        self._lead_in = lead_in
        self._keep_open = keep_open
        self._silence_led = 0.0
        self._open_until = 0.0
        self._waiting: deque[Playback] = deque()
        self._wake = threading.Condition()
        self._quit = False
        self._others: Sequence[Sink] | None = None
        self._last_gain = 0.0
        self.progress = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    @property
    def sample_rate(self) -> int:
        """In Hz, of the sink in use or the one that will be tried first."""
        return self._sinks.sample_rate

    @property
    def alive(self) -> bool:
        """Whether the thread runs and, when it has work, has moved within the last half minute."""
        busy = bool(self._waiting) or self._sinks.current is not None
        return self._thread.is_alive() and not (busy and time.monotonic() - self.progress > 30.0)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def play(self, title: str, gain: Callable[[], float], start_at: float | None = None) -> Playback:
        """Begin a sound; it is heard after those that were begun before.

        Args:
            title: for people and file names.
            gain: asked for each block, in the player's thread: amplitude factor, 0 or more.
            start_at: moment of the monotonic clock before which no sample of it is written, only silence.
        """
        playback = Playback(title, gain, asyncio.get_running_loop(), start_at)
        with self._wake:
            if not self._waiting:
                self.progress = time.monotonic()  # it was idle until now, not stuck
            self._waiting.append(playback)
            self._wake.notify_all()
        return playback

    def wake(self, seconds: float) -> None:
        """Open the device now and keep it open for so long: a sound that begins meanwhile needs no lead-in."""
        with self._wake:
            self._open_until = max(self._open_until, time.monotonic() + seconds)
            self._wake.notify_all()

    def use(self, sinks: Sequence[Sink]) -> None:
        """Use other sinks, from the next sound on; the device is opened at once to find out whether it can be."""
        with self._wake:
            self._others = tuple(sinks)
            self._open_until = max(self._open_until, time.monotonic() + 0.1)
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
            try:
                self._play(playback)
            except Exception as error:  # noqa: BLE001 - one of the named supervisors: the next sound is played all the same
                _log.exception("a defect while playing %s", playback.title)
                self._sinks.close()
                playback.end(PlaybackError(f"a defect: {error!r}"))
            with self._wake:
                self._waiting.popleft()
        sink = self._sinks.current
        if sink is not None and sink.continuous:
            with contextlib.suppress(SinkError):
                self._write_silence(sink.latency + TAIL)
        self._sinks.close()

    def _next(self) -> Playback | None:
        """Wait for a sound; meanwhile keep an open device supplied with silence, and close it in the end."""
        while True:
            with self._wake:
                if self._quit:
                    return None
                if self._others is not None:
                    self._sinks.replace(self._others)
                    self._others = None
                if self._waiting:
                    return self._waiting[0]
                idle = self._sinks.current is None and self._open_until <= time.monotonic()
                if idle:
                    self._wake.wait()
                    continue
            self._keep_warm()

    def _keep_warm(self) -> None:
        try:
            if self._sinks.current is None:
                self._open("silence", continuous_only=True)
            if self._sinks.current is None or time.monotonic() >= self._open_until:
                self._rest()
            else:
                self._write_silence(BLOCK)
        except SinkError as error:
            _log.info("%s", error)
            self._rest()
        except Exception:  # as in _run  # noqa: BLE001
            _log.exception("a defect while keeping the sound device open")
            self._rest()

    def _rest(self) -> None:
        self._sinks.close()
        self._open_until = 0.0

    def _play(self, playback: Playback) -> None:
        state = _Progress()
        try:
            self._open_or_retry(playback)
            self._lead_up(playback)
            self._play_pieces(playback, state)
        except PlaybackError as error:
            self._sinks.close()
            playback.end(error)
            return
        sink = self._sinks.current
        ended = time.monotonic() + (sink.latency if sink else 0.0)
        name, audible = (sink.name, sink.audible) if sink else ("none", False)
        finished = not playback.stopped
        if sink is not None and sink.continuous:
            # Written by _keep_warm or by the next sound; the block in which the time is over is not written.
            tail = sink.latency + TAIL + BLOCK
            self._open_until = max(self._open_until, time.monotonic() + max(self._keep_open, tail))
        else:
            self._sinks.close()
        playback.end(Outcome(finished, state.index, state.first_sample, ended, state.seconds, name, audible))

    def _lead_up(self, playback: Playback) -> None:
        """Write silence until the moment at which the sound is to begin."""
        if playback.start_at is None:
            return
        while not playback.stopped and not self._quit:
            left = playback.start_at - time.monotonic()
            if left <= 0:
                return
            if self._sinks.current is not None and self._sinks.current.continuous:
                self._robust_write(playback, np.zeros(self._frames(min(BLOCK, left)), np.float32))
            else:
                time.sleep(min(BLOCK, left))
                self.progress = time.monotonic()

    def _play_pieces(self, playback: Playback, state: _Progress) -> None:
        self._last_gain = playback.gain()
        while not playback.stopped and not self._quit:
            piece = playback.take()
            if piece is not None:
                self._play_piece(playback, piece, state)
            elif playback.exhausted:
                return
            elif self._sinks.current is not None and self._sinks.current.continuous:
                self._robust_write(playback, np.zeros(self._frames(BLOCK), np.float32))
            else:
                playback.wait(0.1)
                self.progress = time.monotonic()

    def _play_piece(self, playback: Playback, piece: Piece, state: _Progress) -> None:
        rate = self.sample_rate
        samples = piece.audio.resampled(rate).samples
        state.index = playback.index = piece.index
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
                playback.begun(state.first_sample)
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
            sink = self._sinks.current
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
                    self._sinks.give_up(sink)
                    if not sink.continuous:  # a file that lost its beginning is no announcement
                        raise PlaybackError(str(error)) from error
            else:
                self.progress = time.monotonic()
                return
        message = "no sound device takes the sound"
        raise PlaybackError(message)

    def _write_silence(self, seconds: float) -> None:
        """Write silence to a continuous sink, block by block."""
        assert self._sinks.current is not None  # noqa: S101
        left = seconds
        while left > 0:
            self._sinks.current.write(np.zeros(self._frames(min(BLOCK, left)), np.float32))
            self._silence_led += BLOCK
            self.progress = time.monotonic()
            left -= BLOCK

    def _open_or_retry(self, playback: Playback) -> None:
        """Have a sink open, with its lead-in done.

        Raises:
            PlaybackError: no sink could be opened.
        """
        sink = self._sinks.current
        if sink is None:
            sink = self._open(playback.title)
        if sink is None:
            message = f"no sound device can be used: {self._sinks.problem or 'none is configured'}"
            raise PlaybackError(message)
        if sink.continuous and self._silence_led < self._lead_in:
            try:
                self._write_silence(self._lead_in - self._silence_led)
            except SinkError as error:
                _log.warning("%s", error)
                self._sinks.close()

    def _open(self, title: str, *, continuous_only: bool = False) -> Sink | None:
        sink = self._sinks.open(title, impatient=lambda: self._quit, continuous_only=continuous_only)
        self._silence_led = 0.0
        self.progress = time.monotonic()
        return sink

    def _frames(self, seconds: float) -> int:
        return max(1, round(seconds * self.sample_rate))


@dataclass(slots=True)
class _Progress:
    """How far a playback has come; filled as it goes."""

    index: int | None = None
    first_sample: float | None = None
    seconds: float = 0.0
