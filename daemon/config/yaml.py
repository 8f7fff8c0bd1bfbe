"""YAML that cannot be misread: `7:30`, `on`, `no` and `2026-12-01` stay text, and a repeated key is an error.

Only what YAML 1.2's core schema calls null, true, false and decimal numbers is anything but text. Every value keeps
the line it came from, so that an error can name its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]

MAX_NODES = 100_000
"""More than any configuration has; an alias that multiplies itself ends here."""

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the file; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that the YAML reader refuses."""

    mark: Mark
    path: Path
    message: str


@dataclass(slots=True)
class Document:
    """What a file holds.

    Attributes:
        value: plain dictionaries, lists, text, numbers, booleans and None.
        keys: where the key (or list item) of each path stands.
        faults: what was wrong with it; the value then is what could be read.
    """

    value: Any = None
    keys: dict[Path, Mark] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def mark(self, path: Path) -> Mark:
        """The place of a path, or of the nearest parent that has one."""
        while path and path not in self.keys:
            path = path[:-1]
        return self.keys.get(path, Mark(1, 1))


def parse(text: str) -> Document:
    """Read one YAML document. Faults are in the result; nothing is raised."""
    document = Document()
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        mark = Mark(place.line + 1, place.column + 1) if place else Mark(1, 1)
        document.faults.append(Fault(mark, (), f"not valid YAML: {error.problem or error.context}"))
        return document
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        document.faults.append(Fault(Mark(line, 1), (), f"not valid YAML: {error.reason}"))
        return document
    except RecursionError:
        document.faults.append(Fault(Mark(1, 1), (), "nested too deeply"))
        return document
    if root is not None:
        _Builder(document).build(root)
    return document


class _Builder:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._count = 0

    def build(self, root: yaml.Node) -> None:
        self._document.keys[()] = _mark(root)
        self._document.value = self._value(root, (), ())

    def _value(self, node: yaml.Node, path: Path, above: tuple[yaml.Node, ...]) -> Any:
        self._count += 1
        if any(node is parent for parent in above):
            return self._fault(node, path, "an alias that contains itself")
        if self._count > MAX_NODES:
            if self._count == MAX_NODES + 1:
                self._fault(node, path, f"more than {MAX_NODES:,} values, probably by aliases of aliases")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, (*above, node))
        if isinstance(node, yaml.SequenceNode):
            return self._sequence(node, path, (*above, node))
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - the third and last kind
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind not in _PLAIN_TAGS:
            return self._fault(node, path, f"the tag {node.tag} is not understood")
        return str(node.value) if node.style is not None or kind == "str" else _plain(str(node.value))

    def _mapping(self, node: yaml.MappingNode, path: Path, above: tuple[yaml.Node, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._fault(key_node, path, "a key must be a single word or text")
                continue
            key = str(key_node.value)
            place = (*path, key)
            if key in result:
                first = self._document.keys[place]
                self._fault(key_node, place, f"the key {key!r} is given twice; it already stands on line {first.line}")
                continue
            self._document.keys[place] = _mark(key_node)
            result[key] = self._value(value_node, place, above)
        return result

    def _sequence(self, node: yaml.SequenceNode, path: Path, above: tuple[yaml.Node, ...]) -> list[Any]:
        result = []
        for index, item in enumerate(node.value):
            self._document.keys[(*path, index)] = _mark(item)
            result.append(self._value(item, (*path, index), above))
        return result

    def _fault(self, node: yaml.Node, path: Path, message: str) -> None:
        self._document.faults.append(Fault(_mark(node), path, message))


_PLAIN_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "merge", "value"})
"""What PyYAML finds in a scalar without a tag; the value is ours to judge."""


def _mark(node: yaml.Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


def _plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in ("true", "false") and text in (text.lower(), text.upper(), text.capitalize()):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text) and len(text) < 20:
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
