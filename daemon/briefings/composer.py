"""From gathered data to words; what cannot be told is left out, and the reason kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from daemon.briefings.gathering import Found, Gathered, defect, shared_facts
from daemon.briefings.plan import Planned
from daemon.briefings.section import Surroundings
from daemon.briefings.words.packs import pack_of
from daemon.config.secrets import without_secrets
from daemon.errors import SectionError, TemplateFault

NOTHING = "nothing worth saying"


@dataclass(frozen=True, slots=True)
class Part:
    """What became of a section.

    Attributes:
        section: its name in the briefing.
        kind: of the section.
        text: what is said, or None.
        source: the host that was asked, without anything that could be a secret, or None.
        age: seconds of the data at the moment at which they are heard, where that is known.
        seconds: that the source took.
        left_out_because: a sentence, where ``text`` is None.
        instead_because: why the last good value stands in for the source, or None.
    """

    section: str
    kind: str
    text: str | None
    source: str | None = None
    age: float | None = None
    seconds: float = 0.0
    left_out_because: str | None = None
    instead_because: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The part as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Composed:
    """A briefing in words.

    Attributes:
        name: of the briefing.
        due: the moment for which it was composed.
        parts: a section each, in order.
        between: what joins two of their texts.
    """

    name: str
    due: datetime
    parts: tuple[Part, ...]
    between: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """What is said, section by section."""
        return tuple(part.text for part in self.parts if part.text is not None)

    @property
    def text(self) -> str:
        """What is said, in one piece."""
        return self.between.join(self.texts)


def compose(gathered: Gathered, surroundings: Surroundings) -> Composed:
    """Put data into words, as of the moment at which they are heard; pure, and never fails."""
    plan = gathered.plan
    parts = (_part(s, found, surroundings) for s, found in zip(plan.sections, gathered.found, strict=True))
    return Composed(plan.name, surroundings.due, tuple(parts), pack_of(plan.config.language).between)


def _part(planned: Planned, found: Found, surroundings: Surroundings) -> Part:
    keys = planned.config.keys
    part = Part(planned.id, keys.kind, None, found.source, None, found.seconds)
    if found.skipped is not None:
        return replace(part, left_out_because=found.skipped)
    if found.kept is None:
        return replace(part, left_out_because=found.problem)
    if not found.fresh:
        part = replace(part, instead_because=found.problem)
    # What needs no source has no age.
    age = None if found.kept.data is None else max(timedelta(), surroundings.due - found.kept.fetched)
    try:
        facts = planned.section.facts(found.kept.data, surroundings)
        told = facts.get("age") if facts is not None else None
        age = told if isinstance(told, timedelta) else age
        part = replace(part, age=None if age is None else age.total_seconds())
        text = _words(planned, facts, surroundings)
    except (SectionError, TemplateFault) as error:
        return replace(part, left_out_because=without_secrets(str(error), planned.config.settings))
    except Exception as error:  # noqa: BLE001 - a section may be another package's: it fails alone
        return replace(part, left_out_because=defect(planned, error))
    if not text:
        return replace(part, left_out_because=NOTHING)
    if age is not None and age.total_seconds() >= max(1.0, keys.tell_age):
        pack = pack_of(surroundings.language)
        text = f"{pack.stale(age)}{pack.between}{text}"
    return replace(part, text=text)


def _words(planned: Planned, facts: Mapping[str, Any] | None, surroundings: Surroundings) -> str:
    if facts is None:
        return ""
    seen = {**facts, **shared_facts(surroundings)}
    if planned.condition is not None and not planned.condition.holds(seen):
        message = f"its condition does not hold: {planned.condition.source}"
        raise SectionError(message)
    return planned.template.render(seen)
