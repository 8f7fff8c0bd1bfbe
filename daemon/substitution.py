"""A sentence by whoever can say it: where a speaker fails, another goes on.

Heard in another voice is better than not heard.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from daemon.announcement import Announcement
from daemon.renderer import Job, Renderer, Rendering
from engine import (
    BadRequestError,
    CancelledSpeechError,
    DeadlineExceededError,
    EngineError,
    Segment,
    Speaker,
)

_log = logging.getLogger("asagoe.announcer")


@dataclass(frozen=True, slots=True)
class SaidSentence:
    """A sentence that was made.

    Attributes:
        job: that goes on: the one that was asked for, or another speaker's.
        segment: of that job.
        rendering: its sound.
        problem: why it is another job; None where it is not.
    """

    job: Job
    segment: Segment
    rendering: Rendering
    problem: str | None = None


async def said_by_any(
    job: Job,
    index: int,
    *,
    title: str,
    render: Callable[[Job, Segment], Awaitable[Rendering]],
    plan: Callable[[Collection[Speaker]], Awaitable[Job]],
) -> SaidSentence:
    """Render a sentence with the speaker of a job, or with others in turn where it fails or was replaced meanwhile.

    Args:
        job: whose sentence it is.
        index: of the sentence, over all repeats.
        title: of what is said, for the log.
        render: makes a sentence.
        plan: the job of another speaker, without those that have failed.

    Raises:
        EngineError: no speaker can say it; the error is that of the first.
    """
    failed: list[Speaker] = []
    first: EngineError | MemoryError | None = None
    while True:
        segment = job.plan.segments[index % len(job.plan.segments)]
        try:
            return SaidSentence(job, segment, await render(job, segment), None if first is None else str(first))
        except (CancelledSpeechError, DeadlineExceededError):
            raise
        except (EngineError, MemoryError) as error:
            if isinstance(error, BadRequestError) and job.instead_of is None:
                raise  # what was asked of the speaker that was asked is wrong; a substitute is merely not the one
            first = first or error
            failed.append(job.speaker)
            try:
                following = await plan(failed)
            except EngineError:
                raise first from None
            name, other = job.speaker.name, following.speaker.name
            if other != name:
                _log.warning("speaker %s failed at %s, %s goes on: %s", name, title, other, error)
            job = following


async def said_of(
    announcement: Announcement, job: Job, index: int, renderer: Renderer, *, ahead: bool = False
) -> SaidSentence:
    """A sentence of an announcement, by whoever can say it; see ``said_by_any``.

    Args:
        announcement: what is said.
        job: its plan and speaker.
        index: of the sentence, over all repeats.
        renderer: makes it.
        ahead: nobody waits for it yet: behind everything that is more urgent.
    """
    return await said_by_any(
        job,
        index,
        title=announcement.id,
        render=lambda job, segment: renderer.render(job, segment, ahead=ahead),
        plan=lambda failed: renderer.plan(announcement, ahead=ahead, without=failed),
    )


async def render_ahead(announcement: Announcement, renderer: Renderer) -> int:
    """Render a whole announcement into the cache, behind everything that is more urgent.

    Where its speaker fails, the sentences from there on are those of the one that would go on at its moment.

    Returns:
        How many sentences were not in the cache yet.

    Raises:
        EngineError: it cannot be spoken.
    """
    job = await renderer.plan(announcement, ahead=True)
    fresh = 0
    for index in range(len(job.plan.segments)):
        said = await said_of(announcement, job, index, renderer, ahead=True)
        job = said.job
        fresh += not said.rendering.cached
    return fresh
