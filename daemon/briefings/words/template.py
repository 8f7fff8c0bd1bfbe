"""Templates and conditions: compiled once, with one clear error, and rendered over facts."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError, meta, nodes
from pydantic import AfterValidator

from daemon.briefings.words.packs import pack_of
from daemon.briefings.words.plain import plain
from daemon.briefings.words.sandbox import MAX_TEXT, budget, environment
from daemon.errors import TemplateFault

MAX_SOURCE = 10_000
"""Characters of a template."""

_FILE = "<template>"
_DEFAULT_LANGUAGE = "ja"
_TOO_DEEP = (RecursionError, SyntaxError)
"""What Jinja2's compiler, and Python's behind it, raise for what is nested beyond their limits."""
_FAILURES = (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What an expression over unknown values can raise."""


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template; see ``compile_template``."""

    source: str
    language: str
    _code: Any

    def render(self, facts: Mapping[str, Any]) -> str:
        """What it says of the facts: cleaned, on one line, maybe empty.

        Raises:
            TemplateFault: it uses what is not there, does what it may not, or says too much.
        """
        said: list[str] = []
        length = 0
        try:
            with budget():
                for chunk in self._code.generate(facts):
                    said.append(chunk)
                    length += len(chunk)
                    if length > MAX_TEXT:
                        break
        except _FAILURES as error:
            raise TemplateFault(_reason("the template", self.source, error)) from None
        if length > MAX_TEXT:
            message = f"the template says more than {MAX_TEXT:,} characters"
            raise TemplateFault(message)
        return plain("".join(said), pack_of(self.language).between)


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled expression; see ``compile_condition``.

    Attributes:
        names: of the facts that it asks for.
        topics: that it asks for by name, as in ``topics["home/door"]``.
    """

    source: str
    names: frozenset[str]
    topics: tuple[str, ...]
    _code: Any

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether it is true of the facts.

        Raises:
            TemplateFault: it cannot be told.
        """
        try:
            with budget():
                return bool(self._code(facts))
        except _FAILURES as error:
            raise TemplateFault(_reason("the condition", self.source, error)) from None


@lru_cache(maxsize=256)
def compile_template(source: str, language: str = _DEFAULT_LANGUAGE) -> Template:
    """Compile a template.

    Raises:
        TemplateFault: with line and reason.
    """
    _check_size(source)
    try:
        return Template(source, language, environment(language).from_string(source))
    except TemplateSyntaxError as error:
        message = f"the template cannot be read{_line(source, error.lineno)}: {_sentence(error.message or '')}"
        raise TemplateFault(message) from None
    except _TOO_DEEP:
        message = "the template is nested too deeply"
        raise TemplateFault(message) from None


@lru_cache(maxsize=256)
def compile_condition(source: str, language: str = _DEFAULT_LANGUAGE) -> Condition:
    """Compile an expression such as ``temperature < 3 and topics["home/away"] != "ON"``.

    Raises:
        TemplateFault: with the reason.
    """
    _check_size(source)
    env = environment(language)
    try:
        # As the text of {{ … }} it is parsed with its lines; the function that is called comes from the same text.
        tree = env.parse("{{ (" + source + ") }}")
        code = env.compile_expression(source, undefined_to_none=False)
    except TemplateSyntaxError as error:
        message = f"the condition {_sentence(source)!r} cannot be read: {_sentence(error.message or '')}"
        raise TemplateFault(message) from None
    except _TOO_DEEP:
        message = "the condition is nested too deeply"
        raise TemplateFault(message) from None
    topics = [
        node.arg.value
        for node in tree.find_all(nodes.Getitem)
        if isinstance(node.node, nodes.Name) and node.node.name == "topics" and isinstance(node.arg, nodes.Const)
    ]
    names = frozenset(meta.find_undeclared_variables(tree))
    return Condition(source, names, tuple(dict.fromkeys(t for t in topics if isinstance(t, str))), _strict(code))


def _strict(code: Any) -> Any:
    """An undefined name is an error, not false."""

    def evaluate(facts: Mapping[str, Any]) -> object:
        result = code(facts)
        if isinstance(result, StrictUndefined):
            try:
                str(result)
            except UndefinedError as error:
                raise UndefinedError(str(error)) from None
        return result

    return evaluate


def _checked_template(source: str) -> str:
    try:
        compile_template(source)
    except TemplateFault as error:
        raise ValueError(str(error)) from error
    return source


def _checked_condition(source: str) -> str:
    try:
        compile_condition(source)
    except TemplateFault as error:
        raise ValueError(str(error)) from error
    return source


TemplateText = Annotated[str, AfterValidator(_checked_template)]
"""A template in the configuration: what is wrong with its form is an error of its key."""
ConditionText = Annotated[str, AfterValidator(_checked_condition)]
"""An expression in the configuration."""


def _check_size(source: str) -> None:
    if len(source) > MAX_SOURCE:
        message = f"the template is longer than {MAX_SOURCE:,} characters"
        raise TemplateFault(message)


def _reason(what: str, source: str, error: Exception) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    line = _line(source, lines[-1] if lines else None)
    words = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return f"{what} fails{line}: {_sentence(words) or type(error).__name__}"


def _line(source: str, line: int | None) -> str:
    return f" in line {line}" if line and "\n" in source.strip() else ""


def _sentence(words: str) -> str:
    words = re.sub(r"\s+", " ", words).strip().removesuffix(".")
    return words if len(words) <= 200 else f"{words[:197]}..."
