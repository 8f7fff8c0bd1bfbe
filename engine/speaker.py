"""A configured voice under a name: plans a text, speaks it sentence by sentence, one request at a time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.audio import Audio, PhonemeTiming, Samples, concatenate
from engine.errors import (
    CancelledSpeechError,
    DeadlineExceededError,
    InvalidOptionError,
    NothingToSayError,
    UnknownStyleError,
    VoiceNotAvailableError,
)
from engine.loudness import TARGET_LUFS, even_out
from engine.options import SpeechOptions
from engine.text import AccentPhrase, Dropped, Sentence, TextPipeline
from engine.text.notation import write_kana
from engine.voices.base import Voice

SOUND_REVISION = "1"
"""Raised whenever trimming or loudness changes what is heard."""

_SILENCE = 10 ** (-50 / 20)  # relative to the peak of the sentence
_MARGIN = 0.030  # seconds that stay before and after the sound, faded
_FADE = 0.005


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence with everything that decides how it sounds.

    Attributes:
        sentence: what is spoken.
        options: complete: the request's over the speaker's defaults.
        key: equal for equal sound; hexadecimal, fit for a file name.
        last: whether the text ends with it.
    """

    sentence: Sentence
    options: SpeechOptions
    key: str
    last: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How a text will be spoken.

    Attributes:
        segments: in order, never empty.
        normalized: the text as it will be read.
        dropped: what of it cannot be read.
    """

    segments: tuple[Segment, ...]
    normalized: str
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A segment's sound.

    Attributes:
        audio: trimmed and at the even loudness.
        pause: seconds of silence before the next segment.
    """

    audio: Audio
    pause: float


