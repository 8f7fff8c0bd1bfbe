"""What the configuration may hold: every key with its meaning, once for errors, schema and documentation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from tzlocal import get_localzone

from daemon.config.values import Duration, Identifier, Percent, Secret, TimeOfDay, Zone
from daemon.schedule.days import DAYS_HELP, parse_days
from daemon.schedule.rules import check_cron
from engine import OPTION_RANGES, Dictionary, SpeechOptions
from engine.errors import EngineError

Priority = Literal["low", "normal", "high", "critical"]


class Model(BaseModel):
    """Unknown keys are errors; values do not change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _option(name: str) -> Any:
    """A field for a speech option; the range is the engine's own."""
    allowed = OPTION_RANGES[name]
    unit = f" {allowed.unit}" if allowed.unit else ""
    return Field(
        default=None,
        ge=allowed.low,
        le=allowed.high,
        description=f"{allowed.meaning} ({allowed.low:g} to {allowed.high:g}{unit}, default {allowed.default:g})",
    )


class SpeakerConfig(Model):
    """A voice under a name."""

    source: str = Field(default="openjtalk:mei", description="where the voice comes from, for example openjtalk:mei")
    name: str | None = Field(default=None, description="the voice's name at the source, where it differs")
    style: str | None = Field(default=None, description="an emotion of the voice")
    style_weight: float | None = _option("style_weight")
    speed: float | None = _option("speed")
    sdp_ratio: float | None = _option("sdp_ratio")
    noise: float | None = _option("noise")
    noise_w: float | None = _option("noise_w")
    pitch: float | None = _option("pitch")
    intonation: float | None = _option("intonation")
    volume: float | None = _option("volume")
    speaker_id: int | None = _option("speaker_id")
    seed: int | None = _option("seed")

    def defaults(self) -> dict[str, Any]:
        """The speech options that requests to this speaker start from."""
        return self.model_dump(exclude={"source", "name"}, exclude_none=True)

    @model_validator(mode="after")
    def _known_to_the_engine(self) -> SpeakerConfig:
        try:
            SpeechOptions.of(self.defaults())
        except EngineError as error:
            raise ValueError(str(error)) from error
        return self


class AudioConfig(Model):
    """The sound device."""

    device: str = Field(
        default="default",
        min_length=1,
        description="`default`, part of a device's name (see `asagoe devices`), `file:FOLDER` or `null`",
    )
    fallback_device: str | None = Field(default=None, description="tried when `device` cannot be opened")
    volume: Percent = Field(default=60, description="loudness at start-up, 0 to 100, on a perceptual scale")
    lead_in_ms: int = Field(
        default=200, ge=0, le=5000, description="silence that wakes the amplifier before the first syllable"
    )
    keep_open: Duration = Field(default=3.0, description="how long the device stays open after the last sound")
    recordings: int = Field(
        default=100, ge=1, le=100_000, description="how many WAV files are kept when sound goes to a folder"
    )


class TlsConfig(Model):
    """TLS towards the broker; the system's certificates are used unless `ca` names others."""

    ca: str | None = Field(default=None, description="file of certificates that may sign the broker's")
    certificate: str | None = Field(default=None, description="client certificate")
    key: str | None = Field(default=None, description="key of the client certificate")

    @model_validator(mode="after")
    def _pair(self) -> TlsConfig:
        if (self.certificate is None) != (self.key is None):
            message = "certificate and key go together"
            raise ValueError(message)
        return self


