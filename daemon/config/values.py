"""Kinds of values that several keys share: durations, times of day, percentages, secrets."""

from __future__ import annotations

import os
import re
from datetime import date, time, timedelta
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SecretStr,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from daemon.schedule.dates import parse_date
from daemon.schedule.sun import MAX_OFFSET, SunTime

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_SUN = re.compile(r"(sunrise|sunset|日の出|日の入り|日没)(?:([-+])(.+))?")
_LONGEST = 366 * 86400.0


def parse_duration(value: Any) -> float:
    """Seconds from a number or a text such as ``90``, ``1.5s``, ``10m``, ``1h30m``.

    Raises:
        ValueError: anything else, or more than a year.
    """
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value.strip()):
        value = float(value)
    if isinstance(value, str):
        text = value.strip().replace(" ", "")
        if _DURATION.fullmatch(text):
            value = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"a duration such as 90, 30s, 10m or 1h30m is expected, got {value!r}"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into an error of the field
    if not 0 <= value <= _LONGEST:
        message = f"a duration from 0 to 366 days is expected, got {value!r}"
        raise ValueError(message)
    return float(value)


def parse_time_of_day(value: Any) -> time:
    """A time of day from text such as ``7:30``, ``06:45`` or ``06:45:30``.

    Raises:
        ValueError: anything else.
    """
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match:
        hour, minute, second = (int(part or 0) for part in match.groups())
        if hour < 24 and minute < 60 and second < 60:
            return time(hour, minute, second)
    message = f"a time of day such as 7:30 or 06:45:30 is expected, got {value!r}"
    raise ValueError(message)


def parse_at(value: Any) -> time | SunTime:
    """A time of day, or one by the sun such as ``sunset``, ``sunset-30m`` or ``sunrise+1h15m``.

    Raises:
        ValueError: anything else, or more than twelve hours from the sun's moment.
    """
    if isinstance(value, time | SunTime):
        return value
    match = _SUN.fullmatch("".join(value.lower().split())) if isinstance(value, str) else None
    if match is None:
        try:
            return parse_time_of_day(value)
        except ValueError as error:
            message = f"a time such as 7:30, 06:45:30, sunrise or sunset-30m is expected, got {value!r}"
            raise ValueError(message) from error
    offset = timedelta(seconds=parse_duration(match[3]) if match[3] else 0.0)
    if offset > MAX_OFFSET:
        message = f"at most twelve hours before or after the sun are expected, got {value!r}"
        raise ValueError(message)
    return SunTime("sunrise" if match[1] in {"sunrise", "日の出"} else "sunset", -offset if match[2] == "-" else offset)


def parse_zone(value: Any) -> ZoneInfo:
    """A time zone by its name in the IANA database.

    Raises:
        ValueError: no such zone.
    """
    if isinstance(value, ZoneInfo):
        return value
    try:
        return ZoneInfo(value) if isinstance(value, str) else ZoneInfo("")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"a time zone such as Asia/Tokyo or Europe/Berlin is expected, got {value!r}"
        raise ValueError(message) from error


Duration = Annotated[
    float, BeforeValidator(parse_duration), WithJsonSchema({"type": ["number", "string"], "examples": ["30s", "10m"]})
]
TimeOfDay = Annotated[
    time,
    BeforeValidator(lambda value: value if isinstance(value, time) else parse_time_of_day(value)),
    WithJsonSchema({"type": "string", "pattern": _TIME.pattern, "examples": ["07:30"]}),
]
At = Annotated[
    time | SunTime, BeforeValidator(parse_at), WithJsonSchema({"type": "string", "examples": ["07:30", "sunset-30m"]})
]
Day = Annotated[
    date, BeforeValidator(parse_date), WithJsonSchema({"type": "string", "format": "date", "examples": ["2026-12-24"]})
]
Zone = Annotated[ZoneInfo, BeforeValidator(parse_zone), WithJsonSchema({"type": "string", "examples": ["Asia/Tokyo"]})]
Percent = Annotated[int, Field(ge=0, le=100)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Secret(BaseModel):
    """A secret: as text, or better by reference to a systemd credential, a file or an environment variable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: SecretStr | None = None
    credential: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.-]+$")
    file: Path | None = None
    env: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _text(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"value": data}
        given = data.get("value", "") if isinstance(data, dict) else None
        if not isinstance(given, str | SecretStr) and not isinstance(data, Secret):
            # Not left to pydantic, whose errors repeat what they found.
            message = "a secret is expected: text, {credential: NAME}, {file: PATH} or {env: NAME}"
            raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into an error of the field
        return data

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        """The schema of both forms: a text, or a reference."""
        return {"anyOf": [{"type": "string"}, handler(core)]}

    @model_validator(mode="after")
    def _one(self) -> Secret:
        if sum(part is not None for part in (self.value, self.credential, self.file, self.env)) != 1:
            message = "give the secret as text, or one of credential, file and env"
            raise ValueError(message)
        return self

    def reveal(self) -> str:
        """The secret itself.

        Raises:
            ValueError: the reference leads nowhere; the message names it, never the secret.
        """
        if self.value is not None:
            return self.value.get_secret_value()
        if self.env is not None:
            if self.env not in os.environ:
                message = f"the environment variable {self.env} is not set"
                raise ValueError(message)
            return os.environ[self.env]
        path = self.file or _credential(str(self.credential))
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            message = f"the secret file {path} cannot be read ({type(error).__name__})"
            raise ValueError(message) from error


def _credential(name: str) -> Path:
    """Where a credential lies: what systemd gave, a container's secret, or, for root, what systemd would give."""
    given = os.environ.get("CREDENTIALS_DIRECTORY")
    if given:
        return Path(given) / name
    secret = Path("/run/secrets") / name
    # os.path: a folder that may not be looked into is no error here, but when the file is read.
    stored = os.path.isdir("/etc/credstore") and not os.path.exists(secret)  # noqa: PTH110, PTH112
    return Path("/etc/credstore") / f"asagoe.{name}" if stored else secret
