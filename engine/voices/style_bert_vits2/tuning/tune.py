"""The whole of tuning a voice: from its name to a stored choice.

source = parse_source("file:///srv/voices")
print(tune("my-voice", open_tree(source, cache_root()), cache_root()).precision)
"""

from __future__ import annotations

import importlib.util
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from engine._version import __version__
from engine.audio import Samples
from engine.errors import VoiceNotAvailableError
from engine.options import SpeechOptions
from engine.sources import Source
from engine.text import TextPipeline
from engine.voices.base import LoadContext
from engine.voices.style_bert_vits2.backend import SeededNoise
from engine.voices.style_bert_vits2.content_hash import content_hash
from engine.voices.style_bert_vits2.family import StyleBertVits2Family, graph_of
from engine.voices.style_bert_vits2.graph_split import UnknownGraphError
from engine.voices.style_bert_vits2.layout import ONNX_SPEAKERS
from engine.voices.style_bert_vits2.model_folder import VoiceConfig, read_config
from engine.voices.style_bert_vits2.onnx_session import Graph, runtime
from engine.voices.style_bert_vits2.onnx_synthesizer import MAX_FRAMES, PARTS, WINDOW, PartedSynthesizer
from engine.voices.style_bert_vits2.prepare_graph import open_synthesizer
from engine.voices.style_bert_vits2.tuning import store
from engine.voices.style_bert_vits2.tuning.choose import choose, decibels, expected_snr, nested_sets, next_to_try
from engine.voices.style_bert_vits2.tuning.layers import unit_of
from engine.voices.style_bert_vits2.tuning.measure import (
    Utterance,
    in_turns,
    log_mel_distance,
    noise_to_signal,
    say_all,
)
from engine.voices.style_bert_vits2.tuning.processor import this_processor
from engine.voices.style_bert_vits2.tuning.report import Candidate, Group, Tuning
from engine.voices.style_bert_vits2.tuning.sentences import CALIBRATION, MEASURING, TRIAL
from engine.voices.style_bert_vits2.tuning.workshop import Workshop
from engine.voices.style_bert_vits2.voice import controls_of

THRESHOLD = 35.0
"""Least SNR in dB that a variant must have, where nothing else is asked for."""

_LEAST_SHARE = 0.05
"""Of the time of a sentence; what takes less cannot save enough to be worth its error."""
_ROUNDS = 2  # of a measurement of speed, after one that warms up

Progress = Callable[[str, float], None]
"""Told what is done next, and what share of all is done."""


def tune(
    model: str,
    tree: Source,
    cache: Path,
    *,
    threshold: float = THRESHOLD,
    progress: Progress = lambda _what, _share: None,
) -> Tuning:
    """Find the fastest variant of a voice on this machine that is near enough to float32, and keep it for its loading.

    Args:
        model: name of the voice.
        tree: that it is in.
        cache: the root of all that is cached; see ``engine.tts.cache_root``.
        threshold: least SNR in dB against float32.
        progress: told how far it is.

    Returns:
        What was found; it is also stored. If another process tuned the same voice meanwhile, what that one found.

    Raises:
        VoiceNotAvailableError: the voice cannot be tuned; what it computes with has not changed.
        OSError: the cache cannot be written.
    """
    _require_onnx()
    began = time.monotonic()
    folder = tree.fetch(f"{ONNX_SPEAKERS}/{model}")
    config, path = read_config(folder), graph_of(folder)
    own = cache / StyleBertVits2Family.name
    content = content_hash(path, own)
    before, waited = store.stored(own, content), False

    def waiting() -> None:
        nonlocal waited
        waited = True
        progress("waiting for another tuning to end", 0.0)

    with store.tuning_alone(own, waiting):
        after = store.stored(own, content)
        if waited and after is not None and after != before and after.threshold == threshold:
            return after
        progress("reading sentences", 0.0)
        calibration, measuring, trial = _utterances(model, tree, cache, config)
        synthesizer = open_synthesizer(path, own, margin=config.margin, tuned=False)
        try:
            if not isinstance(synthesizer, PartedSynthesizer):
                message = f"{path} cannot be tuned: it could not be cut into parts; the journal of its loading says why"
                raise VoiceNotAvailableError(message)
            with store.working_folder(own) as work:
                search = _Search(synthesizer, work, config.sample_rate, threshold, progress)
                try:
                    groups, candidates = search.run(calibration, measuring, trial)
                except UnknownGraphError as error:
                    message = f"{path} cannot be tuned: {error}"
                    raise VoiceNotAvailableError(message) from error
                chosen = choose(candidates, threshold)
                made, graphs = search.graphs_of(chosen)
                tuning = Tuning(
                    content,
                    asdict(this_processor()),
                    runtime().__version__,
                    __version__,
                    threshold,
                    tuple(groups),
                    tuple(candidates),
                    chosen.groups,
                    graphs,
                    made=datetime.now(UTC).isoformat(timespec="seconds"),
                    seconds=time.monotonic() - began,
                    peak_memory=_peak_memory(),
                )
                store.keep(own, made, tuning)
        finally:
            synthesizer.close()
    return tuning


def reset(model: str, tree: Source, cache: Path) -> bool:
    """Let a voice compute in float32 again; whether it was tuned.

    Raises:
        VoiceNotAvailableError: there is no such voice.
        OSError: the cache cannot be written.
    """
    own = cache / StyleBertVits2Family.name
    return store.forget(own, content_hash(graph_of(tree.fetch(f"{ONNX_SPEAKERS}/{model}")), own))


def found(model: str, tree: Source, cache: Path) -> Tuning | None:
    """What was found for a voice on this machine and is used when it is loaded; None if it speaks in float32 as it is.

    Raises:
        VoiceNotAvailableError: there is no such voice.
    """
    own = cache / StyleBertVits2Family.name
    content = content_hash(graph_of(tree.fetch(f"{ONNX_SPEAKERS}/{model}")), own)
    tuning = store.stored(own, content)
    return tuning if tuning is not None and (not tuning.chosen or store.usable(own, content)) else None


class _Search:
    """Tries groups by themselves, then sets of them."""

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
            graph = Graph(self._exact.paths[part])
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


def _utterances(
    model: str, tree: Source, cache: Path, config: VoiceConfig
) -> tuple[list[Utterance], list[Utterance], Utterance]:
    """Sentences of calibration and measuring, and that of the trials; all styles and speakers have their turns."""
    voice = StyleBertVits2Family().load_for_processor(model, LoadContext("cpu", TextPipeline(), cache, source=tree))
    styles = tuple(config.styles)

    def ready(sentence: str, number: int) -> Utterance:
        options = SpeechOptions.of({"style": styles[number % len(styles)], "speaker_id": number % config.speakers})
        return Utterance(voice.network_input(sentence, options), controls_of(options), seed=number)

    try:
        calibration = [ready(sentence, number) for number, sentence in enumerate(CALIBRATION)]
        measuring = [ready(sentence, number + len(CALIBRATION)) for number, sentence in enumerate(MEASURING)]
    finally:
        voice.close()
    return calibration, measuring, calibration[CALIBRATION.index(TRIAL)]


def _require_onnx() -> None:
    if importlib.util.find_spec("onnx") is None:
        message = "tuning a voice needs the package onnx; run: pip install onnx"
        raise VoiceNotAvailableError(message)


def _peak_memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
