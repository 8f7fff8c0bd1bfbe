"""Keys of `briefings`: what every section has; the keys of its kind come from the kind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from daemon.briefings.kinds import bundled_kinds, kind_named, kind_names
from daemon.briefings.words.packs import pack_of
from daemon.briefings.words.template import ConditionText, TemplateText
from daemon.config.base import Model, OneOrMore, Priority, speech_option
from daemon.config.values import Duration, Identifier, Percent, TimeOfDay
from daemon.schedule.calendar import Calendar
from daemon.schedule.words import DAYS_HELP, parse_days

MAX_SECTIONS = 50


class WhenConfig(Model):
    """When a section is told; everything that is given must hold. A text alone is the expression."""

    days: OneOrMore[str] | None = Field(default=None, description=DAYS_HELP)
    from_: TimeOfDay | None = Field(default=None, alias="from", description="not before this time of day")
    to: TimeOfDay | None = Field(default=None, description="not from this time of day on; may lie after midnight")
    expression: ConditionText | None = Field(
        default=None,
        description='Jinja expression over the facts, `due` and `topics`, such as `topics["home/away"] != "ON"`',
    )

    @model_validator(mode="before")
    @classmethod
    def _text(cls, data: Any) -> Any:
        return {"expression": data} if isinstance(data, str) else data

    @field_validator("days", mode="before")
    @classmethod
    def _days_form(cls, value: Any) -> Any:
        if value is not None:
            parse_days(value if isinstance(value, list) else [value])
        return value

    def holds_at(self, due: datetime, calendar: Calendar) -> str | None:
        """Why the section is not told at a moment, by its days and times; None when it is."""
        if self.days is not None and not parse_days(self.days).holds(due.date(), calendar):
            return f"only on {', '.join(self.days)}"
        start, end, now = self.from_ or time.min, self.to, due.time()
        within = now >= start and (end is None or now < end)
        if end is not None and end <= start:  # over midnight
            within = now >= start or now < end
        return None if within else f"only from {start:%H:%M} to {f'{end:%H:%M}' if end else '24:00'}"

    @classmethod
    def __get_pydantic_json_schema__(cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        """The schema of both forms: a text, or the mapping."""
        return {"anyOf": [{"type": "string", "description": "the expression"}, handler(core)]}


class SectionKeys(Model):
    """What sections of every kind have."""

    kind: str = Field(description="what it tells of")
    id: Identifier | None = Field(default=None, description="its name; default: the kind, numbered where need be")
    when: WhenConfig | None = Field(default=None, description="when it is told; default: always")
    timeout: Duration = Field(default=10.0, gt=0, le=300, description="how long its source may take")
    max_age: Duration = Field(
        default=6 * 3600.0, description="how old the last good value may be that stands in for a source; 0: none does"
    )
    tell_age: Duration = Field(default=1800.0, description="from which age on its age is told with it")
    template: TemplateText | None = Field(default=None, description="Jinja template, instead of the kind's own words")


@dataclass(frozen=True, slots=True)
class SectionConfig:
    """A section of a briefing.

    Attributes:
        keys: what every section has.
        settings: the keys of its kind.
    """

    keys: SectionKeys
    settings: Model

    @classmethod
    def parse(cls, value: Any) -> SectionConfig:
        """Validate a mapping by its ``kind``.

        Raises:
            ValidationError: the places in it are those of the mapping.
        """
        if isinstance(value, SectionConfig):
            return value
        if not isinstance(value, dict):
            SectionKeys.model_validate(value)  # raises
        name = value.get("kind")
        if name is None:
            raise _error([InitErrorDetails(type="missing", loc=("kind",), input=value)])
        try:
            settings = kind_named(name if isinstance(name, str) else repr(name)).settings
        except (LookupError, TypeError) as error:
            raise _error([_told("value_error", ("kind",), str(error.args[0]), name)]) from error
        own, common = _names(settings), _names(SectionKeys)
        found: list[InitErrorDetails] = []
        parts = []
        for model, names in ((SectionKeys, common), (settings, own)):
            try:
                parts.append(model.model_validate({key: item for key, item in value.items() if key in names}))
            except ValidationError as error:
                found += [_again(details) for details in error.errors()]
        unknown = [key for key in value if key not in own | common]
        found += [InitErrorDetails(type="extra_forbidden", loc=(key,), input=value[key]) for key in unknown]
        if found:
            raise _error(found)
        keys, rest = parts
        return cls(keys, rest)  # type: ignore[arg-type]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Validated by ``parse``; the errors of the models within keep their places."""
        del source, handler
        return core_schema.no_info_plain_validator_function(cls.parse)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        """One schema a kind that comes along; what other packages bring may have any keys."""
        del core
        names = [kind.name for kind in bundled_kinds()]
        schemas = [handler(section_model(name).__pydantic_core_schema__) for name in names]
        other = {"type": "object", "required": ["kind"], "properties": {"kind": {"not": {"enum": names}}}}
        return {"anyOf": [*schemas, other]}


