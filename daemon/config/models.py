"""The whole configuration: every key with its meaning, once for errors, schema and documentation."""

from __future__ import annotations

from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator
from tzlocal import get_localzone

from daemon.alarms.alarm import SIREN
from daemon.config.alarms import AlarmConfig
from daemon.config.announcements import AnnouncementsConfig, CacheConfig
from daemon.config.audio import AudioConfig
from daemon.config.base import Model
from daemon.config.briefings import BriefingConfig
from daemon.config.calendar import HolidaysConfig, PlaceConfig, calendar_of
from daemon.config.http import HttpConfig
from daemon.config.mqtt import MqttConfig
from daemon.config.quiet import QuietRangeConfig, VolumeRangeConfig
from daemon.config.schedule import ScheduleEntryConfig
from daemon.config.speakers import RemoteSpeakerConfig, SpeakerConfig
from daemon.config.values import Duration, Identifier, Zone
from daemon.quiet import QuietPlan
from daemon.schedule.calendar import Calendar
from engine import Dictionary


class LogConfig(Model):
    """What is written to the journal."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class Config(Model):
    """The whole configuration. Every key has a default: an empty file is a working service."""

    node: Identifier = Field(default="home", description="name of this Asagoe, part of its topics")
    groups: list[Identifier] = Field(default=[], description="groups that this node answers to besides `all`")
    timezone: Zone | None = Field(default=None, description="default: the system's")
    holidays: HolidaysConfig = HolidaysConfig()
    place: PlaceConfig | None = Field(default=None, description="where the sun of sunrise and sunset is seen")
    speakers: dict[Identifier, SpeakerConfig] = Field(
        default={"mei": SpeakerConfig()}, min_length=1, description="voices under names"
    )
    default_speaker: str | None = Field(default=None, description="default: the first of speakers")
    render_on: Identifier | None = Field(
        default=None,
        description="another node that makes the speech of all speakers that name no source: this one only plays it",
    )
    unload_after: Duration | None = Field(
        default=None,
        description="a speaker that has not spoken for so long gives its memory back, and is loaded again when it is "
        "next needed; default: never",
    )
    mirrors: dict[str, list[str]] = Field(
        default={}, description="for a source of speakers, others that hold the same voices, asked in turn"
    )
    compute_device: str = Field(
        default="cpu",
        pattern=r"^(cpu|cuda(:\d+)?)$",
        description="what neural voices are computed on: `cpu`, `cuda` or `cuda:N`",
    )
    audio: AudioConfig = AudioConfig()
    mqtt: MqttConfig = MqttConfig()
    http: HttpConfig | None = Field(default=None, description="the HTTP server; without this key there is none")
    announcements: AnnouncementsConfig = AnnouncementsConfig()
    quiet_hours: list[QuietRangeConfig] = Field(
        default=[], description="hours in which not everything is said; the first that applies decides"
    )
    volumes: list[VolumeRangeConfig] = Field(
        default=[], description="hours with a volume of their own; the first that applies decides"
    )
    dictionary: str | None = Field(
        default=None, min_length=1, description="YAML file of your own words and readings, relative to this file"
    )
    phrase_cache: CacheConfig = CacheConfig()
    alarms: dict[Identifier, AlarmConfig] = Field(default={}, description="what rings until somebody answers, by id")
    briefings: dict[Identifier, BriefingConfig] = Field(
        default={}, description="under names, what is fetched, put into words and told in one go"
    )
    own_hosts: list[str] = Field(
        default=[],
        description="hosts of your own domain that briefings may reach in the private network, such as "
        "cloud.example.org; addresses and names such as nas.local need not be listed",
    )
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

    @field_validator("alarms")
    @classmethod
    def _not_the_bell(cls, value: dict[str, AlarmConfig]) -> dict[str, AlarmConfig]:
        if SIREN in value:
            message = f"{SIREN!r} is the name of the bell; choose another id"
            raise ValueError(message)
        return value

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

    def unloads_after(self, speaker: str) -> float | None:
        """Seconds of silence after which a speaker of this node gives its memory back; None for never."""
        own = self.own_speakers[speaker].unload_after
        return (self.unload_after if own is None else own) or None

    @property
    def calendar(self) -> Calendar:
        """The world that rules are planned in: zone, holidays, place."""
        return calendar_of(self.zone, self.holidays, self.place)

    @property
    def remote_speakers(self) -> dict[str, RemoteSpeakerConfig]:
        """The speakers whose speech another node makes."""
        found = {}
        for name, speaker in self.speakers.items():
            node = speaker.node
            if node is None and "source" not in speaker.model_fields_set:
                node = self.render_on
            if node is not None:
                there = speaker.name or (name if "speakers" in self.model_fields_set else None)
                found[name] = RemoteSpeakerConfig(node, there)
        return found

    @property
    def own_speakers(self) -> dict[str, SpeakerConfig]:
        """The speakers whose voices are on this machine."""
        return {name: speaker for name, speaker in self.speakers.items() if name not in self.remote_speakers}

    @property
    def quiet_plan(self) -> QuietPlan:
        """Quiet hours, and volumes by time of day."""
        return QuietPlan(
            self.calendar,
            tuple(item.range for item in self.quiet_hours),
            tuple(item.range for item in self.volumes),
            self.announcements.deferred_summary,
            self.announcements.defaults.chime,
            self.announcements.max_queue,
        )

    @property
    def speaker_name(self) -> str:
        """The speaker of announcements that name none."""
        return self.default_speaker or next(iter(self.speakers))
