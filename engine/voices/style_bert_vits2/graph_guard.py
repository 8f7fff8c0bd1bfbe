"""Models are data, not code: what a graph may not ask for, checked before a library opens it.

The file is walked as protobuf (https://protobuf.dev/programming-guides/encoding/) with the field numbers of onnx.proto;
weights are stepped over, so that a graph of 600 MB is checked without being read.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from engine.errors import VoiceNotAvailableError

_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"}
"""Operators that ONNX Runtime brings itself; the last two are what its own optimisation leaves."""
_CALLS_OUT = {"ATen", "PythonOp", "PyOp"}
"""Operators that run what is not in the graph, in whichever domain."""

# onnx.proto: message, field number: what is in it
_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _TENSOR, _SPARSE, _FUNCTION, _ENTRY = range(8)
_INSIDE = {
    (_MODEL, 7): _GRAPH,
    (_MODEL, 25): _FUNCTION,
    (_GRAPH, 1): _NODE,
    (_GRAPH, 5): _TENSOR,
    (_GRAPH, 15): _SPARSE,
    (_NODE, 5): _ATTRIBUTE,
    (_ATTRIBUTE, 5): _TENSOR,
    (_ATTRIBUTE, 6): _GRAPH,
    (_ATTRIBUTE, 10): _TENSOR,
    (_ATTRIBUTE, 11): _GRAPH,
    (_ATTRIBUTE, 22): _SPARSE,
    (_ATTRIBUTE, 23): _SPARSE,
    (_SPARSE, 1): _TENSOR,
    (_SPARSE, 2): _TENSOR,
    (_TENSOR, 13): _ENTRY,
    (_FUNCTION, 7): _NODE,
    (_FUNCTION, 11): _ATTRIBUTE,
}
_DEEPEST = 64


def check_graph(path: Path) -> None:
    """Check a graph that came from elsewhere.

    Raises:
        VoiceNotAvailableError: it uses operators that ONNX Runtime does not bring, or weights outside its folder, or is
            no ONNX file.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            fault = next(_faults(data), None)
    except (OSError, ValueError, IndexError) as error:
        message = f"{path} is not a usable ONNX graph ({error}); fetch or convert the voice again"
        raise VoiceNotAvailableError(message) from error
    if fault:
        message = f"{path} {fault}; it is not opened, because models must be data and nothing else"
        raise VoiceNotAvailableError(message)


def _faults(data: mmap.mmap) -> Iterator[str]:
    """What is wrong, a phrase each."""
    own: set[tuple[str, str]] = set()  # functions of the model itself are made of other operators
    operators: list[tuple[str, str]] = []
    todo = [(_MODEL, 0, len(data), 0)]
    while todo:
        kind, start, end, depth = todo.pop()
        if depth > _DEEPEST:
            yield f"has graphs within graphs, deeper than {_DEEPEST}"
            return
        texts: dict[int, str] = {}
        for field, first, last in _fields(data, start, end):
            inside = _INSIDE.get((kind, field))
            if inside is not None:
                todo.append((inside, first, last, depth + 1))
            elif (kind, field) in {(_NODE, 4), (_NODE, 7), (_FUNCTION, 1), (_FUNCTION, 10), (_ENTRY, 1), (_ENTRY, 2)}:
                texts[field] = data[first:last].decode("utf-8")
        if kind == _NODE:
            operators.append((texts.get(7, ""), texts.get(4, "")))
        elif kind == _FUNCTION:
            own.add((texts.get(10, ""), texts.get(1, "")))
        elif kind == _ENTRY and texts.get(1) == "location" and not _stays(texts.get(2, "")):
            yield f"has weights outside its folder ({texts.get(2, '')!r})"
    for domain, name in operators:
        if (domain, name) not in own and (domain not in _DOMAINS or name in _CALLS_OUT):
            yield f"uses the operator {domain or 'ai.onnx'}.{name}, which is not one of ONNX Runtime's own"


def _stays(location: str) -> bool:
    """Whether external weights lie in the graph's folder."""
    return bool(location) and location.isprintable() and "/" not in location and "\\" not in location and location not in {".", ".."}


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Fields of a message that have a length: number, begin, end of the content.

    Raises:
        ValueError: it is no protobuf message.
    """
    while at < end:
        key, at = _varint(data, at, end)
        match key & 7:
            case 0:
                _, at = _varint(data, at, end)
            case 1:
                at += 8
            case 2:
                size, at = _varint(data, at, end)
                if size > end - at:
                    break
                yield key >> 3, at, at + size
                at += size
            case 5:
                at += 4
            case _:
                break
    if at != end:
        message = "it is damaged or no protobuf"
        raise ValueError(message)


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    message = "it is damaged or no protobuf"
    raise ValueError(message)
