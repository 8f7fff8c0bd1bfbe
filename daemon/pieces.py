"""What is heard of an announcement, piece by piece: chime, sentences with their pauses, end chime."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from daemon.announcement import Announcement, Clip
from daemon.chimes import NONE, load_chime
from daemon.playback import Piece
from daemon.renderer import Job, Renderer, Rendering
from daemon.substitution import said_of
from engine import Audio
from engine.audio import concatenate

_log = logging.getLogger("asagoe.announcer")

CHIME_GAP = 0.15
"""Seconds between a chime and the speech."""

SECTION_GAP = 0.35
"""Seconds between two sections, besides the pause of the sentence."""

CHIME = -1
"""Index of the chime before the speech; sentences count from 0 over all repeats."""


async def pieces_of(
    announcement: Announcement,
    job: Job,
    renderer: Renderer,
    *,
    resume_at: int,
    chime_rate: int,
    on_rendered: Callable[[Rendering], None],
    ahead: bool = False,
    on_replaced: Callable[[Job, str], None] = lambda _job, _reason: None,
) -> AsyncIterator[Piece]:
    """Render an announcement as it is asked for.

    Args:
        announcement: what is said.
        job: its plan and speaker.
        renderer: makes the sentences.
        resume_at: index of the sentence to begin with; the chime is heard only from the beginning.
        chime_rate: sample rate for chimes, in Hz.
        on_rendered: told of each sentence when its sound is there.
        ahead: nobody waits for it yet.
        on_replaced: told of the job that goes on where the speaker failed, and why it did.

    Raises:
        EngineError: a sentence cannot be spoken, by no speaker.
    """
    segments = job.plan.segments
    total = announcement.repeat * len(segments)
    chime = await _chime(announcement.chime, chime_rate) if resume_at == 0 else None
    if chime is not None:
        yield Piece(_padded(chime, after=CHIME_GAP), CHIME)
    for index in range(resume_at, total):
        said = await said_of(announcement, job, index, renderer, ahead=ahead)
        if said.problem is not None:
            job, segments = said.job, said.job.plan.segments
            on_replaced(job, said.problem)
        rendering = said.rendering
        on_rendered(rendering)
        pause = rendering.spoken.pause if index < total - 1 else 0.0
        if (index + 1) % len(segments) in job.starts and index < total - 1:
            pause += SECTION_GAP
        yield Piece(_padded(rendering.spoken.audio, after=pause), index)
    chime = await _chime(announcement.end_chime, chime_rate)
    if chime is not None:
        yield Piece(_padded(chime, before=CHIME_GAP), total)


async def pieces_of_clip(clip: Clip, resume_at: int) -> AsyncIterator[Piece]:
    """The pieces of sound that is ready, from one of them on."""
    for piece in clip.pieces[resume_at:]:
        yield piece


async def until_speech(pieces: AsyncIterator[Piece]) -> list[Piece]:
    """The pieces up to and with the first sentence."""
    opening = []
    async for piece in pieces:
        opening.append(piece)
        if piece.index != CHIME:
            break
    return opening


async def _chime(name: str | None, rate: int) -> Audio | None:
    """A chime; one that cannot be read is left out: the speech matters more."""
    if name is None or name == NONE:
        return None
    try:
        return await asyncio.to_thread(load_chime, name, rate)
    except (ValueError, OSError) as error:
        _log.warning("going on without the chime %s: %s", name, error)
        return None


def _padded(audio: Audio, *, before: float = 0.0, after: float = 0.0) -> Audio:
    parts = [Audio.silence(before, audio.sample_rate), audio, Audio.silence(after, audio.sample_rate)]
    return concatenate([part for part in parts if part.duration])
