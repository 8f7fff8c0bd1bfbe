"""What the models and paths of Asagoe's own interface share."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from daemon.http.problems import PROBLEM
from daemon.http.voicevox_models import Text

Id = Annotated[str, InPath(min_length=1, max_length=64, description="id of an alarm or entry", examples=["wake-up"])]
Name = Annotated[Text, Field(max_length=64)]
Line = Annotated[Text, Field(max_length=200)]


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class Asked(BaseModel):
    """The body of a request; an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid")


def example(value: dict[str, Any]) -> ConfigDict:
    """The configuration of a model of a request with an example."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [value]})


class Done(BaseModel):
    """A request was carried out.

    Attributes:
        ids: of the announcements or alarms that it concerned, where it concerned any.
    """

    ids: list[str] = []

    @classmethod
    def of(cls, result: object) -> Done:
        """What a command gave back."""
        ids = [result] if isinstance(result, str) else result if isinstance(result, list) else []
        return cls(ids=[item for item in ids if isinstance(item, str)])


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a path answers with, for the OpenAPI document."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {PROBLEM: {"schema": Problem.model_json_schema()}},
        }
        for status in statuses
    }
