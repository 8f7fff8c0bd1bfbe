"""The configuration: one YAML file, read strictly, all its errors at once."""

from daemon.config.announcements import AnnouncementDefaults, AnnouncementsConfig
from daemon.config.audio import AudioConfig
from daemon.config.briefings import BriefingConfig, SectionConfig, SectionKeys, WhenConfig
from daemon.config.load import ConfigError, dictionary_path, find_config, load_config, parse_config
from daemon.config.models import Config
from daemon.config.mqtt import MqttConfig
from daemon.config.schedule import RuleConfig, ScheduleEntryConfig
from daemon.config.speakers import SpeakerConfig

__all__ = [
    "AnnouncementDefaults",
    "AnnouncementsConfig",
    "AudioConfig",
    "BriefingConfig",
    "Config",
    "ConfigError",
    "MqttConfig",
    "RuleConfig",
    "ScheduleEntryConfig",
    "SectionConfig",
    "SectionKeys",
    "SpeakerConfig",
    "WhenConfig",
    "dictionary_path",
    "find_config",
    "load_config",
    "parse_config",
]
