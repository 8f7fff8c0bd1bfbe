"""What the sections that come along share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from daemon.briefings.section import Section
from daemon.config.base import Model


@dataclass(frozen=True, slots=True)
class BundledKind:
    """A ``Kind``.

    Attributes:
        name: the value of ``kind``.
        settings: its keys.
        make: a section of settings.
        templates: its words by language; the first is for languages that it has none for.
    """

    name: str
    settings: type[Model]
    make: Callable[[Any], Section]
    templates: Mapping[str, str]

    def section(self, settings: Any) -> Section:
        """A section."""
        return self.make(settings)

    def template(self, language: str) -> str:
        """Its words."""
        return self.templates.get(language) or next(iter(self.templates.values()))