class Speaker:
    """A voice under a name. Safe to share between threads and tasks; calls are served one after another.

    Every call takes the speech options as keywords (see ``SpeechOptions``), and ``cancel`` (an event) and
    ``deadline`` (seconds from now): either ends it before the next sentence.

    Args:
        name: of the speaker.
        voice: loaded.
        text: the pipeline of the ``TTS``.
        defaults: options that requests start from.
        load_again: loads the voice that was released.
    """

    def __init__(
        self,
        name: str,
        voice: Voice,
        text: TextPipeline,
        defaults: SpeechOptions | None = None,
        *,
        load_again: Callable[[], Voice] | None = None,
    ) -> None:
        self.name = name
        self._voice: Voice | None = voice
        self._load_again = load_again
        self._text = text
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self.family = voice.family
        self.styles = voice.styles
        self.sample_rate = voice.sample_rate
        self._fingerprint = voice.fingerprint
        self._options = voice.options | {"style", "volume"}
        self._defaults = SpeechOptions()
        self._defaults = self._checked(defaults or SpeechOptions())

    def __repr__(self) -> str:
        return f"<Speaker {self.name!r} {self.family} {self.sample_rate} Hz, styles {', '.join(self.styles)}>"

    @property
    def options(self) -> frozenset[str]:
        """Names of the options that this voice honours."""
        return self._options

    @property
    def defaults(self) -> SpeechOptions:
        """The options that requests start from."""
        return self._defaults

    @property
    def memory(self) -> int:
        """Bytes that the voice holds."""
        return self._voice.memory() if self._voice else 0

    def plan(self, text: str, **options: Any) -> Plan:
        """Normalise a text, cut it into segments, and settle the options. No synthesis.

        Raises:
            NothingToSayError: no character of the text can be read.
            InvalidOptionError: an option is unknown, out of range, or not one of this voice or this installation.
            UnknownStyleError: the voice has no such style.
        """
        settled = self._checked(SpeechOptions.of(options)).over(self._defaults)
        script = self._text.script(text)
        if not script.sentences:
            message = f"nothing in {_shortened(text)!r} can be read aloud"
            raise NothingToSayError(message)
        return Plan(self._segments(script.sentences, settled), script.normalized, script.dropped)

    def plan_phrases(self, phrases: Sequence[AccentPhrase], text: str | None = None, **options: Any) -> Plan:
        """As ``plan``, of accent phrases in place of a text: read and accented as they say.

        Pauses between segments are those of the phrases, not the voice's.

        Args:
            phrases: in order.
            text: that they came from, where it is known; a help for voices that look at the written words.
            options: see ``SpeechOptions``.

        Raises:
            NothingToSayError: there are no phrases.
            InvalidOptionError: as ``plan``.
            UnknownStyleError: as ``plan``.
        """
        settled = self._checked(SpeechOptions.of(options)).over(self._defaults)
        if not phrases:
            message = "there are no accent phrases to speak"
            raise NothingToSayError(message)
        return Plan(self._segments(self._text.sentences(phrases, text), settled), write_kana(phrases), ())

    def _segments(self, sentences: Sequence[Sentence], settled: SpeechOptions) -> tuple[Segment, ...]:
        last = len(sentences) - 1
        return tuple(
            Segment(sentence, settled, self._key(sentence, settled), index == last)
            for index, sentence in enumerate(sentences)
        )

    def is_current(self, segment: Segment) -> bool:
        """Whether the segment's key still says how it would sound: no other words were taken into use since."""
        return self._key(segment.sentence, segment.options) == segment.key

    def synthesize(
        self, segment: Segment, *, cancel: threading.Event | None = None, deadline: float | None = None
    ) -> Spoken:
        """Speak one segment of a plan.

        Args:
            segment: of a plan that this speaker made.
            cancel: when it is set before the segment's turn comes, nothing is synthesized.
            deadline: seconds from now until the segment's turn must have come.

        Raises:
            NothingToSayError: the front end finds no reading after all.
            CancelledSpeechError: ``cancel`` was set.
            DeadlineExceededError: the deadline passed.
            VoiceNotAvailableError: the speaker was unloaded.
        """
        if not self._lock.acquire(timeout=-1 if deadline is None else max(0.0, deadline)):
            message = f"{self.name} was busy for longer than the deadline of {deadline:g} s"
            raise DeadlineExceededError(message)
        try:
            if cancel is not None and cancel.is_set():
                message = f"speech of {self.name} was cancelled"
                raise CancelledSpeechError(message)
            rendered = self._loaded_voice().synthesize(segment.sentence, segment.options)
        finally:
            self._lock.release()
        audio = _trimmed(rendered.audio)
        samples = even_out(
            audio.samples, audio.sample_rate, target=TARGET_LUFS, volume=segment.options.number("volume")
        )
        own = rendered.pause if not segment.sentence.phrases else None  # of phrases, pauses are as they say
        pause = segment.sentence.pause if own is None else own
        return Spoken(Audio(samples, audio.sample_rate, audio.timings), pause)

    def stream(
        self,
        text: str,
        *,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
        **options: Any,
    ) -> Iterator[Audio]:
        """Speak a text, one chunk a sentence, each with the pause that follows it.

        No lock is held while the consumer has the turn. Errors as ``plan`` and ``synthesize``; those of the plan
        are raised by the call itself, before the first chunk is asked for.
        """
        return self._chunks(self.plan(text, **options), cancel, _Deadline(deadline))

    def generate(
        self,
        text: str,
        *,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
        **options: Any,
    ) -> Audio:
        """Speak a text in one piece. Errors as ``plan`` and ``synthesize``."""
        return concatenate(list(self.stream(text, cancel=cancel, deadline=deadline, **options)))

    async def astream(self, text: str, *, deadline: float | None = None, **options: Any) -> AsyncIterator[Audio]:
        """``stream`` for asyncio: synthesis runs in the speaker's own thread, the loop stays free."""
        limit = _Deadline(deadline)
        plan = await self._in_thread(lambda: self.plan(text, **options))
        for segment in plan.segments:
            yield await self._synthesize_async(segment, limit)

    async def agenerate(self, text: str, *, deadline: float | None = None, **options: Any) -> Audio:
        """``generate`` for asyncio; a cancelled call stops at the next sentence."""
        return concatenate([chunk async for chunk in self.astream(text, deadline=deadline, **options)])

    def to_wav(self, text: str, **options: Any) -> bytes:
        """``generate`` as the bytes of a WAV file."""
        return self.generate(text, **options).to_bytes()

    async def ato_wav(self, text: str, **options: Any) -> bytes:
        """``agenerate`` as the bytes of a WAV file."""
        return (await self.agenerate(text, **options)).to_bytes()

    @property
    def is_loaded(self) -> bool:
        """Whether its voice is in memory now."""
        return self._voice is not None

    def wake(self) -> None:
        """Load the voice again if it was released; the next sentence would do so too.

        Raises:
            VoiceNotAvailableError: it cannot be loaded, or the speaker was unloaded.
        """
        with self._lock:
            self._loaded_voice()

    def release(self) -> bool:
        """Free the voice, after the sentence that it is at, and load it again when it is needed.

        Returns:
            Whether there was one to free.
        """
        if self._load_again is None:
            return False
        with self._lock:
            voice, self._voice = self._voice, None
        if voice is not None:
            voice.close()
        return voice is not None

    def close(self) -> None:
        """Unload the voice, after the request that it is serving. Closing twice is harmless."""
        with self._lock:
            voice, self._voice = self._voice, None
            self._load_again = None
        if voice is not None:
            voice.close()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _loaded_voice(self) -> Voice:
        """The voice; loaded again when it was released. The lock is held."""
        if self._voice is None:
            if self._load_again is None:
                message = f"speaker {self.name} was unloaded; load and prepare it again"
                raise VoiceNotAvailableError(message)
            self._voice = self._load_again()
        return self._voice

    def _chunks(self, plan: Plan, cancel: threading.Event | None, limit: _Deadline) -> Iterator[Audio]:
        for segment in plan.segments:
            yield _with_pause(self.synthesize(segment, cancel=cancel, deadline=limit.left()), segment)

    async def _synthesize_async(self, segment: Segment, limit: _Deadline) -> Audio:
        cancel = threading.Event()
        try:
            spoken = await self._in_thread(lambda: self.synthesize(segment, cancel=cancel, deadline=limit.left()))
        except asyncio.CancelledError:
            cancel.set()
            raise
        return _with_pause(spoken, segment)

    async def _in_thread(self, work: Any) -> Any:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"speaker-{self.name}")
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _checked(self, options: SpeechOptions) -> SpeechOptions:
        for name in options.given():
            if name not in self._options:
                has = ", ".join(sorted(self._options))
                message = f"{name} is not an option of speaker {self.name} ({self.family}), which has {has}"
                raise InvalidOptionError(message)
        if options.style is not None and options.style not in self.styles:
            message = f"speaker {self.name} has no style {options.style!r}; it has {', '.join(self.styles)}"
            raise UnknownStyleError(message)
        voice = self._voice
        if voice is not None:
            voice.check(options)
        return options

    def _key(self, sentence: Sentence, options: SpeechOptions) -> str:
        facts = [
            SOUND_REVISION,
            self._fingerprint,
            self._text.revision,
            sentence.text,
            sentence.pause,
            sorted(options.given().items()),
        ]
        if sentence.phrases:
            facts.append(write_kana(sentence.phrases))
        return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()


