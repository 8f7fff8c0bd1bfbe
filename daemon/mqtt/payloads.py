"""From the bytes of a message to a request: strict, bounded, and with one sentence when it is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from daemon.announcement import Announcement, Priority, new_id
from daemon.chimes import NONE, chime_names
from daemon.config import AnnouncementsConfig
from daemon.config.values import Duration, Identifier, Percent
from daemon.errors import RequestError
from daemon.mqtt.strict import decode, has_half_pair, parse_json
from engine import EngineError, SpeechOptions

# Text that begins like this means to be a JSON object; other text is spoken as it is.
_OBJECT = re.compile(r'\s*\{\s*(?:"|\})')
_ARRAY = re.compile(r'\s*\[\s*(?:["\[{\]]|-?\d)')


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        message = "a number is expected"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into an error of the field
    return value


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Number = Annotated[float, BeforeValidator(_no_bool)]


class AnnounceMessage(BaseModel):
    """The JSON object of an announcement. Numbers may come as text, as Home Assistant's templates give them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1)
    nodes: Annotated[list[Identifier], BeforeValidator(_listed), Field(min_length=1, max_length=100)] | None = None
    id: str | None = Field(default=None, min_length=1, max_length=128)
    speaker: str | None = None
    style: str | None = None
    speed: _Number | None = None
    pitch: _Number | None = None
    intonation: _Number | None = None
    volume: Annotated[Percent, BeforeValidator(_no_bool)] | None = None
    chime: str | None = None
    end_chime: str | None = None
    priority: Literal["low", "normal", "high", "critical"] | None = None
    interrupt: bool | None = None
    expires_in: Duration | None = None
    expires_at: str | float | None = None
    dedupe: Duration | None = None
    repeat: Annotated[int, BeforeValidator(_no_bool)] = Field(default=1, ge=1, le=20)


def parse_announcement(
    payload: bytes,
    config: AnnouncementsConfig,
    *,
    origin: str,
    now: datetime,
    monotonic: float,
    zone: ZoneInfo,
    second_encoding: str | None = None,
    is_for_us: Callable[[Sequence[str]], bool] = lambda _: True,
) -> Announcement | None:
    """Read an announcement: plain text, or a JSON object.

    Args:
        payload: as it came.
        config: defaults and bounds.
        origin: where it came from.
        now: wall clock.
        monotonic: monotonic clock.
        zone: of moments without an offset.
        second_encoding: tried where the payload is not UTF-8.
        is_for_us: asked with the nodes that it names, where it names any.

    Returns:
        None for an empty message, which says nothing (it is how a retained message is cleared), and for one that is
        meant for other nodes.

    Raises:
        RequestError: with the reason, and the sender's id where one could be read.
    """
    text = decode(payload, config.max_payload, second_encoding)
    if not text.strip():
        return None
    request = _message(_object(text)) if _OBJECT.match(text) or _is_array(text) else AnnounceMessage(text=text)
    if request.nodes is not None and not is_for_us(request.nodes):
        return None
    return announcement_of(request, config, origin=origin, now=now, monotonic=monotonic, zone=zone)


def announcement_of(
    request: AnnounceMessage,
    config: AnnouncementsConfig,
    *,
    origin: str,
    now: datetime,
    monotonic: float,
    zone: ZoneInfo,
) -> Announcement:
    """The announcement that a message asks for, its gaps filled with the configuration's defaults.

    Raises:
        RequestError: the text is too long, or an option is out of its range.
    """
    if len(request.text) > config.max_characters:
        message = f"the text has {len(request.text):,} characters; at most {config.max_characters:,} are spoken"
        raise RequestError(message, request.id)
    try:
        return _announcement(request, config, origin, now, monotonic, zone)
    except (EngineError, ValueError) as error:
        raise RequestError(str(error), request.id) from error


def _announcement(
    request: AnnounceMessage,
    config: AnnouncementsConfig,
    origin: str,
    now: datetime,
    monotonic: float,
    zone: ZoneInfo,
) -> Announcement:
    defaults = config.defaults
    options = request.model_dump(include={"style", "speed", "pitch", "intonation"}, exclude_none=True)
    SpeechOptions.of(options)
    priority = Priority.named(request.priority or defaults.priority)
    expires = None if request.expires_at is None else parse_moment(request.expires_at, zone)
    max_wait = request.expires_in
    default_wait = False
    if max_wait is None and expires is None:
        max_wait = defaults.expires_in
        default_wait = True
    return Announcement(
        id=request.id or new_id(),
        text=request.text,
        origin=origin,
        received=now,
        received_at=monotonic,
        priority=priority,
        interrupt=priority is Priority.CRITICAL if request.interrupt is None else request.interrupt,
        speaker=request.speaker,
        options=MappingProxyType(options),
        volume=request.volume,
        chime=_chime(request.chime, defaults.chime),
        end_chime=_chime(request.end_chime, defaults.end_chime),
        expires=expires,
        max_wait=max_wait,
        default_wait=default_wait,
        repeat=request.repeat,
        dedupe=request.dedupe or 0.0,
    )


def _chime(asked: str | None, default: str | None) -> str | None:
    """The chime that a message names, among the bundled ones: files are the configuration's to name."""
    if asked is None:
        return default
    if asked != NONE and asked not in chime_names():
        message = f"there is no chime {asked[:40]!r}; there are {', '.join(chime_names())} and none"
        raise ValueError(message)
    return asked


def parse_moment(value: str | float, zone: ZoneInfo) -> datetime:
    """A moment from ISO 8601 (local time unless it has an offset) or seconds since 1970.

    Raises:
        ValueError: it is neither.
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        message = f"expires_at: a moment such as 2026-12-01T07:00 or seconds since 1970 is expected, got {value!r}"
        raise ValueError(message) from error


def _is_array(text: str) -> bool:
    """Whether a text is a JSON array; 「[お知らせ] …」 is not."""
    if not _ARRAY.match(text):
        return False
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return text.lstrip().startswith("[[")


def _object(text: str) -> dict[str, Any]:
    value = parse_json(text)
    if not isinstance(value, dict):
        message = "a JSON object with the key text, or plain text, is expected"
        raise RequestError(message)
    return value


def _message(value: dict[str, Any]) -> AnnounceMessage:
    given = value.get("id")
    request_id = given if isinstance(given, str) and 0 < len(given) <= 128 else None
    for key, item in value.items():
        if isinstance(item, dict | list) and key != "nodes":
            message = f"{key}: text, a number or true/false is expected, not an object or list"
            raise RequestError(message, request_id)
        if isinstance(item, str) and has_half_pair(item):
            message = f"{key}: half of a surrogate pair is no character"
            raise RequestError(message, None if key == "id" else request_id)
    try:
        return AnnounceMessage.model_validate(value)
    except ValidationError as error:
        raise RequestError("; ".join(_sentences(error)), request_id) from error


def _sentences(error: ValidationError) -> Iterable[str]:
    for details in error.errors():
        key = str(details["loc"][0]) if details["loc"] else "message"
        if details["type"] == "extra_forbidden":
            yield f"unknown key {key!r}; known are {', '.join(AnnounceMessage.model_fields)}"
        elif details["type"] == "missing":
            yield f"the key {key!r} is missing"
        else:
            yield f"{key}: {details['msg'].removeprefix('Value error, ')}, got {str(details['input'])[:40]!r}"
