"""Where tunings are kept: in the cache, for one network, one kind of processor and one release of ONNX Runtime.

    tuned/<network>/<processor>-onnxruntime<release>-<revision>/tuning.json  decoder.onnx  …

A folder appears whole or not at all. Whatever is wrong with it, the voice speaks in float32.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from engine.errors import EngineError
from engine.sources.lock import exclusive
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.graphs.guard import check_graph
from engine.voices.style_bert_vits2.runtime.session import runtime
from engine.voices.style_bert_vits2.runtime.synthesizer import PARTS, Substitutes
from engine.voices.style_bert_vits2.tuning.processor import this_processor
from engine.voices.style_bert_vits2.tuning.report import Tuning

REVISION = "2"
"""Raised whenever a tuning would turn out otherwise, or is stored otherwise."""

_FOLDER = "tuned"
_REPORT = "tuning.json"
_LOCK = ".lock"
_log = logging.getLogger(__name__)


def key() -> str:
    """What a tuning holds for, besides the network: this machine's processor and ONNX Runtime."""
    return f"{this_processor().id}-onnxruntime{runtime().__version__}-{REVISION}"


def usable(cache: Path, content: str) -> Substitutes | None:
    """The tuned graphs of a network for this machine; None where float32 is to be used.

    Args:
        cache: of the family.
        content: hash of the network.
    """
    found = stored(cache, content)
    if found is None or not found.chosen:
        return None
    folder = _folder(cache, content) / key()
    graphs = {name: folder / name for name in found.graphs}
    try:
        for name, graph in graphs.items():
            check_graph(graph)
            if name not in PARTS or content_hash(graph, cache) != found.graphs[name]:
                _damaged(folder, f"{name} is not what was written")
                return None
    except EngineError as error:
        _damaged(folder, str(error))
        return None
    digest = " ".join(value[:12] for _, value in sorted(found.graphs.items()))
    return Substitutes(graphs, f"tuned {digest}")


def stored(cache: Path, content: str) -> Tuning | None:
    """What was found for a network on this machine; None if nothing was, or it cannot be read."""
    network = _folder(cache, content)
    folder = network / key()
    try:
        found = Tuning.from_json((folder / _REPORT).read_text("utf-8"))
    except FileNotFoundError:
        if folder.exists():
            _damaged(folder, f"it has no {_REPORT}")
        elif any(network.glob(f"*/{_REPORT}")):
            _log.info(
                "What was tuned in %s holds for another processor or release of ONNX Runtime; float32 is used. "
                "Tune the voice again.",
                network,
            )
        return None
    except (OSError, ValueError) as error:
        _damaged(folder, str(error))
        return None
    if found.content != content:
        _damaged(folder, "it belongs to another network")
        return None
    return found


@contextmanager
def tuning_alone(cache: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Nobody else tunes meanwhile, whatever the voice: two that measure at once would measure each other.

    Raises:
        OSError: the cache cannot be written.
    """
    root = cache / _FOLDER
    with exclusive(root / _LOCK, waiting):
        for left in root.glob("*.part"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        yield


@contextmanager
def working_folder(cache: Path) -> Iterator[Path]:
    """A folder on the disk of the cache, removed at the end unless it was moved."""
    work = cache / _FOLDER / f"{uuid4().hex}.part"
    work.mkdir(parents=True)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def keep(cache: Path, made: Path, tuning: Tuning) -> Path:
    """Put a folder with graphs in its place, with the report; a former one goes, and those for other releases.

    Raises:
        OSError: the cache cannot be written.
    """
    (made / _REPORT).write_text(tuning.to_json(), "utf-8")
    target = _folder(cache, tuning.content) / key()
    target.parent.mkdir(parents=True, exist_ok=True)
    for former in target.parent.glob(f"{tuning.processor.id}-*"):
        _set_aside(cache, former)
    made.rename(target)
    return target


def forget(cache: Path, content: str) -> bool:
    """Go back to float32, for whichever processor a network was tuned; whether there was anything to forget.

    Raises:
        OSError: the cache cannot be written.
    """
    folder = _folder(cache, content)
    if not folder.exists():
        return False
    _set_aside(cache, folder)
    return True


def _set_aside(cache: Path, folder: Path) -> None:
    """Remove a folder at once: whoever opens it meanwhile finds all of it or nothing."""
    aside = cache / _FOLDER / f"{uuid4().hex}.part"
    try:
        folder.rename(aside)
    except FileNotFoundError:
        return
    shutil.rmtree(aside, ignore_errors=True)


def _folder(cache: Path, content: str) -> Path:
    return cache / _FOLDER / content[:24]


def _damaged(folder: Path, reason: str) -> None:
    _log.warning("What was tuned in %s is damaged (%s); float32 is used. Tune the voice again.", folder, reason)
