"""Trying groups of layers by themselves, then sets of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from engine.audio import Samples
from engine.voices.style_bert_vits2.backend import SeededNoise
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.runtime.synthesizer import MAX_FRAMES, PARTS, WINDOW, PartedSynthesizer
from engine.voices.style_bert_vits2.tuning.choose import decibels, expected_snr, nested_sets, next_to_try
from engine.voices.style_bert_vits2.tuning.layers import unit_of
from engine.voices.style_bert_vits2.tuning.measure import (
    Utterance,
    in_turns,
    log_mel_distance,
    noise_to_signal,
    say_all,
)
from engine.voices.style_bert_vits2.tuning.processor import this_processor
from engine.voices.style_bert_vits2.tuning.report import Candidate, Group
from engine.voices.style_bert_vits2.tuning.workshop import Workshop

Progress = Callable[[str, float], None]
"""Told what is done next, and what share of all is done."""

_LEAST_SHARE = 0.05
"""Of the time of a sentence; what takes less cannot save enough to be worth its error."""
_ROUNDS = 2  # of a measurement of speed


class Search:
    """Finds out what can be had of a network.

    Args:
        synthesizer: in float32.
        folder: to work in.
        sample_rate: of its sound, in Hz.
        threshold: least SNR in dB.
        progress: told how far it is.
    """

    def __init__(
        self, synthesizer: PartedSynthesizer, folder: Path, sample_rate: int, threshold: float, progress: Progress
    ) -> None:
        self._exact = synthesizer
        self._folder = folder
        self._sample_rate = sample_rate
        self._threshold = threshold
        self._progress = progress
        self._names: dict[tuple[str, ...], str] = {}

    def run(
        self, calibration: Sequence[Utterance], measuring: Sequence[Utterance], trial: Utterance
    ) -> tuple[list[Group], list[Candidate]]:
        """All groups and all candidates, float32 first."""
        self._progress("measuring the parts", 0.02)
        workshop = Workshop(self._exact, self._slow_parts(trial), self._folder, this_processor().numbers)
        long = _longer_than_a_window(self._exact, measuring)
        self._progress("calibrating", 0.05)
        workshop.calibrate(calibration)
        groups = self._groups(workshop, trial)
        sets = nested_sets(groups)
        candidates: list[Candidate] = []
        tried: dict[int, bool] = {}
        guess = sum(expected_snr(groups, names) >= self._threshold for names in sets) - 1
        while sets and (at := next_to_try(len(sets), tried, guess)) is not None:
            self._progress(f"measuring set {len(tried) + 1}", min(0.95, 0.6 + 0.08 * len(tried)))
            exact, candidate = self._candidate(workshop, sets[at], measuring, long)
            candidates += [candidate] if candidates else [exact, candidate]
            tried[at] = candidate.snr >= self._threshold
        if not candidates:
            begun = time.process_time()
            say_all(self._exact, measuring)
            candidates = [_float32(time.process_time() - begun)]
        return groups, candidates

    def graphs_of(self, chosen: Candidate) -> tuple[Path, dict[str, str]]:
        """The folder of a candidate's graphs, which may be moved, and the hash of each graph."""
        folder = self._folder / self._names.get(chosen.groups, "float32")
        folder.mkdir(exist_ok=True)
        return folder, {name: content_hash(folder / name, self._folder) for name in PARTS if (folder / name).is_file()}

    def _slow_parts(self, trial: Utterance) -> list[str]:
        """The parts whose time is worth a trial."""
        known = self._exact.known(trial.given, trial.controls, SeededNoise(trial.seed))
        times = {}
        for part in PARTS:
            graph = Graph(self._exact.portable[part])
            graph.run(known)
            begun = time.process_time()
            graph.run(known)
            times[part] = time.process_time() - begun
            graph.close()
        return [part for part in PARTS if times[part] >= _LEAST_SHARE * sum(times.values())]

    def _groups(self, workshop: Workshop, trial: Utterance) -> list[Group]:
        groups = workshop.groups
        units: dict[str, list[str]] = {}
        for name in groups:
            units.setdefault(unit_of(name), []).append(name)
        count, done = len(groups) + len(units), 0
        reference = trial.spoken(self._exact)
        noise: dict[str, float] = {}
        saved: dict[str, float] = {}
        for unit, names in units.items():
            for name in names:
                self._progress(f"trying {name}", 0.15 + 0.45 * done / count)
                done += 1
                noise[name] = self._noise(workshop, name, trial, reference)
            self._progress(f"measuring the speed of {unit}", 0.15 + 0.45 * done / count)
            done += 1
            gain = self._saved(workshop, names, trial)
            whole = sum(groups[name][1] for name in names)
            saved |= {name: gain * groups[name][1] / whole for name in names}
        return [Group(name, part, work, noise[name], saved[name]) for name, (part, work) in groups.items()]

    def _noise(self, workshop: Workshop, name: str, trial: Utterance, reference: Samples) -> float:
        variant = self._exact.variant(workshop.build("trial", [name]))
        try:
            samples = trial.spoken(variant)
        finally:
            variant.close()
        return noise_to_signal(reference, samples)

    def _saved(self, workshop: Workshop, names: Sequence[str], trial: Utterance) -> float:
        variant = self._exact.variant(workshop.build("trial", names))
        try:
            say_all(variant, [trial])
            exact, quick = in_turns(lambda: say_all(self._exact, [trial]), lambda: say_all(variant, [trial]), _ROUNDS)
        finally:
            variant.close()
        return 1 - quick / exact

    def _candidate(
        self, workshop: Workshop, groups: tuple[str, ...], measuring: Sequence[Utterance], long: Utterance
    ) -> tuple[Candidate, Candidate]:
        """Float32 as it was measured beside it, and the candidate."""
        self._names[groups] = f"set{len(self._names)}"
        variant = self._exact.variant(workshop.build(self._names[groups], groups))
        try:
            noise, distance = 0.0, 0.0
            for utterance in measuring:
                reference = utterance.spoken(self._exact)
                samples = utterance.spoken(variant)
                noise = max(noise, noise_to_signal(reference, samples))
                distance = max(distance, log_mel_distance(reference, samples, self._sample_rate))
            exact, quick = in_turns(
                lambda: say_all(self._exact, measuring), lambda: say_all(variant, measuring), _ROUNDS
            )
            snr = decibels(noise)
            join = _join(variant, long) if snr >= self._threshold else None
        finally:
            variant.close()
        return _float32(exact), Candidate(groups, snr, distance, quick, exact / quick, join)


def _join(variant: PartedSynthesizer, long: Utterance) -> float:
    """How far decoding in windows is from decoding as a whole.

    Rounding makes a large difference of a tiny one, so the windows join only where float32 layers compute the same bits
    whatever the length: a property of the processor's kernels, which has to be seen.
    """
    whole = variant.variant({}, window=MAX_FRAMES)
    return float(np.abs(long.spoken(whole) - long.spoken(variant)).max())


def _longer_than_a_window(synthesizer: PartedSynthesizer, measuring: Sequence[Utterance]) -> Utterance:
    """The last sentence, as slow as it must be to need two windows."""
    utterance = measuring[-1]
    known = synthesizer.known(utterance.given, utterance.controls, SeededNoise(utterance.seed))
    slower = 1.1 * WINDOW / known[synthesizer.latent].shape[2]
    controls = replace(utterance.controls, length_scale=max(1.0, slower) * utterance.controls.length_scale)
    return replace(utterance, controls=controls)


def _float32(seconds: float) -> Candidate:
    return Candidate((), float("inf"), 0.0, seconds, 1.0)
