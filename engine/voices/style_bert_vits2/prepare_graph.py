"""The one-time preparation of a published synthesizer graph into the cache.

It makes speech reproducible (noise becomes an input), loading quick (constants folded: a traced graph has 15,000
nodes) and memory small (weights in files of their own, which are mapped; the decoder by itself, which can then run in
windows). What it made is compared with the original before it is used; where anything stands in the way, the original
is used as it is.
"""

from __future__ import annotations

import gc
import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from engine.errors import EngineError
from engine.memory import trim
from engine.voices.style_bert_vits2 import graph_check, graph_split
from engine.voices.style_bert_vits2.content_hash import content_hash
from engine.voices.style_bert_vits2.graph_file import load_model, save_model
from engine.voices.style_bert_vits2.graph_names import resolve_inputs
from engine.voices.style_bert_vits2.onnx_session import Graph, runtime, session_options
from engine.voices.style_bert_vits2.onnx_synthesizer import (
    CONVERTED_NAMES,
    PARTS,
    WINDOW,
    PartedSynthesizer,
    PartNames,
    PublishedSynthesizer,
)

PREPARATION_REVISION = "1"
"""Raised whenever a graph would be prepared otherwise."""

_FACTS = "prepared.json"
_REFUSED = "refused.txt"
_TRIAL_WINDOW = 8  # so small that even the short sample is decoded in several
_log = logging.getLogger(__name__)


def open_synthesizer(path: Path, cache: Path, *, margin: int) -> PublishedSynthesizer | PartedSynthesizer:
    """Load a published graph: in the parts that lie beside it or were prepared, else as it is.

    The first time for a graph without parts, they are prepared.

    Args:
        path: of the published graph.
        cache: folder for what is prepared; need not exist, and may turn out not to be writable.
        margin: see ``PartedSynthesizer``.

    Raises:
        VoiceNotAvailableError: the graph itself cannot be used.
    """
    content = content_hash(path, cache)
    if all((path.parent / name).is_file() for name in PARTS):
        return PartedSynthesizer(path.parent, content[:24], CONVERTED_NAMES, margin=margin)
    folder = cache / "prepared" / f"{content[:24]}-onnxruntime{runtime().__version__}-{PREPARATION_REVISION}"
    if not (folder / _FACTS).exists() and not (folder / _REFUSED).exists():
        _prepare(path, content, folder, margin)
    if (folder / _FACTS).exists():
        try:
            return _prepared(folder)
        except (EngineError, OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("The prepared graph in %s is damaged (%s); it is made again.", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
            _prepare(path, content, folder, margin)
            if (folder / _FACTS).exists():
                return _prepared(folder)
    return PublishedSynthesizer(path, content[:24])


def _prepared(folder: Path, *, window: int = WINDOW) -> PartedSynthesizer:
    facts = json.loads((folder / _FACTS).read_text("utf-8"))
    names = PartNames(facts["inputs"], graph_split.NOISE_W, graph_split.NOISE, facts["durations"], facts["latent"])
    return PartedSynthesizer(
        folder, facts["content"], names, margin=facts["margin"], channels=facts["channels"], window=window
    )


def _prepare(path: Path, content: str, folder: Path, margin: int) -> None:
    """Make the folder appear whole, or say in it why it cannot be made, or log why it cannot be written."""
    try:
        with _appearing(folder) as work:
            try:
                _build(path, content, work, margin)
            except (graph_split.UnknownGraphError, EngineError) as error:
                _log.warning("%s is used as it is, its speech is not reproducible: %s.", path, error)
                _empty(work)
                (work / _REFUSED).write_text(f"{error}\n", "utf-8")
    except OSError as error:
        _log.warning("%s is used as it is: nothing can be kept in %s (%s).", path, folder.parent, error)
    except ImportError as error:
        _log.warning("%s is used as it is, its speech is not reproducible: %s; run: pip install onnx", path, error)
    finally:
        gc.collect()
        trim()  # the graph was in memory several times over


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A working folder that takes the place of ``folder`` at the end, unless another process was first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = folder.parent / f".{folder.name}.{uuid4().hex}.part"
    work.mkdir()
    try:
        yield work
        try:
            work.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process has just prepared the same graph
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def _build(path: Path, content: str, work: Path, margin: int) -> None:
    model = load_model(path)
    inputs = dict(resolve_inputs(path, [item.name for item in model.graph.input]))
    marks = graph_split.landmarks(model)
    wanted = graph_check.expected(model, marks, inputs, work / "original.onnx")

    graph_split.with_noise_inputs(model, marks)
    whole, folded = work / "whole.onnx", work / "folded.onnx"
    save_model(graph_split.with_outputs(model, marks.audio, marks.durations, marks.latent), whole)
    del model
    _optimize(whole, folded, "ORT_ENABLE_BASIC")
    for name, part in zip(PARTS, graph_split.split(load_model(folded), marks), strict=True):
        save_model(part, whole)
        # Not more than EXTENDED: what ALL adds is for the very processor, and quickly done at each load.
        _optimize(whole, work / name, "ORT_ENABLE_EXTENDED", weights=f"{name}.data")
    whole.unlink()
    folded.unlink()
    facts = {
        "content": content[:24],
        "inputs": inputs,
        "durations": marks.durations,
        "latent": marks.latent,
        "channels": wanted.channels,
        "margin": margin,
    }
    (work / _FACTS).write_text(json.dumps(facts), "utf-8")
    prepared = _prepared(work, window=_TRIAL_WINDOW)
    try:
        graph_check.verify(wanted, prepared)
    finally:
        prepared.close()


def _optimize(path: Path, target: Path, level: str, weights: str | None = None) -> None:
    """Let ONNX Runtime simplify a graph and write it."""
    options = session_options(level)
    options.optimized_model_filepath = str(target)
    if weights:
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", weights)
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    Graph(path, options=options).close()
