"""A text of the house's own: a greeting, a farewell, a reminder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.words.template import TemplateText
from daemon.config.base import Model


class TextSettings(Model):
    """A text."""

    text: TemplateText = Field(
        min_length=1, description="Jinja template, such as `おはようございます。{{ due | time }}です。`"
    )


class TextSection:
    """Needs no source: what it says is composed at the moment at which it is heard."""

    def __init__(self, settings: TextSettings) -> None:
        self.template: str | None = settings.text

    async def fetch(self, surroundings: Surroundings) -> None:
        """Nothing."""
        del surroundings

    def facts(self, data: None, surroundings: Surroundings) -> Mapping[str, Any]:
        """None of its own."""
        del data, surroundings
        return {}


KIND = BundledKind("text", TextSettings, TextSection, {"ja": ""})
