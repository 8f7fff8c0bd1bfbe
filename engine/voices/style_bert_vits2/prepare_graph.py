"""The one-time preparation of a published synthesizer graph into the cache.

It makes speech reproducible (noise becomes an input), loading quick (constants folded: a traced graph has 15,000
nodes) and memory small (weights in a file of their own, which is mapped). What it made is compared with the original
before it is used; where anything stands in the way, the original is used as it is.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from engine.errors import EngineError
from engine.voices.style_bert_vits2 import graph_check, graph_split
from engine.voices.style_bert_vits2.content_hash import content_hash
from engine.voices.style_bert_vits2.graph_names import resolve_inputs
from engine.voices.style_bert_vits2.onnx_session import Graph, runtime, session_options
from engine.voices.style_bert_vits2.onnx_synthesizer import (
    AUDIO_PART,
    FACTS,
    TEXT_PART,
    PreparedSynthesizer,
    PublishedSynthesizer,
)

PREPARATION_REVISION = "1"
"""Raised whenever a graph would be prepared otherwise."""

_REFUSED = "refused.txt"
_log = logging.getLogger(__name__)


def open_synthesizer(path: Path, cache: Path) -> PublishedSynthesizer | PreparedSynthesizer:
    """Load a published graph, prepared if possible; the first time for a graph, prepare it.

    Args:
        path: of the published graph.
        cache: folder for what is prepared; need not exist, and may turn out not to be writable.

    Raises:
        VoiceNotAvailableError: the graph itself cannot be used.
    """
    content = content_hash(path, cache)
    folder = cache / "prepared" / f"{content[:24]}-onnxruntime{runtime().__version__}-{PREPARATION_REVISION}"
    if not (folder / FACTS).exists() and not (folder / _REFUSED).exists():
        _prepare(path, content, folder)
    if (folder / FACTS).exists():
        try:
            return PreparedSynthesizer(folder)
        except (EngineError, OSError, ValueError, KeyError) as error:
            _log.warning("The prepared graph in %s is damaged (%s); it is made again.", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
            _prepare(path, content, folder)
            if (folder / FACTS).exists():
                return PreparedSynthesizer(folder)
    return PublishedSynthesizer(path, content)


def _prepare(path: Path, content: str, folder: Path) -> None:
    """Make the folder appear whole, or say in it why it cannot be made, or log why it cannot be written."""
    try:
        with _appearing(folder) as work:
            try:
                _build(path, content, work)
            except (graph_split.UnknownGraphError, ImportError) as error:
                _log.warning("%s is used as it is, its speech is not reproducible: %s.", path, error)
                _empty(work)
                (work / _REFUSED).write_text(f"{error}\n", "utf-8")
    except OSError as error:
        _log.warning("%s is used as it is: nothing can be kept in %s (%s).", path, folder.parent, error)


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


def _build(path: Path, content: str, work: Path) -> None:
    import onnx  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        model = onnx.load(path)
    except (DecodeError, ValueError, onnx.checker.ValidationError) as error:
        message = f"the onnx package cannot read it ({error})"
        raise graph_split.UnknownGraphError(message) from error
    names = dict(resolve_inputs(path, [item.name for item in model.graph.input]))
    marks = graph_split.landmarks(model)
    wanted = graph_check.expected(model, marks, names, work / "original.onnx")

    graph_split.with_noise_inputs(model, marks)
    whole = work / "whole.onnx"
    _save(graph_split.with_outputs(model, marks.audio, marks.durations), whole)
    del model
    folded = work / "folded.onnx"
    _optimize(whole, folded, "ORT_ENABLE_BASIC")
    for name, part in zip(
        (TEXT_PART, AUDIO_PART), graph_split.split(onnx.load(folded), marks.durations, marks.audio), strict=True
    ):
        _save(part, whole)
        # Not more than EXTENDED: what ALL adds is for the very processor, and quickly done at each load.
        _optimize(whole, work / name, "ORT_ENABLE_EXTENDED", weights=f"{name}.data")
    for file in (whole, folded):
        file.unlink()
    facts = {"content": content[:24], "names": names, "durations": marks.durations, "channels": wanted.channels}
    (work / FACTS).write_text(json.dumps(facts), "utf-8")
    prepared = PreparedSynthesizer(work)
    try:
        graph_check.verify(wanted, prepared)
    finally:
        prepared.close()


def _save(model: Any, path: Path) -> None:
    path.write_bytes(model.SerializeToString())


def _optimize(path: Path, target: Path, level: str, weights: str | None = None) -> None:
    """Let ONNX Runtime simplify a graph and write it."""
    options = session_options(level)
    options.optimized_model_filepath = str(target)
    if weights:
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", weights)
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    Graph(path, options=options).close()
