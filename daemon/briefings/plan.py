"""From the configuration of a briefing to sections that are ready to be fetched and put into words."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from daemon.briefings.kinds import kind_named
from daemon.briefings.section import Listening, Section, Surroundings, Worded
from daemon.briefings.words.template import Condition, Template, compile_condition, compile_template
from daemon.config.briefings import BriefingConfig, SectionConfig
from daemon.errors import SectionError, TemplateFault

_log = logging.getLogger("asagoe.briefings")


@dataclass(frozen=True, slots=True)
class Planned:
    """A section of a briefing.

    Attributes:
        id: its name within the briefing.
        config: its keys.
        section: fetches, and finds the facts.
        template: puts them into words.
        condition: an expression that must hold, or None.
        topics: of the house, that it or its condition asks for.
    """

    id: str
    config: SectionConfig
    section: Section
    template: Template
    condition: Condition | None
    topics: tuple[str, ...]

    @property
    def listening(self) -> bool:
        """Whether its data are the topics of the house, which cost nothing to look at again."""
        return isinstance(self.section, Listening)


@dataclass(frozen=True, slots=True)
class Plan:
    """A briefing.

    Attributes:
        name: under which it is configured.
        config: its keys.
        sections: in order.
    """

    name: str
    config: BriefingConfig
    sections: tuple[Planned, ...]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the house that it asks for."""
        return tuple(dict.fromkeys(topic for section in self.sections for topic in section.topics))


def plan_of(name: str, config: BriefingConfig) -> Plan:
    """Make the sections of a briefing; one that its package cannot make says so whenever it is asked."""
    sections = (
        _planned(section_id, section, config.language)
        for section_id, section in zip(config.section_ids, config.sections, strict=True)
    )
    return Plan(name, config, tuple(sections))


class _Broken:
    """Stands for a section that could not be made."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def fetch(self, surroundings: Surroundings) -> None:
        del surroundings
        raise SectionError(self._reason)

    def facts(self, data: None, surroundings: Surroundings) -> None:
        del data, surroundings
        raise SectionError(self._reason)


def _planned(section_id: str, config: SectionConfig, language: str) -> Planned:
    section, template = _made(config, language)
    expression = config.keys.when.expression if config.keys.when else None
    condition = compile_condition(expression, language) if expression else None
    heard = section.topics if isinstance(section, Listening) else ()
    topics = tuple(dict.fromkeys([*heard, *(condition.topics if condition else ())]))
    return Planned(section_id, config, section, template, condition, topics)


def _made(config: SectionConfig, language: str) -> tuple[Section, Template]:
    kind = kind_named(config.keys.kind)
    try:
        section = kind.section(config.settings)
        own = section.template if isinstance(section, Worded) else None
        return section, compile_template(config.keys.template or own or kind.template(language), language)
    except TemplateFault as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - the code of another package: its section fails alone
        reason = f"a defect in the kind {kind.name!r}: {type(error).__name__}"
    _log.error("a section %s cannot be made: %s", kind.name, reason)
    return _Broken(reason), compile_template("", language)
