"""Makes speech for the announcer: by the engine, or from the phrase cache."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

from daemon.announcement import Announcement
from daemon.phrases import PhraseCache
from engine import (
    TTS,
    BadRequestError,
    CancelledSpeechError,
    DeadlineExceededError,
    EngineError,
    InvalidOptionError,
    NothingToSayError,
    Plan,
    Segment,
    Speaker,
    Spoken,
    VoiceNotAvailableError,
)

_T = TypeVar("_T")

EMBEDDED = "embedded"
"""Name of the speaker that speaks when the one that was asked for cannot."""

STUCK_AFTER = 180.0
"""Seconds for one sentence, after which the thread that makes it counts as stuck: a neural voice on a small board takes
three times as long as the sentence lasts."""

_PATIENCE = 30.0
"""Seconds after which work that can wait begins all the same."""
_LOOK = 0.02
"""Seconds between two looks whether it may."""


@dataclass(frozen=True, slots=True)
class Job:
    """An announcement with the speaker that will say it.

    Attributes:
        speaker: may be another than was asked for.
        plan: its sentences.
        instead_of: name of the speaker that was asked for, where it is another.
        starts: index of the first sentence of each section, rising from 0; empty where there are no sections.
    """

    speaker: Speaker
    plan: Plan
    instead_of: str | None = None
    starts: tuple[int, ...] = ()

    def section_start(self, sentence: int) -> int:
        """Where the section of a sentence begins, counted over all repeats; the sentence itself without sections."""
        within = sentence % len(self.plan.segments)
        return max((start for start in self.starts if start <= within), default=within) + sentence - within

    def next_section(self, sentence: int) -> int | None:
        """Where the section after that of a sentence begins; None when there is none."""
        within = sentence % len(self.plan.segments)
        start = next((start for start in self.starts if start > within), None)
        return None if start is None else sentence - within + start


@dataclass(frozen=True, slots=True)
class Rendering:
    """A sentence's sound.

    Attributes:
        spoken: audio and pause.
        cached: whether it came from the phrase cache.
    """

    spoken: Spoken
    cached: bool


class Renderer:
    """Plans and renders announcements, off the event loop.

    Args:
        tts: prepared, with at least one speaker.
        phrases: the cache.
        default_speaker: for announcements that name none.
        configured: names of all speakers of the configuration, ready or not.

    Attributes:
        remote: gives the speakers that other nodes speak, those that can now; asked in any thread.
        default_style: of the default speaker, for announcements that name neither; asked in any thread.
    """

    def __init__(self, tts: TTS, phrases: PhraseCache, default_speaker: str, configured: frozenset[str]) -> None:
        self.remote: Callable[[], Mapping[str, Speaker]] = dict
        self.default_style: Callable[[], str | None] = lambda: None
        self._tts = tts
        self._phrases = phrases
        self._default = default_speaker
        self._configured = configured
        self._begun: dict[object, float] = {}
        self._failing: dict[str, str] = {}
        # One thread for what somebody waits for, one for what is rendered ahead; the engine lets the first one pass.
        self._urgent = ThreadPoolExecutor(1, thread_name_prefix="render")
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="render-ahead")
        self._pressing = 0  # counted on the service's loop
        self._quiet = threading.Event()
        self._quiet.set()

    def knows(self, speaker: str) -> bool:
        """Whether a speaker of that name is configured."""
        return speaker in self._configured

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """All that can speak now, by name."""
        return {**self._tts.speakers, **self.remote()}

    def configure(self, default_speaker: str, configured: frozenset[str]) -> None:
        """Take over a changed configuration."""
        self._default = default_speaker
        self._configured = configured

    @property
    def configured(self) -> frozenset[str]:
        """Names of the configured speakers."""
        return self._configured

    @property
    def failing(self) -> Mapping[str, str]:
        """The speakers that failed at the last sentence that was asked of them, with the reason."""
        return dict(self._failing)

    @property
    def ready(self) -> list[str]:
        """Names of the speakers that can speak now."""
        return list(self.speakers)

    @property
    def alive(self) -> bool:
        """Whether no thread has been at a single sentence for longer than any sentence takes."""
        return all(time.monotonic() - begun < STUCK_AFTER for begun in list(self._begun.values()))

    async def plan(self, announcement: Announcement, *, ahead: bool = False, without: Collection[Speaker] = ()) -> Job:
        """Choose the speaker and cut the text.

        Args:
            announcement: what will be said.
            ahead: nobody waits for it yet: behind everything that is more urgent.
            without: speakers that have failed at it.

        Raises:
            EngineError: the text or an option cannot be spoken, or no speaker is ready.
        """
        return await self._in_lane(ahead, lambda: self._plan(announcement, without))

    async def render(self, job: Job, segment: Segment, *, ahead: bool = False) -> Rendering:
        """The sound of one sentence; what is rendered ahead lets the engine's other work go first.

        Raises:
            EngineError: it cannot be spoken.
        """
        return await self._in_lane(ahead, lambda: self._render(job, segment, background=ahead))

    async def render_for_another(self, speaker: str, text: str, options: Mapping[str, Any]) -> AsyncIterator[Spoken]:
        """Render for another node, with a speaker of this node's own, sentence by sentence.

        Raises:
            EngineError: it cannot be spoken.
        """
        job = await self._run(self._ahead, lambda: self._own(speaker, text, options))
        for segment in job.plan.segments:
            yield (await self._run(self._ahead, partial(self._render, job, segment))).spoken

    async def behind(self, work: Callable[[], _T]) -> _T:
        """Do something with speakers for somebody who can wait; of any event loop.

        It begins when nothing that is said is being rendered, and shares its thread with what is rendered ahead. Who
        asks for one sentence at a time delays nobody by more than that.
        """
        waited = 0.0
        while not self._quiet.is_set() and waited < _PATIENCE:
            await asyncio.sleep(_LOOK)  # here, so that what is rendered ahead need not wait behind this
            waited += _LOOK
        return await self._run(self._ahead, work)

    def plan_now(
        self, text: str, speaker: str | None, options: Mapping[str, Any], without: Collection[Speaker] = ()
    ) -> Job:
        """As ``plan``, on the caller's thread."""
        return self._job(speaker, options, without, lambda chosen, own, _: (chosen.plan(text, **own), ()))

    def render_now(self, job: Job, segment: Segment) -> Rendering:
        """As ``render``, on the caller's thread. The sound is not kept: the cache is for what the house says."""
        known = self._phrases.get(segment.key)
        return Rendering(known or self._synthesized(job.speaker, segment), cached=known is not None)

    def close(self) -> None:
        """End the threads after the sentences they are at."""
        self._urgent.shutdown(wait=False, cancel_futures=True)
        self._ahead.shutdown(wait=False, cancel_futures=True)

    def _plan(self, announcement: Announcement, without: Collection[Speaker]) -> Job:
        def planned(speaker: Speaker, options: dict[str, Any], asked: bool) -> tuple[Plan, tuple[int, ...]]:
            if announcement.speaker is None and "style" not in options and asked:
                style = self.default_style()
                if style is not None and style in speaker.styles:
                    options["style"] = style
            return _plan_of(speaker, announcement, options)

        return self._job(announcement.speaker, announcement.options, without, planned)

    def _job(
        self,
        name: str | None,
        options: Mapping[str, Any],
        without: Collection[Speaker],
        planned: Callable[[Speaker, dict[str, Any], bool], tuple[Plan, tuple[int, ...]]],
    ) -> Job:
        """The plan of the speaker that was asked for, or of the first substitute that takes the options.

        Args:
            name: of the speaker; None for the default.
            options: of speech.
            without: speakers that have failed.
            planned: makes the plan, with a speaker, its options, and whether it is the one that was asked for.
        """
        asked = name or self._default
        refused: list[Speaker] = []
        first: InvalidOptionError | None = None
        while True:
            try:
                speaker, own, instead_of = self._chosen(asked, options, [*without, *refused])
            except VoiceNotAvailableError:
                if first is None:
                    raise
                raise first from None
            try:
                plan, starts = planned(speaker, own, instead_of is None)
                return Job(speaker, plan, instead_of, starts)
            except InvalidOptionError as error:
                if instead_of is None:
                    raise
                first = first or error
                refused.append(speaker)

    def _chosen(
        self, asked: str, options: Mapping[str, Any], without: Collection[Speaker]
    ) -> tuple[Speaker, dict[str, Any], str | None]:
        """The speaker, the options that it takes, and whom it stands in for."""
        speaker, substitute = self._speaker(asked, without)
        own = dict(options)
        if substitute:  # it may have other styles and fewer options; what it has not, it goes without
            own = {k: v for k, v in own.items() if k in speaker.options and k != "style"}
        return speaker, own, asked if substitute else None

    def _own(self, name: str, text: str, options: Mapping[str, Any]) -> Job:
        own = self._tts.speakers
        if name not in own:
            message = f"there is no speaker {name} here that is ready; there are {', '.join(own)}"
            raise VoiceNotAvailableError(message)
        return Job(own[name], own[name].plan(text, **options))

    def _speaker(self, name: str, without: Collection[Speaker]) -> tuple[Speaker, bool]:
        speakers = {known: speaker for known, speaker in self.speakers.items() if speaker not in without}
        if name in speakers:
            return speakers[name], False
        for other in (self._default, EMBEDDED, *speakers):
            if other in speakers:
                return speakers[other], True
        message = f"neither {name} nor any other speaker is ready"
        raise VoiceNotAvailableError(message)

    def _render(self, job: Job, segment: Segment, *, background: bool = False) -> Rendering:
        known = self._phrases.get(segment.key)
        if known is not None:
            return Rendering(known, cached=True)
        spoken = self._synthesized(job.speaker, segment, background=background)
        if job.speaker.is_current(segment):  # else other words came in between, and the key tells of the old ones
            self._phrases.put(segment.key, spoken)
        return Rendering(spoken, cached=False)

    def _synthesized(self, speaker: Speaker, segment: Segment, *, background: bool = False) -> Spoken:
        try:
            spoken = speaker.synthesize(segment, background=background)
        except (BadRequestError, CancelledSpeechError, DeadlineExceededError):
            raise
        except EngineError as error:
            self._failing[speaker.name] = str(error)
            raise
        self._failing.pop(speaker.name, None)
        return spoken

    async def _in_lane(self, ahead: bool, work: Callable[[], _T]) -> _T:
        if ahead:
            return await self._run(self._ahead, work)
        self._pressing += 1
        self._quiet.clear()
        try:
            return await self._run(self._urgent, work)
        finally:
            self._pressing -= 1
            if not self._pressing:
                self._quiet.set()

    async def _run(self, executor: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        def timed() -> _T:
            mark = object()
            self._begun[mark] = time.monotonic()
            try:
                return work()
            finally:
                del self._begun[mark]

        return await asyncio.get_running_loop().run_in_executor(executor, timed)


def _plan_of(speaker: Speaker, announcement: Announcement, options: dict[str, Any]) -> tuple[Plan, tuple[int, ...]]:
    """The sentences of all sections, and where each section begins; one that cannot be read is passed over."""
    if not announcement.sections:
        return speaker.plan(announcement.text, **options), ()
    plans: list[Plan] = []
    for index, text in enumerate(announcement.sections, start=1):
        try:
            plans.append(speaker.plan(text, **options))
        except NothingToSayError:
            if index == len(announcement.sections) and not plans:
                raise
    starts = accumulate((len(plan.segments) for plan in plans[:-1]), initial=0)
    whole = Plan(
        tuple(segment for plan in plans for segment in plan.segments),
        "".join(plan.normalized for plan in plans),
        tuple(dropped for plan in plans for dropped in plan.dropped),
    )
    return whole, tuple(starts)
