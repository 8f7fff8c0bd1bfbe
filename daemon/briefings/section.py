"""What a section of a briefing is: the Protocol that bundled sections and those of other packages fulfil."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from daemon.briefings.fetcher import Fetcher
from daemon.config.base import Model


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a section may use.

    Attributes:
        due: the moment at which the briefing will be heard, in the house's zone.
        zone: of local times.
        language: of the words, such as ``ja``.
        fetcher: the only way to the network: bounded, and silent about secrets.
        topics: the last message of each topic of the house that was asked for, with the moment it came.
    """

    due: datetime
    zone: ZoneInfo
    language: str
    fetcher: Fetcher
    topics: Mapping[str, tuple[str, datetime]]


class Section(Protocol):
    """One section: gets its data, and says what there is to say.

    The two steps are apart so that yesterday's data can still be told, with its age, when the source fails.
    """

    async def fetch(self, surroundings: Surroundings) -> Any:
        """Get the data, fit for JSON: it is kept as the last good value.

        Raises:
            SectionError: one sentence, without secrets, that says why there is none.
        """

    def facts(self, data: Any, surroundings: Surroundings) -> Mapping[str, Any] | None:
        """What the template sees; pure. None when there is nothing worth saying.

        Raises:
            SectionError: the data are not what the source promised.
        """


class Kind(Protocol):
    """A kind of section: what an entry point of the group ``asagoe.sections`` names.

    Attributes:
        name: the value of ``kind`` in the configuration.
        settings: its keys, validated with the rest of the configuration.
    """

    name: str
    settings: type[Model]

    def section(self, settings: Any) -> Section:
        """A section with validated settings."""

    def template(self, language: str) -> str:
        """Its default words, a Jinja2 template over ``facts``; the nearest language that it has."""
