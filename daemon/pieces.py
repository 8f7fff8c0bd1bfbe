"""What is heard of an announcement, piece by piece: chime, sentences with their pauses, end chime."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from daemon.announcement import Announcement
from daemon.chimes import NONE, load_chime
from daemon.playback import Piece
from daemon.renderer import Job, Renderer, Rendering
from engine import Audio
from engine.audio import concatenate

CHIME_GAP = 0.15
"""Seconds between a chime and the speech."""

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
) -> AsyncIterator[Piece]:
    """Render an announcement as it is asked for.

    Args:
        announcement: what is said.
        job: its plan and speaker.
        renderer: makes the sentences.
        resume_at: index of the sentence to begin with; the chime is heard only from the beginning.
        chime_rate: sample rate for chimes, in Hz.
        on_rendered: told of each sentence when its sound is there.

    Raises:
        EngineError: a sentence cannot be spoken.
        ValueError: a chime cannot be read.
    """
    segments = job.plan.segments
    total = announcement.repeat * len(segments)
    if announcement.chime and announcement.chime != NONE and resume_at == 0:
        yield Piece(_padded(load_chime(announcement.chime, chime_rate), after=CHIME_GAP), CHIME)
    for index in range(resume_at, total):
        rendering = await renderer.render(job, segments[index % len(segments)])
        on_rendered(rendering)
        pause = rendering.spoken.pause if index < total - 1 else 0.0
        yield Piece(_padded(rendering.spoken.audio, after=pause), index)
    if announcement.end_chime and announcement.end_chime != NONE:
        yield Piece(_padded(load_chime(announcement.end_chime, chime_rate), before=CHIME_GAP), total)


async def until_speech(pieces: AsyncIterator[Piece]) -> list[Piece]:
    """The pieces up to and with the first sentence."""
    opening = []
    async for piece in pieces:
        opening.append(piece)
        if piece.index != CHIME:
            break
    return opening


def _padded(audio: Audio, *, before: float = 0.0, after: float = 0.0) -> Audio:
    parts = [Audio.silence(before, audio.sample_rate), audio, Audio.silence(after, audio.sample_rate)]
    return concatenate([part for part in parts if part.duration])
