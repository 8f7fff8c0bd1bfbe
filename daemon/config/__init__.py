"""The configuration: one YAML file, read strictly, all its errors at once."""

from daemon.config.load import ConfigError, dictionary_path, find_config, load_config, parse_config
from daemon.config.models import (
    AnnouncementDefaults,
    AnnouncementsConfig,
    AudioConfig,
    Config,
    MqttConfig,
    ScheduleEntryConfig,
    SpeakerConfig,
)

__all__ = [
    "AnnouncementDefaults",
    "AnnouncementsConfig",
    "AudioConfig",
    "Config",
    "ConfigError",
    "MqttConfig",
    "ScheduleEntryConfig",
    "SpeakerConfig",
    "dictionary_path",
    "find_config",
    "load_config",
    "parse_config",
]
