"""Models are data, not code: what a graph may not ask for, checked before a library opens it.

The file is walked as protobuf (https://protobuf.dev/programming-guides/encoding/) with the field numbers of onnx.proto;
weights are stepped over, so that a graph of 600 MB is checked without being read.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

from engine.errors import VoiceNotAvailableError

_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"}
"""Operators that ONNX Runtime brings itself; the last two are what its own optimisation leaves."""
_CALLS_OUT = {"ATen", "PythonOp", "PyOp"}
"""Operators that run what is not in the graph, in whichever domain."""

_Message = IntEnum("_Message", "MODEL GRAPH NODE ATTRIBUTE TENSOR SPARSE FUNCTION ENTRY")
# onnx.proto: message and field number, and what is in it
_INSIDE = {
    (_Message.MODEL, 7): _Message.GRAPH,
    (_Message.MODEL, 25): _Message.FUNCTION,
    (_Message.GRAPH, 1): _Message.NODE,
    (_Message.GRAPH, 5): _Message.TENSOR,
    (_Message.GRAPH, 15): _Message.SPARSE,
    (_Message.NODE, 5): _Message.ATTRIBUTE,
    (_Message.ATTRIBUTE, 5): _Message.TENSOR,
    (_Message.ATTRIBUTE, 6): _Message.GRAPH,
    (_Message.ATTRIBUTE, 10): _Message.TENSOR,
    (_Message.ATTRIBUTE, 11): _Message.GRAPH,
    (_Message.ATTRIBUTE, 22): _Message.SPARSE,
    (_Message.ATTRIBUTE, 23): _Message.SPARSE,
    (_Message.SPARSE, 1): _Message.TENSOR,
    (_Message.SPARSE, 2): _Message.TENSOR,
    (_Message.TENSOR, 13): _Message.ENTRY,
    (_Message.FUNCTION, 7): _Message.NODE,
    (_Message.FUNCTION, 11): _Message.ATTRIBUTE,
}
# name of the operator, its domain; name of the function, its domain; key, value
_TEXTS = {
    (_Message.NODE, 4), (_Message.NODE, 7), (_Message.FUNCTION, 1), (_Message.FUNCTION, 10), (_Message.ENTRY, 1),
    (_Message.ENTRY, 2),
}  # fmt: skip
_DEEPEST = 64
_NO_PROTOBUF = "it is damaged or no protobuf"


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
    todo = [(_Message.MODEL, 0, len(data), 0)]
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
            elif (kind, field) in _TEXTS:
                texts[field] = data[first:last].decode("utf-8")
        match kind:
            case _Message.NODE:
                operators.append((texts.get(7, ""), texts.get(4, "")))
            case _Message.FUNCTION:
                own.add((texts.get(10, ""), texts.get(1, "")))
            case _Message.ENTRY if texts.get(1) == "location" and not _stays(texts.get(2, "")):
                yield f"has weights outside its folder ({texts.get(2, '')!r})"
    yield from (
        f"uses the operator {domain or 'ai.onnx'}.{name}, which is not one of ONNX Runtime's own"
        for domain, name in operators
        if (domain, name) not in own and not _brought(domain, name)
    )


def _brought(domain: str, name: str) -> bool:
    return domain in _DOMAINS and name not in _CALLS_OUT


def _stays(location: str) -> bool:
    """Whether external weights lie in the graph's folder."""
    return (
        bool(location)
        and location.isprintable()
        and "/" not in location
        and "\\" not in location
        and location not in {".", ".."}
    )


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
                    raise ValueError(_NO_PROTOBUF)
                yield key >> 3, at, at + size
                at += size
            case 5:
                at += 4
            case _:
                raise ValueError(_NO_PROTOBUF)
    if at != end:
        raise ValueError(_NO_PROTOBUF)


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError(_NO_PROTOBUF)
