"""Any web service that answers with JSON, or with a short text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from daemon.briefings.json_path import JsonPath, value_at
from daemon.briefings.section import Surroundings
from daemon.briefings.sections.bundled import BundledKind
from daemon.briefings.sections.values import parse_json, spoken_value
from daemon.briefings.words.template import TemplateText
from daemon.config.base import Model
from daemon.config.values import Secret
from daemon.errors import SectionError

LIMIT = 1_000_000
"""Bytes of an answer."""

_TYPES = ("application/json", "text/json", "text/plain", "application/ld+json", "application/geo+json")


class HttpSettings(Model):
    """Values of a web service."""

    url: Secret = Field(description="text, or {credential: NAME}, {file: PATH}, {env: NAME}; it is never shown")
    headers: dict[str, Secret] = Field(default={}, max_length=20, description="sent along, such as Authorization")
    path: JsonPath | None = Field(
        default=None, description="where in the JSON the value lies; it is `value` in the text"
    )
    values: dict[str, JsonPath] = Field(default={}, max_length=50, description="several paths, under their names")
    text: TemplateText = Field(min_length=1, description="Jinja template over the values")

    @field_validator("url")
    @classmethod
    def _url_form(cls, value: Secret) -> Secret:
        if value.value is not None:
            check_url(value.value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _one_way(self) -> HttpSettings:
        if self.path is not None and self.values:
            message = "give either path or values"
            raise ValueError(message)
        return self


def check_url(url: str) -> None:
    """Refuse what is no web address, without repeating it: it may hold a key.

    Raises:
        ValueError: it is none.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        message = "a web address that begins with http:// or https:// is expected"
        raise ValueError(message)


class HttpSection:
    """Keeps the values, not the whole answer."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self.template: str | None = settings.text

    async def fetch(self, surroundings: Surroundings) -> dict[str, Any]:
        """The values under their names."""
        try:
            url = self._settings.url.reveal()
            headers = {name: secret.reveal() for name, secret in self._settings.headers.items()}
            check_url(url)
        except ValueError as error:
            raise SectionError(str(error)) from None
        answer = await surroundings.fetcher.get(url, accept=_TYPES, limit=LIMIT, headers=headers or None)
        try:
            text = answer.body.decode(answer.charset or "utf-8", "replace").removeprefix("\ufeff")
        except LookupError:
            text = answer.body.decode("utf-8", "replace")
        try:
            return self._values(text, is_json=answer.content_type != "text/plain")
        except ValueError as error:
            message = f"the answer of {urlsplit(url).hostname} cannot be used: {error}"
            raise SectionError(message) from None

    def _values(self, text: str, *, is_json: bool) -> dict[str, Any]:
        paths = dict(self._settings.values)
        if not paths and self._settings.path is None and not is_json:
            return {"value": spoken_value(text)}
        document = parse_json(text)
        found: dict[str, Any] = {}
        for name, path in (paths or {"value": self._settings.path or "$"}).items():
            try:
                found[name] = spoken_value(value_at(document, path))
            except LookupError as error:
                reason = str(error.args[0])
                if len(paths) <= 1:
                    raise ValueError(reason) from None
        if not found:
            message = f"there is nothing under {', '.join(paths.values())}"
            raise ValueError(message)
        return found

    def facts(self, data: dict[str, Any], surroundings: Surroundings) -> Mapping[str, Any] | None:
        """The values that there are."""
        del surroundings
        values = {name: value for name, value in data.items() if value is not None}
        return values or None


KIND = BundledKind("http", HttpSettings, HttpSection, {"ja": ""})
