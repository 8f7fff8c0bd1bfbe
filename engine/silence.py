"""The silence at both ends of a sentence."""

from __future__ import annotations

import numpy as np

from engine.audio import Audio, PhonemeTiming, Samples

_SILENCE = 10 ** (-50 / 20)  # relative to the peak of the sentence
_MARGIN = 0.030  # seconds that stay before and after the sound, faded
_FADE = 0.005


def trimmed(audio: Audio) -> Audio:
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
