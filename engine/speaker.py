"""A configured voice under a name: plans a text, speaks it sentence by sentence, one request at a time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any

from engine.audio import Audio, concatenate
from engine.deadline import Deadline
from engine.errors import (
    InvalidOptionError,
    NothingToSayError,
    UnknownStyleError,
)
from engine.failures import engine_errors
from engine.held_voice import HeldVoice
from engine.loudness import TARGET_LUFS, even_out
from engine.options import SpeechOptions
from engine.plan import Plan, Segment, Spoken
from engine.silence import trimmed
from engine.text import AccentPhrase, Sentence, TextPipeline
from engine.text.notation import write_kana
from engine.text.pacing import paced
from engine.threads import SpeakerThreads
from engine.voices.base import Voice

__all__ = ["Plan", "Segment", "Speaker", "Spoken"]

SOUND_REVISION = "1"
"""Raised whenever trimming or loudness changes what is heard."""


class Speaker:
    """A voice under a name. Safe to share between threads and tasks; calls are served one after another.

    Every call takes the speech options as keywords (see ``SpeechOptions``), and

    - ``cancel`` (an event) and ``deadline`` (seconds from now): either ends it before the next sentence;
    - ``background``: it is rendered ahead, and lets everything that is waited for go first, at the next sentence on
      this speaker and at the next window of the network on another.

    In a process that was forked after the voice was loaded every call raises ``VoiceNotAvailableError``: threads of the
    networks do not come along. ``TTS.prepare`` loads the voices again there.

    Args:
        name: of the speaker.
        voice: loaded.
        text: the pipeline that all speakers share.
        defaults: options that requests start from.
        load_again: loads the voice again after ``release``; without it nothing is released.
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
        self._held = HeldVoice(name, voice, load_again)
        self._text = text
        self._threads = SpeakerThreads(name)
        self._defaults = SpeechOptions()
        self._defaults = self._checked(defaults or SpeechOptions())

    def __repr__(self) -> str:
        return f"<Speaker {self.name!r} {self.family} {self.sample_rate} Hz, styles {', '.join(self.styles)}>"

    @property
    def family(self) -> str:
        """Of the voice."""
        return self._held.family

    @property
    def styles(self) -> tuple[str, ...]:
        """Those of the voice, the neutral one first."""
        return self._held.styles

    @property
    def sample_rate(self) -> int:
        """In Hz."""
        return self._held.sample_rate

    @property
    def options(self) -> frozenset[str]:
        """Names of the options that this voice honours."""
        return self._held.options | {"style", "volume"}

    @property
    def memory(self) -> int:
        """Bytes that the voice holds; none while it is released."""
        return self._held.memory

    @property
    def defaults(self) -> SpeechOptions:
        """The options that requests start from."""
        return self._defaults

    @property
    def is_loaded(self) -> bool:
        """Whether its voice is in memory now; if not, the next sentence loads it again."""
        return self._held.is_loaded

    @property
    def uses(self) -> int:
        """How many sentences were asked of the voice so far; whoever looks now and then sees whether it is idle."""
        return self._held.uses

    def plan(self, text: str, **options: Any) -> Plan:
        """Normalise a text, cut it into segments, and settle the options. No synthesis, and no voice is loaded for it.

        Raises:
            NothingToSayError: no character of the text can be read.
            InvalidOptionError: an option is unknown, out of range, or not one of this voice or this installation.
            UnknownStyleError: the voice has no such style.
        """
        settled = self._checked(SpeechOptions.of(options)).over(self._defaults)
        script = self._text.script(text)
        segments = tuple(self._segments(paced(script.sentences), settled))
        if not segments:
            raise _nothing_to_say(text)
        return Plan(segments, script.normalized, script.dropped)

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
        segments = self._segments(self._text.sentences(phrases, text), settled)
        return Plan(tuple(segments), write_kana(phrases), ())

    def is_current(self, segment: Segment) -> bool:
        """Whether the segment's key still says how it would sound: no other words were taken into use since."""
        return self._key(segment.sentence, segment.options) == segment.key

    def synthesize(
        self,
        segment: Segment,
        *,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
        background: bool = False,
    ) -> Spoken:
        """Speak one segment of a plan.

        Args:
            segment: of a plan that this speaker made.
            cancel: when it is set before the segment's turn comes, nothing is synthesized.
            deadline: seconds from now until the segment's turn must have come.
            background: let everything that somebody waits for go first.

        Raises:
            NothingToSayError: the front end finds no reading after all.
            CancelledSpeechError: ``cancel`` was set.
            DeadlineExceededError: the deadline passed.
            VoiceNotAvailableError: the speaker was unloaded, cannot be loaded again, or was loaded
                before this process was forked.
            TransientError: there is no memory left for it.
            EngineDefectError: the voice fails at it.
        """
        with engine_errors(f"speaker {self.name} speaks"):
            rendered = self._held.synthesize(
                segment.sentence, segment.options, cancel=cancel, deadline=deadline, background=background
            )
            audio = trimmed(rendered.audio)
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
        background: bool = False,
        **options: Any,
    ) -> Iterator[Audio]:
        """Speak a text, one chunk a sentence, each with the pause that follows it.

        The first chunk comes after the first sentence, or the first clause of a long one, whatever follows: no more of
        the text is read before. No lock is held while the consumer has the turn. Errors as ``plan`` and ``synthesize``;
        those of the plan are raised by the call itself, before the first chunk is asked for.
        """
        limit = Deadline(deadline)
        segments = self._lazy_segments(text, options)
        return (
            _with_pause(self.synthesize(segment, cancel=cancel, deadline=limit.left(), background=background), segment)
            for segment in segments
        )

    def generate(
        self,
        text: str,
        *,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
        background: bool = False,
        **options: Any,
    ) -> Audio:
        """Speak a text in one piece. Errors as ``plan`` and ``synthesize``."""
        return concatenate(list(self.stream(text, cancel=cancel, deadline=deadline, background=background, **options)))

    async def astream(
        self, text: str, *, deadline: float | None = None, background: bool = False, **options: Any
    ) -> AsyncIterator[Audio]:
        """``stream`` for asyncio: synthesis runs in the speaker's own thread, the loop stays free."""
        limit = Deadline(deadline)
        segments = await self._threads.run(lambda: self._lazy_segments(text, options), background=background)
        while (segment := await self._threads.run(lambda: next(segments, None), background=background)) is not None:
            yield await self._synthesize_async(segment, limit, background=background)

    async def agenerate(
        self, text: str, *, deadline: float | None = None, background: bool = False, **options: Any
    ) -> Audio:
        """``generate`` for asyncio; a cancelled call stops at the next sentence."""
        chunks = self.astream(text, deadline=deadline, background=background, **options)
        return concatenate([chunk async for chunk in chunks])

    def to_wav(self, text: str, **options: Any) -> bytes:
        """``generate`` as the bytes of a WAV file."""
        return self.generate(text, **options).to_bytes()

    async def ato_wav(self, text: str, **options: Any) -> bytes:
        """``agenerate`` as the bytes of a WAV file."""
        return (await self.agenerate(text, **options)).to_bytes()

    def wake(self) -> None:
        """Load the voice again if it was released; the next sentence would do so too.

        Raises:
            VoiceNotAvailableError: it cannot be loaded, or the speaker was unloaded.
        """
        self._held.wake()

    def release(self, *, wait: bool = True) -> bool:
        """Free the voice and load it again when it is needed, which then takes as long as loading it.

        Args:
            wait: for the end of the sentence that it is at; else nothing is done while it speaks.

        Returns:
            Whether there was a voice to free.
        """
        return self._held.release(wait=wait)

    def close(self) -> None:
        """Unload the voice, after the sentence that it is at. Closing twice is harmless."""
        if self._held.close():
            self._threads.close()

    def _lazy_segments(self, text: str, options: dict[str, Any]) -> Iterator[Segment]:
        """The segments of a plan, read as they are asked for; the first one is there already."""
        settled = self._checked(SpeechOptions.of(options)).over(self._defaults)
        segments = self._segments(paced(self._text.read(text)), settled)
        first = next(segments, None)
        if first is None:
            raise _nothing_to_say(text)
        return _chained(first, segments)

    def _segments(self, sentences: Iterable[Sentence], options: SpeechOptions) -> Iterator[Segment]:
        """One ahead of what is asked for, to know which is the last."""
        waiting: Sentence | None = None
        for sentence in sentences:
            if waiting is not None:
                yield Segment(waiting, options, self._key(waiting, options), last=False)
            waiting = sentence
        if waiting is not None:
            yield Segment(waiting, options, self._key(waiting, options), last=True)

    async def _synthesize_async(self, segment: Segment, limit: Deadline, *, background: bool) -> Audio:
        cancel = threading.Event()
        try:
            spoken = await self._threads.run(
                lambda: self.synthesize(segment, cancel=cancel, deadline=limit.left(), background=background),
                background=background,
            )
        except asyncio.CancelledError:
            cancel.set()
            raise
        return _with_pause(spoken, segment)

    def _checked(self, options: SpeechOptions) -> SpeechOptions:
        for name in options.given():
            if name not in self.options:
                has = ", ".join(sorted(self.options))
                message = f"{name} is not an option of speaker {self.name} ({self.family}), which has {has}"
                raise InvalidOptionError(message)
        if options.style is not None and options.style not in self.styles:
            message = f"speaker {self.name} has no style {options.style!r}; it has {', '.join(self.styles)}"
            raise UnknownStyleError(message)
        self._held.check(options)
        return options

    def _key(self, sentence: Sentence, options: SpeechOptions) -> str:
        facts = [
            SOUND_REVISION,
            self._held.fingerprint,
            self._text.revision,
            sentence.text,
            sentence.pause,
            sorted(options.given().items()),
        ]
        if sentence.phrases:
            facts.append(write_kana(sentence.phrases))
        return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()


def _chained(first: Segment, rest: Iterator[Segment]) -> Iterator[Segment]:
    yield first
    yield from rest


def _with_pause(spoken: Spoken, segment: Segment) -> Audio:
    if segment.last or not spoken.pause:
        return spoken.audio
    return concatenate([spoken.audio, Audio.silence(spoken.pause, spoken.audio.sample_rate)])


def _nothing_to_say(text: str) -> NothingToSayError:
    return NothingToSayError(f"nothing in {_shortened(text)!r} can be read aloud")


def _shortened(text: str, length: int = 40) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