def section_model(name: str) -> type[Model]:
    """The keys of a section of a kind, its own and those that all have: for the schema and for suggestions.

    Raises:
        LookupError, TypeError: see ``kind_named``.
    """
    kind = kind_named(name)
    fields: dict[str, Any] = {
        key: (field.annotation, field)
        for model in (SectionKeys, kind.settings)
        for key, field in model.model_fields.items()
    }
    fields["kind"] = (str, Field(description="what it tells of", json_schema_extra={"const": name}))
    return create_model(f"{name.capitalize()}Section", __base__=Model, __doc__=kind.settings.__doc__, **fields)


class BriefingConfig(Model):
    """What is told in one go."""

    sections: list[SectionConfig] = Field(
        min_length=1, max_length=MAX_SECTIONS, description="what is told, in this order"
    )
    deadline: Duration = Field(
        default=20.0, gt=0, le=240, description="how long all sources together may take; what is late is left out"
    )
    language: str = Field(default="ja", description="of the words")
    speaker: str | None = None
    style: str | None = None
    speed: float | None = speech_option("speed")
    pitch: float | None = speech_option("pitch")
    intonation: float | None = speech_option("intonation")
    volume: Percent | None = None
    chime: str | None = None
    end_chime: str | None = None
    priority: Priority | None = None

    @field_validator("language")
    @classmethod
    def _language_form(cls, value: str) -> str:
        pack_of(value)
        return value

    @field_validator("sections")
    @classmethod
    def _unique_ids(cls, value: list[SectionConfig]) -> list[SectionConfig]:
        given = [section.keys.id for section in value if section.keys.id is not None]
        twice = next((name for name in given if given.count(name) > 1), None)
        if twice is not None:
            message = f"the id {twice!r} is used by two sections"
            raise ValueError(message)
        return value

    @property
    def section_ids(self) -> list[str]:
        """The names of the sections: given, or the kind, numbered from its second on."""
        taken = {section.keys.id for section in self.sections}
        names: list[str] = []
        for section in self.sections:
            name, number = section.keys.id or section.keys.kind, 1
            while section.keys.id is None and (name in taken or name in names):
                number += 1
                name = f"{section.keys.kind}-{number}"
            names.append(name)
        return names


def known_kinds(value: Any) -> type[Model] | None:
    """The model of a section as it stands in the file, where its kind is known."""
    name = value.get("kind") if isinstance(value, dict) else None
    return section_model(name) if isinstance(name, str) and name in kind_names() else None


def _names(model: type[Model]) -> set[str]:
    return {field.alias or key for key, field in model.model_fields.items()}


def _error(found: list[InitErrorDetails]) -> ValidationError:
    return ValidationError.from_exception_data("section", found)


def _told(kind: str, loc: tuple[str | int, ...], message: str, found: Any) -> InitErrorDetails:
    # The message goes through the context: braces in it would be taken for places to fill in.
    error = PydanticCustomError(kind, "{error}", {"error": message})
    return InitErrorDetails(type=error, loc=loc, input=found)


def _again(details: Any) -> InitErrorDetails:
    """An error of a model within, to be raised once more together with others."""
    kind, loc, found = details["type"], details["loc"], details["input"]
    if kind in ("extra_forbidden", "missing"):
        return InitErrorDetails(type=kind, loc=loc, input=found)
    message = str(details["ctx"]["error"]) if kind == "value_error" else details["msg"]
    return _told(kind, loc, message, found)
