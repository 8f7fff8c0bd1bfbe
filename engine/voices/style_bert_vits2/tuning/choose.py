"""What to try, and what to take: pure functions on figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from engine.voices.style_bert_vits2.tuning.report import Candidate, Group

JOIN_TOLERANCE = 1e-4
"""How far a sample that is decoded in windows may be from the same one decoded as a whole, full scale being 1."""
LEAST_GAIN = 1.03
"""A variant that is not at least so many times as fast as float32 is not worth what it adds in error."""


def decibels(noise: float) -> float:
    """SNR in dB of an error with a power of ``noise`` times that of the sound."""
    return -10 * math.log10(noise) if noise > 0 else math.inf


def nested_sets(groups: Iterable[Group]) -> list[tuple[str, ...]]:
    """Sets to try, each one group larger than the one before.

    The groups that save the most time for the error that they make come first; those that save none do not come. Errors
    of different layers are independent, so their powers add up, and so does the time: taking the best ratio first is
    the greedy solution of the knapsack problem.
    """
    paying = [group for group in groups if group.saved > 0 and math.isfinite(group.noise)]
    ranked = sorted(paying, key=lambda group: (group.noise / group.saved, group.name))
    return [tuple(sorted(group.name for group in ranked[: count + 1])) for count in range(len(ranked))]


def expected_snr(groups: Iterable[Group], names: Sequence[str]) -> float:
    """SNR in dB of a set, if the powers of the errors add up."""
    return decibels(sum(group.noise for group in groups if group.name in names))


def next_to_try(sizes: int, tried: dict[int, bool], guess: int) -> int | None:
    """Which of nested sets to measure next, to find the largest that is good enough in few steps.

    Args:
        sizes: how many sets there are.
        tried: of those that were measured, whether they are good enough, by index.
        guess: where the border is expected: the first to be measured.

    Returns:
        The index, or None once the border is known.
    """
    low = max((at for at, good in tried.items() if good), default=-1)
    high = min((at for at, good in tried.items() if not good and at > low), default=sizes)
    if high - low <= 1:
        return None
    if not tried:
        return min(max(guess, 0), sizes - 1)
    if high == sizes or low == -1:  # one side is open: step on, since the guess was near
        return low + 1 if high == sizes else high - 1
    return (low + high) // 2


def choose(candidates: Iterable[Candidate], threshold: float) -> Candidate:
    """The fastest candidate whose SNR reaches the threshold and whose windows join; of equals the one with less error.

    Args:
        candidates: float32, which has no groups, among them.
        threshold: in dB.
    """
    every = list(candidates)
    good = [
        item
        for item in every
        if item.groups
        and item.snr >= threshold
        and item.speed >= LEAST_GAIN
        and item.join is not None
        and item.join <= JOIN_TOLERANCE
    ]
    if good:
        return max(good, key=lambda item: (item.speed, item.snr))
    return next(item for item in every if not item.groups)
