"""A voice whose sound can be predicted: each character is 50 ms of a tone."""

from __future__ import annotations

import threading
import time

import numpy as np

from engine import Audio, InvalidOptionError, SpeechOptions
from engine.text import Sentence
from engine.voices.base import Rendered


class ToneVoice:
    family = "tone"
    sample_rate = 24_000
    styles = ("Normal", "Happy")
    options = frozenset({"speed", "seed"})
    fingerprint = "tone 1"

    def __init__(self) -> None:
        self.spoken: list[str] = []
        self.may_speak = threading.Event()
        self.may_speak.set()
        self.delay = 0.0
        self.error: Exception | None = None
        self.refused: str | None = None
        self.closed = 0

    def check(self, options: SpeechOptions) -> None:
        if self.refused is not None and getattr(options, self.refused) is not None:
            raise InvalidOptionError(f"{self.refused} is refused")

    def synthesize(self, sentence: Sentence, options: SpeechOptions) -> Rendered:
        self.may_speak.wait(30)
        time.sleep(self.delay)
        if self.error is not None:
            raise self.error
        self.spoken.append(sentence.text)
        seconds = 0.05 * len(sentence.text) / options.number("speed")
        t = np.arange(round(seconds * self.sample_rate)) / self.sample_rate
        tone = (0.5 * np.sin(2 * np.pi * 440 * t)).astype(np.float32)
        silence = np.zeros(round(0.2 * self.sample_rate), np.float32)
        return Rendered(Audio(np.concatenate([silence, tone, silence]), self.sample_rate))

    def memory(self) -> int:
        return 1000

    def close(self) -> None:
        self.closed += 1
