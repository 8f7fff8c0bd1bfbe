"""When phonemes sound and how long the voice would pause, from the durations that the network predicted."""

from __future__ import annotations

from engine.audio import PhonemeTiming
from engine.voices.style_bert_vits2.backend import Integers
from engine.voices.style_bert_vits2.text.phonemes import PUNCTUATION

MIN_PAUSE = 0.08
MAX_PAUSE = 2.0


def phoneme_timings(
    phonemes: tuple[str, ...], durations: Integers, seconds_per_frame: float
) -> tuple[PhonemeTiming, ...]:
    """One timing a phoneme, padding and punctuation among them; they follow each other without gaps.

    A blank's frames count for the phoneme before it, those of the first blank for the first phoneme.

    Args:
        phonemes: of the utterance, with the padding.
        durations: frames of each symbol, shape [P], with blanks or without.
        seconds_per_frame: hop length over sample rate.
    """
    timings: list[PhonemeTiming] = []
    start = 0
    for phoneme, frames in zip(phonemes, _frames(phonemes, durations), strict=True):
        timings.append(PhonemeTiming(phoneme, start * seconds_per_frame, frames * seconds_per_frame))
        start += frames
    return tuple(timings)


def final_pause(phonemes: tuple[str, ...], durations: Integers, seconds_per_frame: float) -> float | None:
    """How long the voice dwells on the punctuation that ends the utterance, in seconds.

    All marks of the last run count together ("…。", "!?"); marks inside the sentence ("No.5") do not.
    None if it ends without one.
    """
    frames = _frames(phonemes, durations)
    run = 0
    end = len(phonemes) - 1  # the padding is not part of it
    first = end
    while first > 0 and phonemes[first - 1] in PUNCTUATION:
        first -= 1
        run += frames[first]
    if first == end:
        return None
    return min(max(run * seconds_per_frame, MIN_PAUSE), MAX_PAUSE)


def _frames(phonemes: tuple[str, ...], durations: Integers) -> list[int]:
    if len(durations) == len(phonemes):
        return [int(frames) for frames in durations]
    own, after = durations[1::2], durations[2::2]
    frames = [int(a + b) for a, b in zip(own, after, strict=True)]
    return [frames[0] + int(durations[0]), *frames[1:]]