class MqttConfig(Model):
    """The broker."""

    url: str | None = Field(
        default=None,
        description="mqtt://HOST:PORT or mqtts://HOST:PORT; without it a broker is started inside the service",
    )
    broker: Literal["embedded", "none"] | None = Field(
        default=None, description="`embedded` starts a broker inside the service, `none` does without MQTT"
    )
    bind: str = Field(default="127.0.0.1", description="address of the embedded broker")
    port: int = Field(default=1883, ge=1, le=65535, description="port of the embedded broker")
    client_id: str | None = Field(default=None, max_length=64, description="default: asagoe-NODE")
    username: str | None = None
    password: Secret | None = Field(default=None, description="text, or {credential: NAME}, {file: PATH}, {env: NAME}")
    tls: TlsConfig | None = None
    base_topic: str = Field(
        default="asagoe", pattern=r"^[^+#\s/]+(/[^+#\s/]+)*$", description="first part of all topics"
    )
    keepalive: Duration = Field(default=30.0, description="how soon a dead connection is noticed")

    @field_validator("keepalive")
    @classmethod
    def _keepalive_range(cls, value: float) -> float:
        if not 5 <= value <= 1200:
            message = "a duration from 5s to 20m is expected"
            raise ValueError(message)
        return value

    @field_validator("url")
    @classmethod
    def _url_form(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        try:
            bad = parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or parts.path.strip("/")
            _ = parts.port
        except ValueError:
            bad = True
        if bad:
            message = "mqtt://HOST:PORT or mqtts://HOST:PORT is expected"
            raise ValueError(message)
        if parts.password:
            message = "the password does not belong into the address; use the key password"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _one_broker(self) -> MqttConfig:
        if self.url and self.broker:
            message = "url and broker exclude each other: a broker elsewhere, or one of our own"
            raise ValueError(message)
        return self

    @property
    def embedded(self) -> bool:
        """Whether the broker runs inside the service."""
        return not self.url and self.broker != "none"


class AnnouncementDefaults(Model):
    """What an announcement has when it does not say otherwise."""

    chime: str | None = Field(default=None, description="sound before the speech: the name of a chime or a WAV file")
    end_chime: str | None = Field(default=None, description="sound after the speech")
    priority: Priority = "normal"
    expires_in: Duration = Field(default=600.0, description="how long an announcement may wait before it is dropped")


class AnnouncementsConfig(Model):
    """The queue of announcements."""

    defaults: AnnouncementDefaults = AnnouncementDefaults()
    max_queue: int = Field(default=50, ge=1, le=10_000, description="how many may wait; one more is refused")
    max_characters: int = Field(default=3000, ge=1, le=100_000, description="longest text of an announcement")
    max_payload: int = Field(default=16_384, ge=256, le=1_048_576, description="largest message, in bytes")


class CacheConfig(Model):
    """The phrase cache: speech that was rendered before."""

    folder: str | None = Field(default=None, description="default: `phrases` in the cache folder")
    max_mb: int = Field(default=200, ge=0, le=100_000, description="bound on disk; 0 turns the cache off")


_T = TypeVar("_T")
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_OneOrMore = Annotated[
    list[_T],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    Field(min_length=1),
    WithJsonSchema(_TEXTS),
]


class ScheduleEntryConfig(Model):
    """Something that is said at set times."""

    id: Identifier | None = Field(default=None, description="name of the entry; default: schedule-N")
    at: _OneOrMore[TimeOfDay] | None = Field(default=None, description="time of day, or several")
    days: _OneOrMore[str] | None = Field(default=None, description=DAYS_HELP)
    cron: str | None = Field(default=None, description="five fields as in crontab(5); 1 and mon are Monday")
    say: str = Field(min_length=1, description="the text")
    speaker: str | None = None
    style: str | None = None
    speed: float | None = _option("speed")
    pitch: float | None = _option("pitch")
    intonation: float | None = _option("intonation")
    volume: Percent | None = None
    chime: str | None = None
    end_chime: str | None = None
    priority: Priority | None = None
    grace: Duration = Field(default=60.0, description="how late it may still be said; later it is reported as missed")
    enabled: bool = True

    @field_validator("days", mode="before")
    @classmethod
    def _days_form(cls, value: Any) -> Any:
        if value is not None:
            parse_days(value if isinstance(value, list) else [value])
        return value

    @field_validator("cron")
    @classmethod
    def _cron_form(cls, value: str | None) -> str | None:
        if value is not None:
            check_cron(value)
        return value

    @model_validator(mode="after")
    def _one_rule(self) -> ScheduleEntryConfig:
        if (self.at is None) == (self.cron is None):
            message = "give either at (with days, if not every day) or cron"
            raise ValueError(message)
        if self.cron is not None and self.days is not None:
            message = "days goes with at; cron has weekdays of its own"
            raise ValueError(message)
        return self


class LogConfig(Model):
    """What is written to the journal."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class Config(Model):
    """The whole configuration. Every key has a default: an empty file is a working service."""

    node: Identifier = Field(default="home", description="name of this Asagoe, part of its topics")
    groups: list[Identifier] = Field(default=[], description="groups that this node answers to besides `all`")
    timezone: Zone | None = Field(default=None, description="default: the system's")
    speakers: dict[Identifier, SpeakerConfig] = Field(
        default={"mei": SpeakerConfig()}, min_length=1, description="voices under names"
    )
    default_speaker: str | None = Field(default=None, description="default: the first of speakers")
    mirrors: dict[str, list[str]] = Field(
        default={}, description="for a source of speakers, others that hold the same voices, asked in turn"
    )
    audio: AudioConfig = AudioConfig()
    mqtt: MqttConfig = MqttConfig()
    announcements: AnnouncementsConfig = AnnouncementsConfig()
    dictionary: str | None = Field(
        default=None, min_length=1, description="YAML file of your own words and readings, relative to this file"
    )
    phrase_cache: CacheConfig = CacheConfig()
    schedule: list[ScheduleEntryConfig] = Field(default=[], description="what is said at set times")
    log: LogConfig = LogConfig()
    _words: Dictionary = PrivateAttr(default_factory=Dictionary)

    def model_post_init(self, context: Any, /) -> None:
        """Keep the words that were read together with the file; whoever validates hands them over."""
        if isinstance(context, Dictionary):
            self._words = context

    @property
    def words(self) -> Dictionary:
        """What the file of ``dictionary`` held when the configuration was read; empty without one."""
        return self._words

    @field_validator("schedule")
    @classmethod
    def _unique_ids(cls, value: list[ScheduleEntryConfig], info: ValidationInfo) -> list[ScheduleEntryConfig]:
        del info
        seen: dict[str, int] = {}
        for index, entry in enumerate(value):
            name = entry.id or f"schedule-{index + 1}"
            if name in seen:
                message = f"the id {name!r} is used by entries {seen[name] + 1} and {index + 1}"
                raise ValueError(message)
            seen[name] = index
        return value

    @property
    def zone(self) -> ZoneInfo:
        """Of the local times: the configured one, else the system's."""
        return self.timezone or ZoneInfo(str(get_localzone()))

    @property
    def speaker_name(self) -> str:
        """The speaker of announcements that name none."""
        return self.default_speaker or next(iter(self.speakers))
