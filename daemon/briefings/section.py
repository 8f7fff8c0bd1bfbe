"""What a section of a briefing is: the Protocol that bundled sections and those of other packages fulfil."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from daemon.briefings.fetcher import Fetcher

if TYPE_CHECKING:  # the configuration asks for the kinds of sections: it must be able to come later
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
        holiday: name of the holiday that a day is, or None.
        last: the last good data of the section that is asked, or None.
    """

    due: datetime
    zone: ZoneInfo
    language: str
    fetcher: Fetcher
    topics: Mapping[str, tuple[str, datetime]]
    holiday: Callable[[date], str | None] = field(default=lambda _: None, repr=False)
    last: Any = field(default=None, repr=False)


class Section(Protocol):
    """One section: gets its data, and says what there is to say.

    The two steps are apart so that yesterday's data can still be told, with its age, when the source fails.

    The template sees the facts, ``due`` (the moment at which it is heard, in the house's zone), and the filters of
    ``daemon.briefings.words.pack``. What it says is cleaned of control characters and markup by the framework.
    """

    async def fetch(self, surroundings: Surroundings) -> Any:
        """Get the data, fit for JSON: it is kept as the last good value.

        Raises:
            SectionError: one sentence, without secrets, that says why there is none.
        """

    def facts(self, data: Any, surroundings: Surroundings) -> Mapping[str, Any] | None:
        """What the template sees; pure. None when there is nothing worth saying.

        A fact ``age`` (timedelta) says how old the data are where the source tells; else it counts from the fetching.

        Raises:
            SectionError: the data are not what the source promised.
        """


@runtime_checkable
class Listening(Protocol):
    """A section that tells of topics of the house.

    Attributes:
        topics: what is to be subscribed to for it; no wildcards.
    """

    topics: tuple[str, ...]


@runtime_checkable
class Worded(Protocol):
    """A section whose own keys hold its words.

    Attributes:
        template: instead of the kind's, or None.
    """

    template: str | None


class Kind(Protocol):
    """A kind of section: what an entry point of the group ``asagoe.sections`` names.

    Attributes:
        name: the value of ``kind`` in the configuration.
        settings: its own keys, validated with the rest of the configuration. The keys that all sections have (kind,
            id, when, timeout, max_age, template) are the framework's; one that ``settings`` declares too is given to
            both.
    """

    name: str
    settings: type[Model]

    def section(self, settings: Any) -> Section:
        """A section with validated settings."""

    def template(self, language: str) -> str:
        """Its default words, a Jinja2 template over ``facts``; the nearest language that it has."""
