"""What people choose at run time, wired: it holds before the configuration, and a choice is taken over at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from daemon import sinks
from daemon.announcer_commands import add_test_command
from daemon.house import House
from daemon.last_said import LastSaid
from daemon.preferences import Preferences
from daemon.sinks import Sink


def start_preferences(house: House) -> None:
    """Read what was chosen before; the configuration in force is that of the file with it."""

    def styles(speaker: str) -> Sequence[str]:
        known = house.renderer.speakers.get(speaker) if hasattr(house, "renderer") else None
        return () if known is None else known.styles

    house.preferences = Preferences(
        records=house.records,
        config=lambda: house.file_config,
        styles=styles,
        devices=lambda: [name for name in (house.config.audio.fallback_device, *house.outputs) if name],
    )
    house.config = house.preferences.over(house.file_config)
    house.last_said = LastSaid(house.clock, house.zone)
    house.bus.listen(house.last_said.on_event)
    house.preferences.add_to(house.commands)


def take_over(house: House) -> None:
    """From now on the parts follow what is chosen."""
    house.keeper.volume = lambda: house.preferences.alarm_volume
    house.keeper.snooze_length = lambda: house.preferences.snooze
    house.preferences.on_change = partial(_changed, house)
    add_test_command(house.commands, house.announcer, house.clock, lambda: house.config)


def sinks_of(house: House) -> list[Sink]:
    """The chosen device first, then those of the configuration."""
    rate = next(iter(house.tts.speakers.values())).sample_rate
    audio = house.config.audio
    house.device = house.preferences.device
    chosen = [] if house.device == audio.device else [house.device]
    made = [sinks.make_sink(name, recordings=audio.recordings, preferred_rate=rate) for name in chosen]
    return made + sinks.sinks_of(audio, rate)


def use_configuration(house: House) -> None:
    """Whatever is said from now on is said as the configuration in force has it."""
    config = house.config
    house.renderer.configure(config.speaker_name, frozenset(config.speakers))
    house.gateway.settings = config.announcements
    house.announcer.set_queue_limit(config.announcements.max_queue)
    house.announcer.set_volume_by_priority(config.announcements.volumes)
    house.quiet.configure(config.quiet_plan)
    house.briefer.configure(config.briefings, config.announcements.defaults)


def _changed(house: House) -> None:
    house.config = house.preferences.over(house.file_config)
    use_configuration(house)
    if house.preferences.device != house.device:
        house.player.use(sinks_of(house))
    house.changed()
    house.rediscover()
