"""What all parts of the configuration share: the strict model and kinds of fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from engine import OPTION_RANGES

Priority = Literal["low", "normal", "high", "critical"]


class Model(BaseModel):
    """Unknown keys are errors; values do not change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def speech_option(name: str) -> Any:
    """A field for a speech option; the range is the engine's own."""
    allowed = OPTION_RANGES[name]
    unit = f" {allowed.unit}" if allowed.unit else ""
    default = "none" if name == "seed" else f"{allowed.default:g}"  # without a seed, each rendering is another
    return Field(
        default=None,
        ge=allowed.low,
        le=allowed.high,
        description=f"{allowed.meaning} ({allowed.low:g} to {allowed.high:.10g}{unit}, default {default})",
    )


_T = TypeVar("_T")
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
OneOrMore = Annotated[
    list[_T],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    Field(min_length=1),
    WithJsonSchema(_TEXTS),
]
