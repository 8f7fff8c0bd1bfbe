"""Jinja2 in a sandbox that is bounded: in what a template may call, in its steps, and in the size of what it makes.

Jinja2's own sandbox keeps templates away from the insides of Python. It does not keep them from a gigabyte of text or
an hour of loops; a subset of the language does: no macros, imports and inheritance, filters and methods by a list,
steps of loops that are counted, and texts that end at ``MAX_TEXT`` wherever they can grow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any

from jinja2 import StrictUndefined, TemplateAssertionError, nodes
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from daemon.briefings.words.pack import FILTERS
from daemon.briefings.words.packs import pack_of

MAX_TEXT = 4_000
"""Characters of what a template says, and of any text on the way."""
MAX_STEPS = 2_000
"""Steps of all loops of one rendering together."""
MAX_ITEMS = 1_000

_STATEMENTS = (nodes.Output, nodes.For, nodes.If, nodes.Assign, nodes.AssignBlock)
_PLAIN_FILTERS = (
    *("abs", "capitalize", "d", "default", "dictsort", "first", "float", "int", "items", "join", "last", "length"),
    *("list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "round", "select", "selectattr", "sort"),
    *("string", "striptags", "sum", "trim", "truncate", "unique", "upper"),
)
_METHODS = frozenset(
    {"get", "items", "keys", "values", "split", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"}
    | {"startswith", "endswith", "lower", "upper", "date", "time", "weekday", "isoformat", "total_seconds"}
)
_steps_left: ContextVar[list[int]] = ContextVar("steps_left")


class Environment(SandboxedEnvironment):
    """The sandbox of a language."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, language: str) -> None:
        super().__init__(
            undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, cache_size=0
        )
        pack = pack_of(language)
        own = {name: getattr(pack, name) for name in FILTERS}
        borrowed = {name: JINJA_FILTERS[name] for name in _PLAIN_FILTERS}
        self.filters = {name: _bounded(work) for name, work in (borrowed | own).items()}
        self.filters |= {_JOINED: _joined, _STEPS: _steps}
        self.globals = {"range": _range}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Data, and a few methods that change nothing and make nothing large."""
        return super().is_safe_attribute(obj, attr, value) and (not callable(value) or attr in _METHODS)

    def wrap_str_format(self, value: Any) -> None:
        """Nothing: ``str.format`` is no method of the list, its widths are not bounded."""
        del value

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The operators whose result can be much larger than what they get."""
        sized = isinstance(left, str | list | tuple) or isinstance(right, str | list | tuple)
        if operator == "+":
            if sized and hasattr(left, "__len__") and hasattr(right, "__len__") and len(left) + len(right) > MAX_TEXT:
                raise SecurityError(_TOO_LONG)
        elif sized:
            message = f"{operator} is only for numbers here"
            raise SecurityError(message)
        elif operator == "**" and (abs(left) > 1000 or abs(right) > 30):
            message = "the power is too large"
            raise SecurityError(message)
        elif isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > 1000:
            message = "the number is too large"
            raise SecurityError(message)
        return super().call_binop(context, operator, left, right)

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        for node in source.find_all(nodes.Stmt):
            if not isinstance(node, _STATEMENTS) or (isinstance(node, nodes.For) and node.recursive):
                message = "a template of a section knows if, for and set, and no other statements"
                raise TemplateAssertionError(message, node.lineno)
        return super()._generate(_Bounds(self).visit(source), name, filename, defer_init)


@lru_cache(maxsize=8)
def environment(language: str) -> Environment:
    """The sandbox of a language; made once."""
    return Environment(language)


@contextmanager
def budget() -> Iterator[None]:
    """Within it templates have ``MAX_STEPS`` steps of loops."""
    token = _steps_left.set([MAX_STEPS])
    try:
        yield
    finally:
        _steps_left.reset(token)


_JOINED, _STEPS = "_joined", "_steps"
_TOO_LONG = f"a text of more than {MAX_TEXT:,} characters"


class _Bounds(NodeTransformer):
    """Sends what can grow through filters that bound it: ``a ~ b``, and what a loop goes over."""

    def __init__(self, environment: SandboxedEnvironment) -> None:
        self._environment = environment

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - Jinja2's name
        self.generic_visit(node)
        return self._filter(nodes.List(node.nodes, lineno=node.lineno), _JOINED)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.iter = self._filter(node.iter, _STEPS)
        return node

    def _filter(self, node: nodes.Node, name: str) -> nodes.Filter:
        made = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
        made.set_environment(self._environment)
        return made


def _bounded(work: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(work)
    def bounded(*arguments: Any, **options: Any) -> Any:
        result = work(*arguments, **options)
        if isinstance(result, str) and len(result) > MAX_TEXT:
            raise SecurityError(_TOO_LONG)
        return result

    return bounded


def _joined(parts: Iterable[object]) -> str:
    texts = [str(part) for part in parts]
    if sum(map(len, texts)) > MAX_TEXT:
        raise SecurityError(_TOO_LONG)
    return "".join(texts)


def _steps(items: Iterable[Any]) -> list[Any]:
    left = _steps_left.get()
    taken = list(islice(items, left[0] + 1))
    left[0] -= len(taken)
    if left[0] < 0:
        message = f"more than {MAX_STEPS:,} steps of loops"
        raise SecurityError(message)
    return taken


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_ITEMS:
        message = f"a range of more than {MAX_ITEMS:,} numbers"
        raise SecurityError(message)
    return numbers
