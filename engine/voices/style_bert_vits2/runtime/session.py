"""ONNX Runtime, with the settings of a service that runs for weeks beside others."""

from __future__ import annotations

import ctypes
import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.errors import EngineDefectError, VoiceNotAvailableError
from engine.forking import generation, renewed_after_fork
from engine.turns import Turns

if TYPE_CHECKING:
    from types import ModuleType

_NUMPY_TYPES = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
}
_MAX_THREADS = 8
_SPIN = "20"
"""Microseconds: 2 % less time for 0.4 % more of the processor; 100 gain no more (measured with two cores)."""
_BOUNDED_SPINNING = [1, 32]
"""The first release of ONNX Runtime of which it is known that it bounds the spinning of a session's threads."""
_log = logging.getLogger(__name__)
# One computation at a time with all threads: as fast as two side by side with half of them, and never more threads
# than the budget. Speakers still take turns at each stage of a sentence and at each window of the decoder, and whoever
# is waited for goes before what is rendered ahead.
_computing = Turns()


def runtime() -> ModuleType:
    """Import ONNX Runtime.

    Raises:
        VoiceNotAvailableError: it is not installed, or not for this machine.
    """
    try:
        import onnxruntime  # noqa: PLC0415 - 80 MB that only a neural voice needs
    except ImportError as error:
        message = f"neural voices need ONNX Runtime, which cannot be imported ({error}); run: pip install onnxruntime"
        raise VoiceNotAvailableError(message) from error
    onnxruntime.set_default_logger_severity(3)  # its warnings about unused initialisers concern no one here
    if shares_pool():
        _start_pool()
    return onnxruntime  # type: ignore[no-any-return]


def shares_pool() -> bool:
    """Whether all sessions compute in one pool of threads: ``ASAGOE_SHARED_POOL=1``.

    Then the process has as many threads as cores, however many speakers. The pool waits by spinning, which its Python
    interface cannot change, so that on a busy machine speech takes half as much processor time again: the default is
    threads of each session's own, which sleep. A forked process has no pool.
    """
    return os.environ.get("ASAGOE_SHARED_POOL") == "1" and generation() == 0


@cache
def _start_pool() -> None:
    import onnxruntime  # noqa: PLC0415

    try:
        onnxruntime.set_global_thread_pool_sizes(thread_budget(), 1)
    except (AttributeError, RuntimeError) as error:  # an older release; or the program has started one itself
        _log.warning("ASAGOE_SHARED_POOL has no effect: %s", error)


def thread_budget() -> int:
    """Threads for computing: ``ASAGOE_THREADS``, else the cores of the process, hyper-threads not counted twice."""
    wanted = os.environ.get("ASAGOE_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if cores <= 4 else min(cores // 2, _MAX_THREADS)


def session_options(level: str = "ORT_ENABLE_ALL", *, packed: bool = True, threads: int | None = None) -> Any:
    """Options of a session: the thread budget, no spinning, errors only.

    Args:
        level: of graph optimisation.
        packed: whether weights are copied into the order that is quickest to compute with.
        threads: of its own; None for the whole budget. Each session keeps its threads, asleep, for as long as it lives:
            one that gains nothing by more should say 1.
    """
    ort = runtime()
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    if shares_pool():
        options.use_per_session_threads = False
    options.intra_op_num_threads = threads or thread_budget()
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    for key, value in _waiting(ort.__version__).items():
        options.add_session_config_entry(f"session.intra_op.{key}", value)
    if not packed:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return options


def _waiting(release: str) -> dict[str, str]:
    """How threads wait for their next share of the work: asleep, after a moment of spinning where it can be so short.

    Threads that spin for as long as ONNX Runtime lets them take the processor from whatever else runs on a small
    machine. A moment bridges what lies between two layers; older releases know no bound.
    """
    numbers = [int(part) for part in re.findall(r"\d+", release)[:2]]
    if numbers < _BOUNDED_SPINNING:
        return {"allow_spinning": "0"}
    return {"allow_spinning": "1", "spin_duration_us": _SPIN}


class Graph:
    """A loaded ONNX graph, run on the processor."""

    def __init__(self, path: Path, *, packed: bool = True, level: str = "ORT_ENABLE_ALL", options: Any = None) -> None:
        ort = runtime()
        errors = _runtime_errors()
        options = options or session_options(level, packed=packed)
        try:
            session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except errors as error:
            message = f"{path} is not a usable ONNX graph ({_reason(error)}); fetch or convert the voice again"
            raise VoiceNotAvailableError(message) from error
        self._session: Any = session
        renewed_after_fork(self, Graph._leave_behind)
        self._run_options = ort.RunOptions()
        # What a long sentence needed goes back to the allocator, instead of being kept for ever.
        self._run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self._errors = errors
        self.path = path
        self.inputs = {
            item.name: (_numpy_type(path, item.name, item.type), tuple(item.shape)) for item in session.get_inputs()
        }
        self._output_shapes = {item.name: tuple(item.shape) for item in session.get_outputs()}
        self.outputs = list(self._output_shapes)

    def run(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Compute all outputs, by name.

        Args:
            values: by name; those that are no inputs of the graph are passed over, the others are cast to the types
                and numbers to the shapes that it declares.

        Raises:
            EngineDefectError: ONNX Runtime fails: the graph and the inputs do not fit together.
        """
        given = {name: self._fitted(name, values[name]) for name in self.inputs}
        try:
            with _computing.turn():
                results = self._session.run(self.outputs, given, self._run_options)
        except self._errors as error:
            message = f"{self.path} failed ({_reason(error)})"
            raise EngineDefectError(message) from error
        return {name: np.asarray(result) for name, result in zip(self.outputs, results, strict=True)}

    def last_size(self, output: str) -> int:
        """Size of the last dimension of an output; 0 if the graph leaves it open."""
        size = self._output_shapes[output][-1] if self._output_shapes[output] else 0
        return size if isinstance(size, int) else 0

    def close(self) -> None:
        """Free the session. Closing twice is harmless."""
        self._session = None

    def _leave_behind(self) -> None:
        """In a forked process: to run the session, or to free it, would wait for threads that did not come along."""
        if self._session is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._session))
            self._session = None

    def _fitted(self, name: str, value: np.ndarray) -> np.ndarray:
        dtype, shape = self.inputs[name]
        array = np.ascontiguousarray(value, dtype)
        if array.size == 1 and len(shape) != array.ndim:  # a number: some exports take [1], some a scalar
            return array.reshape((1,) * len(shape))
        return array


def _numpy_type(path: Path, name: str, declared: str) -> Any:
    if declared not in _NUMPY_TYPES:
        message = f"{path} takes {declared} as {name}, which is not supported; convert the voice again"
        raise VoiceNotAvailableError(message)
    return _NUMPY_TYPES[declared]


def _runtime_errors() -> tuple[type[Exception], ...]:
    """The exceptions that ONNX Runtime raises; their common base is Exception."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415

    names = (
        "EPFail", "EngineError", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "ModelLoaded",
        "NoModel", "NoSuchFile", "NotImplemented", "RuntimeException",
    )  # fmt: skip
    return (*(getattr(state, name) for name in names if hasattr(state, name)), RuntimeError, ValueError)


def _reason(error: Exception) -> str:
    """What ONNX Runtime complains of, without the path and the file names of its own sources before it."""
    return re.sub(r"^.*failed:|^.*?Status Message: |\s+", " ", str(error)).strip()[:200] or type(error).__name__
