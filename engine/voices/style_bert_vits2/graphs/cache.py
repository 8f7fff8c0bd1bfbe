"""Prepared graphs in the cache: made once, whole or not at all, and never in the way of the original."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from engine.errors import EngineError
from engine.memory import trim
from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError
from engine.voices.style_bert_vits2.runtime.session import Graph, runtime, session_options

Opened = TypeVar("Opened")

_DONE = "prepared.json"
_REFUSED = "refused.txt"
_ABANDONED = 3600  # seconds after which a working folder belongs to no running process
_REFUSAL_HOLDS = 7 * 86400  # seconds: the reason may have been one that passes, such as too little memory
_UNUSED = 30 * 86400
"""Seconds for which a preparation for another release is kept; each takes as much disk as the voice."""
_preparing = threading.Lock()  # one at a time: a graph is in memory several times over meanwhile
_log = logging.getLogger(__name__)


def open_prepared(
    path: Path,
    content: str,
    cache: Path,
    revision: str,
    *,
    build: Callable[[Path], str],
    opened: Callable[[Path], Opened],
    loss: str,
) -> Opened | None:
    """Open what was prepared of a graph; the first time, prepare it.

    Two processes may do so at once; a damaged preparation is made again.

    Args:
        path: of the original.
        content: its hash.
        cache: folder for what is prepared; need not exist, and may turn out not to be writable.
        revision: raised whenever a graph would be prepared otherwise.
        build: fills a working folder and returns what ``opened`` must know, as text; it raises ``UnknownGraphError``
            where a graph cannot be prepared, which is remembered for a week.
        opened: opens a folder that ``build`` filled.
        loss: what the user loses with the original, for the log.

    Returns:
        What ``opened`` returned; None if the original has to do.
    """
    folder = cache / "prepared" / f"{content[:24]}-onnxruntime{runtime().__version__}-{revision}"
    refused = _refusal(folder)
    if refused is not None:
        _log.warning("%s is used as it is, %s: %s. Delete %s to try again.", path, loss, refused, folder)
        return None
    for _ in range(2):
        if not (folder / _DONE).exists():
            with _preparing:
                if not (folder / _DONE).exists():
                    _prepare(path, folder, build, loss)
        if not (folder / _DONE).exists():
            return None
        try:
            found = opened(folder)
        except (EngineError, OSError, ValueError, LookupError, TypeError) as error:
            _log.warning("What was prepared in %s is damaged (%s); it is made again.", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _used(folder)
            return found
    return None


def _used(folder: Path) -> None:
    """Note when it was used last; what was prepared of the same graph for other releases and is not used any more goes.

    Two programs with different releases may share a cache: only what neither used for long is removed.
    """
    with suppress(OSError):
        os.utime(folder / _DONE)
    for other in folder.parent.glob(f"{folder.name.partition('-')[0]}-*"):
        with suppress(OSError):
            notes = [other / name for name in (_DONE, _REFUSED) if (other / name).exists()]
            if other != folder and notes and time.time() - max(n.stat().st_mtime for n in notes) > _UNUSED:
                shutil.rmtree(other, ignore_errors=True)


def facts_of(folder: Path) -> str:
    """What ``build`` returned.

    Raises:
        OSError: it cannot be read.
    """
    return (folder / _DONE).read_text("utf-8")


def optimize(path: Path, target: Path, level: str, weights: str | None = None) -> None:
    """Let ONNX Runtime simplify a graph and write it, with ``weights`` as the file beside it."""
    options = session_options(level)
    options.optimized_model_filepath = str(target)
    if weights:
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", weights)
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    Graph(path, options=options).close()


def _refusal(folder: Path) -> str | None:
    """Why an earlier preparation was refused, or None if there was none or it is long ago."""
    note = folder / _REFUSED
    try:
        if time.time() - note.stat().st_mtime <= _REFUSAL_HOLDS:
            return note.read_text("utf-8").strip()
    except OSError:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _prepare(path: Path, folder: Path, build: Callable[[Path], str], loss: str) -> None:
    """Make the folder appear whole, or say in it why it cannot be made, or log why it cannot be written."""
    try:
        with _appearing(folder) as work:
            try:
                (work / _DONE).write_text(build(work), "utf-8")
            except (UnknownGraphError, EngineError) as error:
                _refuse(work, path, loss, str(error))
            except (LookupError, TypeError, ValueError) as error:
                # Surgery on a graph that somebody else built meets things that nobody foresaw; the original speaks.
                _refuse(work, path, loss, f"it is built in an unknown way ({error!r})")
    except OSError as error:
        _log.warning("%s is used as it is, %s: nothing can be kept in %s (%s).", path, loss, folder.parent, error)
    except ImportError as error:
        _log.warning("%s is used as it is, %s: %s; run: pip install onnx", path, loss, error)
    finally:
        gc.collect()
        trim()  # the graph was in memory several times over


def _refuse(work: Path, path: Path, loss: str, reason: str) -> None:
    _log.warning("%s is used as it is, %s: %s.", path, loss, reason)
    shutil.rmtree(work)
    work.mkdir()
    (work / _REFUSED).write_text(f"{reason}\n", "utf-8")


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A working folder that takes the place of ``folder`` at the end, unless another process was first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(".*.part"):
        if time.time() - left.stat().st_mtime > _ABANDONED:
            shutil.rmtree(left, ignore_errors=True)
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