class _Deadline:
    """A moment that a request must not pass, given as seconds from its beginning."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._start = time.monotonic()

    def left(self) -> float | None:
        if self._seconds is None:
            return None
        left = self._start + self._seconds - time.monotonic()
        if left <= 0:
            message = f"the deadline of {self._seconds:g} s passed"
            raise DeadlineExceededError(message)
        return left


def _with_pause(spoken: Spoken, segment: Segment) -> Audio:
    if segment.last or not spoken.pause:
        return spoken.audio
    return concatenate([spoken.audio, Audio.silence(spoken.pause, spoken.audio.sample_rate)])


def _trimmed(audio: Audio) -> Audio:
    """Take silence off both ends but for a short, faded margin, so that a pause is as long as it says."""
    magnitude = np.abs(audio.samples)
    peak = magnitude.max(initial=0.0)
    sounding = np.flatnonzero(magnitude > peak * _SILENCE)
    if not len(sounding):
        return audio
    margin = round(_MARGIN * audio.sample_rate)
    start = max(0, int(sounding[0]) - margin)
    end = min(len(magnitude), int(sounding[-1]) + 1 + margin)
    samples: Samples = audio.samples[start:end].copy()
    fade = min(round(_FADE * audio.sample_rate), len(samples) // 2)
    ramp = np.linspace(0.0, 1.0, fade, endpoint=False, dtype=np.float32)
    samples[:fade] *= ramp
    samples[len(samples) - fade :] *= ramp[::-1]
    shift = start / audio.sample_rate
    timings = tuple(PhonemeTiming(t.phoneme, max(0.0, t.start - shift), t.duration) for t in audio.timings)
    return Audio(samples, audio.sample_rate, timings)


def _shortened(text: str, length: int = 40) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
