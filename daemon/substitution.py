"""A sentence by whoever can say it: where a speaker fails, another goes on.

Heard in another voice is better than not heard.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from daemon.renderer import Job, Rendering
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
