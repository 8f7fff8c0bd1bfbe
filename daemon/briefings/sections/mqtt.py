"""Topics of the house: temperatures, doors, tanks; several values in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from daemon.briefings.json_path import JsonPath
from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.sections.values import value_of
from daemon.briefings.words.template import TemplateText
from daemon.config.base import Model
from daemon.config.values import Duration
from daemon.errors import SectionError

JAPANESE = """
{% for r in readings %}{{ r.name }}は{{ r.value | count(r.unit) if r.value is number else r.value ~ r.unit }}
{{ "、" if not loop.last else "です。" }}{% endfor %}
{% for s in sentences %}{{ s }}。{% endfor %}
"""
ENGLISH = """
{% for r in readings %}{{ r.name }} is {{ r.value | number if r.value is number else r.value }}
{{ r.unit }}{{ ", " if not loop.last else "." }}{% endfor %}
{% for s in sentences %}{{ s }}.{% endfor %}
"""

Topic = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^+#\x00]+$")]


class TopicConfig(Model):
    """A topic, and how its value is told. A text alone is the topic."""

    topic: Topic
    path: JsonPath | None = Field(default=None, description="where in its JSON the value lies")
    name: str | None = Field(default=None, min_length=1, description="what it is called, such as 居間")
    unit: str = Field(default="", description="said after a number, such as 度")
    digits: int = Field(default=1, ge=0, le=6, description="decimal places of a number, at most")
    words: dict[str, str | None] | None = Field(
        default=None, description="what is said for a value, such as `ON: 窓が開いています`; for others, nothing"
    )

    @model_validator(mode="before")
    @classmethod
    def _text(cls, data: Any) -> Any:
        return {"topic": data} if isinstance(data, str) else data


class MqttSettings(Model):
    """Values from topics of the house."""

    topic: Topic | None = Field(default=None, description="a single topic; its value is `value` in the text")
    path: JsonPath | None = Field(default=None, description="where in its JSON the value lies")
    name: str | None = Field(default=None, min_length=1, description="what it is called")
    unit: str = Field(default="", description="said after a number, such as 度")
    digits: int = Field(default=1, ge=0, le=6, description="decimal places of a number, at most")
    words: dict[str, str | None] | None = Field(default=None, description="what is said for a value")
    topics: dict[str, TopicConfig] = Field(
        default={}, max_length=50, description="several topics, under the names that they have in the text"
    )
    text: TemplateText | None = Field(default=None, description="Jinja template over the values; default: a sentence")
    max_age: Duration = Field(default=1800.0, gt=0, description="older values are not told")

    @field_validator("topics")
    @classmethod
    def _names(cls, value: dict[str, TopicConfig]) -> dict[str, TopicConfig]:
        for name in value:
            if not name.isidentifier() or name in _RESERVED:
                message = f"a name of letters, digits and underscores is expected, got {name!r}"
                raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _some(self) -> MqttSettings:
        if (self.topic is None) == (not self.topics):
            message = "give either topic or topics"
            raise ValueError(message)
        return self

    @property
    def all_topics(self) -> dict[str, TopicConfig]:
        """Every topic under its name."""
        if self.topic is None:
            return self.topics
        single = TopicConfig.model_validate(
            {"topic": self.topic}
            | self.model_dump(include={"path", "name", "unit", "digits", "words"}, exclude_unset=True)
        )
        return {"value": single}


_RESERVED = frozenset({"due", "now", "topics", "readings", "sentences", "age"})


class MqttSection:
    """Tells the last values of topics."""

    def __init__(self, settings: MqttSettings) -> None:
        self._topics = settings.all_topics
        self._max_age = timedelta(seconds=settings.max_age)
        self.template: str | None = settings.text
        self.topics: tuple[str, ...] = tuple(dict.fromkeys(topic.topic for topic in self._topics.values()))

    async def fetch(self, surroundings: Surroundings) -> dict[str, list[str]]:
        """The messages, with their moments."""
        found = {topic: surroundings.topics[topic] for topic in self.topics if topic in surroundings.topics}
        recent = {
            topic: [text, at.isoformat()]
            for topic, (text, at) in found.items()
            if surroundings.due - at <= self._max_age
        }
        if not recent:
            old = "only old values" if found else "no value yet"
            message = f"{old} of {', '.join(self.topics)}"
            raise SectionError(message)
        return recent

    def facts(self, data: dict[str, list[str]], surroundings: Surroundings) -> Mapping[str, Any] | None:
        """Each value under its name, ``readings`` (name, value, unit), ``sentences`` of ``words``, and ``age``."""
        values: dict[str, Any] = {}
        readings, sentences, ages = [], [], []
        for name, topic in self._topics.items():
            value, age = self._value(topic, data, surroundings.due)
            if value is None:
                continue
            values[name] = value
            ages.append(age)
            if topic.words is not None:
                words = topic.words.get(_key(value))
                if words:
                    sentences.append(words.rstrip("。."))
            else:
                readings.append({"name": topic.name or name, "value": value, "unit": topic.unit})
        if not values or (self.template is None and not readings and not sentences):
            return None
        return values | {"readings": readings, "sentences": sentences, "age": max(ages)}

    def _value(
        self, topic: TopicConfig, data: dict[str, list[str]], due: datetime
    ) -> tuple[str | int | float | bool | None, timedelta]:
        if topic.topic not in data:
            return None, timedelta()
        text, at = data[topic.topic]
        age = max(timedelta(), due - datetime.fromisoformat(at))
        if age > self._max_age:
            return None, age
        try:
            value = value_of(text, topic.path)
        except ValueError as error:
            message = f"the value of {topic.topic} cannot be told: {error}"
            raise SectionError(message) from None
        if isinstance(value, float):
            value = round(value, topic.digits)
        return value, age


def _key(value: Any) -> str:
    """A value as the key of ``words``; JSON's true and false as they are written there."""
    return str(value).lower() if isinstance(value, bool) else str(value)


KIND = BundledKind("mqtt", MqttSettings, MqttSection, {"ja": JAPANESE, "en": ENGLISH})
