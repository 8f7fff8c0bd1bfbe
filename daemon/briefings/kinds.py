"""The kinds of sections that there are: those that come along, and those of other packages by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from daemon.briefings.section import Kind

GROUP = "asagoe.sections"
"""The group of entry points; its name is the kind's, its object a ``Kind``."""

_BUNDLED = {
    name: f"daemon.briefings.sections.{name}:KIND"
    for name in ("date", "text", "mqtt", "http", "file", "weather", "calendar", "waste", "news")
}


def kind_names() -> list[str]:
    """The names of all kinds, those that come along first; nothing is imported for it."""
    return list(dict.fromkeys([*_BUNDLED, *sorted(_installed())]))


def bundled_kinds() -> list[Kind]:
    """The kinds that come along."""
    return [kind_named(name) for name in _BUNDLED]


@lru_cache(maxsize=64)
def kind_named(name: str) -> Kind:
    """The kind of that name; a name that comes along cannot be taken by another package.

    Raises:
        LookupError: there is none.
        TypeError: the entry point cannot be used; the message names its package and the reason.
    """
    if name in _BUNDLED:
        module, _, attribute = _BUNDLED[name].partition(":")
        kind: Kind = getattr(import_module(module), attribute)
        return kind
    found = _installed().get(name)
    if found is None:
        message = f"there is no kind {name!r} of section; there are {', '.join(kind_names())}"
        raise LookupError(message)
    return _loaded(found)


def _installed() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _loaded(point: EntryPoint) -> Kind:
    from daemon.config.base import Model  # noqa: PLC0415 - the configuration imports this module

    origin = f"the kind {point.name!r} of {point.dist.name if point.dist else point.value}"
    try:
        found: Any = point.load()
    except Exception as error:
        message = f"{origin} cannot be loaded: {type(error).__name__}: {error}"
        raise TypeError(message) from error
    kind = found() if isinstance(found, type) else found
    lacking = [part for part in ("name", "settings", "section", "template") if not hasattr(kind, part)]
    if lacking:
        message = f"{origin} is no kind of section: it lacks {', '.join(lacking)}"
        raise TypeError(message)
    if not (isinstance(kind.settings, type) and issubclass(kind.settings, Model)):
        message = f"{origin} cannot be used: its settings must be a subclass of daemon.config.base.Model"
        raise TypeError(message)
    return kind  # type: ignore[no-any-return]
