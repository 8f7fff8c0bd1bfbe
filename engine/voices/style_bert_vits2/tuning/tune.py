"""The whole of tuning a voice: from its name to a stored choice.

    source = parse_source("file:///srv/voices")
    print(tune("my-voice", open_tree(source, cache_root()), cache_root()).precision)

What was chosen is used whenever the voice is loaded on this machine.
"""

from __future__ import annotations

import importlib.util
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from engine._version import __version__
from engine.errors import VoiceNotAvailableError
from engine.options import SpeechOptions
from engine.sources import Source
from engine.text import TextPipeline
from engine.voices.base import LoadContext
from engine.voices.style_bert_vits2.family import StyleBertVits2Family, graph_of
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError
from engine.voices.style_bert_vits2.layout import ONNX_SPEAKERS
from engine.voices.style_bert_vits2.model_folder import VoiceConfig, read_config
from engine.voices.style_bert_vits2.runtime.session import runtime
from engine.voices.style_bert_vits2.runtime.synthesizer import PartedSynthesizer
from engine.voices.style_bert_vits2.tuning import store
from engine.voices.style_bert_vits2.tuning.choose import choose
from engine.voices.style_bert_vits2.tuning.measure import Utterance
from engine.voices.style_bert_vits2.tuning.processor import this_processor
from engine.voices.style_bert_vits2.tuning.report import Tuning
from engine.voices.style_bert_vits2.tuning.search import Progress, Search
from engine.voices.style_bert_vits2.tuning.sentences import CALIBRATION, MEASURING, TRIAL
from engine.voices.style_bert_vits2.voice import controls_of

THRESHOLD = 35.0
"""Least SNR in dB that a variant must have, where nothing else is asked for."""


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
        synthesizer = open_synthesizer(path, own, margin=config.margin, tuned=False)
        try:
            if not isinstance(synthesizer, PartedSynthesizer):
                message = f"{path} cannot be tuned: it could not be cut into parts; the journal of its loading says why"
                raise VoiceNotAvailableError(message)
            calibration, measuring, trial = _utterances(model, tree, cache, config)
            with store.working_folder(own) as work:
                search = Search(synthesizer, work, config.sample_rate, threshold, progress)
                try:
                    groups, candidates = search.run(calibration, measuring, trial)
                except UnknownGraphError as error:
                    message = f"{path} cannot be tuned: {error}"
                    raise VoiceNotAvailableError(message) from error
                chosen = choose(candidates, threshold)
                made, graphs = search.graphs_of(chosen)
                tuning = Tuning(
                    content,
                    this_processor(),
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
