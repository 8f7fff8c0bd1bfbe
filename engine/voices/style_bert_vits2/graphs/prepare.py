"""The one-time preparation of a published synthesizer graph into the cache.

It makes speech reproducible (noise becomes an input), loading quick (constants folded: a traced graph has 15,000
nodes) and memory small (weights in files of their own, which are mapped; the decoder by itself, which can then run in
windows). What it made is compared with the original before it is used; where anything stands in the way, the original
is used as it is.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

from engine.errors import EngineError, VoiceNotAvailableError
from engine.voices.style_bert_vits2.graphs import check as graph_check
from engine.voices.style_bert_vits2.graphs import split as graph_split
from engine.voices.style_bert_vits2.graphs.cache import facts_of, open_prepared, optimize
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.graphs.file import load_model, save_model
from engine.voices.style_bert_vits2.graphs.guard import check_graph
from engine.voices.style_bert_vits2.graphs.names import resolve_inputs
from engine.voices.style_bert_vits2.graphs.quick_decoder import forget, quick_decoder
from engine.voices.style_bert_vits2.runtime.synthesizer import (
    CONVERTED_NAMES,
    PARTS,
    WINDOW,
    PartedSynthesizer,
    PartNames,
    PublishedSynthesizer,
    Substitutes,
)
from engine.voices.style_bert_vits2.tuning.store import usable

PREPARATION_REVISION = "1"
"""Raised whenever a graph would be prepared otherwise."""

_log = logging.getLogger(__name__)
_TRIAL_WINDOW = 8  # so small that even the short sample is decoded in several


def open_synthesizer(
    path: Path, cache: Path, *, margin: int, tuned: bool = True
) -> PublishedSynthesizer | PartedSynthesizer:
    """Load a published graph: in the parts that lie beside it or were prepared, else as it is.

    The first time for a graph without parts, they are prepared. Where they were tuned on this machine, and nothing of
    that is damaged, the tuned ones are taken.

    Args:
        path: of the published graph.
        cache: folder for what is prepared; need not exist, and may turn out not to be writable.
        margin: see ``PartedSynthesizer``.
        tuned: whether parts that were tuned may be taken.

    Raises:
        VoiceNotAvailableError: the graph itself cannot be used.
    """
    parts = [path.parent / name for name in PARTS]
    parted = all(part.is_file() for part in parts)
    for graph in (path, *(parts if parted else ())):
        check_graph(graph)
    content = content_hash(path, cache)
    choice = usable(cache, content) if tuned else None
    if parted:
        try:
            return _first_good(
                choice,
                lambda: quick_decoder(path.parent / PARTS[2], content, cache),
                lambda chosen: PartedSynthesizer(
                    path.parent, content[:24], CONVERTED_NAMES, margin=margin, instead=chosen
                ),
            )
        except (LookupError, ValueError) as error:
            message = (
                f"{', '.join(PARTS)} in {path.parent} are not of Asagoe's making ({error}); convert the voice again"
            )
            raise VoiceNotAvailableError(message) from error
    prepared = open_prepared(
        path,
        content,
        cache,
        PREPARATION_REVISION,
        build=lambda work: _build(path, work, margin),
        opened=lambda folder: _first_good(
            choice,
            lambda: quick_decoder(folder / PARTS[2], content, cache),
            lambda chosen: _opened(folder, facts_of(folder), content[:24], instead=chosen),
        ),
        loss="its speech is not reproducible",
    )
    return prepared or PublishedSynthesizer(path, content[:24])


def _first_good(
    tuned: Substitutes | None,
    quick: Callable[[], Substitutes | None],
    opened: Callable[[Substitutes | None], PartedSynthesizer],
) -> PartedSynthesizer:
    """The network with the tuned parts, or in float32 where they cannot be used; with its quick decoder if it can.

    The quick decoder is made only where no tuned one takes its place.
    """
    if tuned is not None:
        try:
            return opened(tuned if PARTS[2] in tuned.graphs else _both(tuned, quick()))
        except (EngineError, OSError, LookupError, ValueError) as error:
            folders = ", ".join(sorted({str(graph.parent) for graph in tuned.graphs.values()}))
            _log.warning("What was tuned in %s is damaged (%s); float32 is used. Tune the voice again.", folders, error)
    decoder = quick()
    if decoder is not None:
        try:
            return opened(decoder)
        except (EngineError, OSError, LookupError, ValueError) as error:
            forget(decoder.graphs[PARTS[2]].parent, error)
    return opened(None)


def _both(tuned: Substitutes, quick: Substitutes | None) -> Substitutes:
    if quick is None:
        return tuned
    return Substitutes({**quick.graphs, **tuned.graphs}, f"{tuned.variant} {quick.variant}")


def _opened(
    folder: Path, text: str, content: str, *, window: int = WINDOW, instead: Substitutes | None = None
) -> PartedSynthesizer:
    facts = json.loads(text)
    names = PartNames(facts["inputs"], graph_split.NOISE_W, graph_split.NOISE, facts["durations"], facts["latent"])
    return PartedSynthesizer(
        folder,
        content,
        names,
        margin=facts["margin"],
        channels=facts["channels"],
        window=window,
        instead=instead,
    )


def _build(path: Path, work: Path, margin: int) -> str:
    model = load_model(path)
    inputs = dict(resolve_inputs(path, [item.name for item in model.graph.input]))
    marks = graph_split.landmarks(model)
    wanted = graph_check.expected(model, marks, inputs, work / "original.onnx")

    graph_split.with_noise_inputs(model, marks)
    whole, folded = work / "whole.onnx", work / "folded.onnx"
    save_model(graph_split.with_outputs(model, marks.audio, marks.durations, marks.latent), whole)
    del model
    optimize(whole, folded, "ORT_ENABLE_BASIC")
    for name, part in zip(PARTS, graph_split.split(load_model(folded), marks), strict=True):
        save_model(part, whole)
        # Not more than EXTENDED: what ALL adds is for the very processor, and quickly done at each load.
        optimize(whole, work / name, "ORT_ENABLE_EXTENDED", weights=f"{name}.data")
    whole.unlink()
    folded.unlink()
    facts = json.dumps(
        {
            "inputs": inputs,
            "durations": marks.durations,
            "latent": marks.latent,
            "channels": wanted.channels,
            "margin": margin,
        }
    )
    prepared = _opened(work, facts, "trial", window=_TRIAL_WINDOW)
    try:
        graph_check.verify(wanted, prepared)
    finally:
        prepared.close()
    return facts
