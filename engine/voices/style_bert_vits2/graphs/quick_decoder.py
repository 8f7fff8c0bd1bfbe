"""The quickest exact form of a decoder on this machine, made once and kept in the cache.

Whether rows (see ``decoder_rows``) are quicker depends on the processor and on ONNX Runtime: it is measured here, and
they are taken only where they save time and give the same samples.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.turns import working
from engine.voices.style_bert_vits2.graphs.cache import facts_of, open_prepared, optimize
from engine.voices.style_bert_vits2.graphs.check import TOLERANCE
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.graphs.file import load_model, save_model
from engine.voices.style_bert_vits2.graphs.rows import ROWS, in_rows, sizes_of_inputs
from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.runtime.synthesizer import PARTS, Substitutes
from engine.voices.style_bert_vits2.tuning.layers import unfuse
from engine.voices.style_bert_vits2.tuning.measure import in_turns
from engine.voices.style_bert_vits2.tuning.processor import this_processor

if TYPE_CHECKING:
    from onnx import ModelProto

REVISION = "1"
"""Raised whenever rows would be made or chosen otherwise."""

_DECODER = PARTS[2]
_FRAMES = 48  # of the trial: half a second of sound, which takes a Raspberry Pi 4 two seconds
_ROUNDS = 3
_WORTH = 0.95  # share of the processor time that rows may take to be chosen
_log = logging.getLogger(__name__)


def quick_decoder(path: Path, content: str, cache: Path) -> Substitutes | None:
    """The decoder in rows; None where the portable one is as quick, or rows cannot be made of it.

    Args:
        path: of the portable decoder.
        content: hash of the network.
        cache: of the family; where it cannot be written, the portable one has to do.
    """
    key = f"{content[:12]}{content_hash(path, cache)[:12]}"
    folder = open_prepared(
        path,
        key,
        cache,
        f"{ROWS}{REVISION}-{this_processor().id}",
        build=lambda work: _build(path, work),
        opened=_chosen,
        loss="which takes longer",
    )
    return Substitutes({_DECODER: folder / _DECODER}, ROWS) if folder is not None and folder.name else None


def forget(folder: Path, error: Exception) -> None:
    """Remove what turned out to be damaged, so that it is made again at the next start."""
    _log.warning("What was prepared in %s is damaged (%s); it is made again at the next start.", folder, error)
    shutil.rmtree(folder, ignore_errors=True)


def _chosen(folder: Path) -> Path:
    """The folder if its graph is to be used, else an empty path.

    Raises:
        ValueError: it cannot be read.
    """
    facts = json.loads(facts_of(folder))
    if not facts["use"]:
        return Path()
    if not (folder / _DECODER).is_file():
        message = f"{_DECODER} is missing"
        raise ValueError(message)
    return folder


def _build(path: Path, work: Path) -> str:
    """Write the graph if it is to be used; returns what was found."""
    draft, quick = work / "draft.onnx", work / _DECODER
    model = load_model(path)
    unfuse(model)
    try:
        given = _sample(model)
        save_model(in_rows(model), draft)
    except UnknownGraphError as error:
        _log.info("%s is used as it is: %s", path, error)
        return json.dumps({"use": False, "reason": str(error)})
    del model
    # ALL lays the weights out for this very processor, so that they are mapped instead of laid out at each start.
    optimize(draft, quick, "ORT_ENABLE_ALL", weights=f"{_DECODER}.data")
    draft.unlink()
    found = _compared(path, quick, given)
    if not found["use"]:
        quick.unlink()
        quick.with_name(f"{_DECODER}.data").unlink(missing_ok=True)
    _log.info("%s in rows: %s", path, found)
    return json.dumps(found)


def _sample(model: ModelProto) -> dict[str, np.ndarray]:
    """Noise for all inputs, always the same."""
    generator = np.random.Generator(np.random.PCG64(1))
    return {
        name: generator.standard_normal((1, channels, _FRAMES if moves else 1), np.float32)
        for name, (channels, moves) in sizes_of_inputs(model).items()
    }


def _compared(path: Path, quick: Path, given: dict[str, np.ndarray]) -> dict[str, object]:
    given = given | {ROWS: np.array([2])}
    graphs = [Graph(path), Graph(quick)]
    try:
        with working(background=lambda: True):  # whoever speaks goes first
            return _result(graphs, given)
    finally:
        for graph in graphs:
            graph.close()


def _result(graphs: list[Graph], given: dict[str, np.ndarray]) -> dict[str, object]:
    (exact,), (found,) = (graph.run(given).values() for graph in graphs)
    if exact.size != found.size or not np.abs(exact.reshape(-1) - found.reshape(-1)).max() <= TOLERANCE:
        return {"use": False, "reason": "its samples differ"}
    before, after = in_turns(lambda: graphs[0].run(given), lambda: graphs[1].run(given), _ROUNDS)
    return {"use": after <= _WORTH * before, "seconds": [round(before, 4), round(after, 4)]}
