"""A changed configuration, taken over while the service runs."""

from __future__ import annotations

import asyncio
import logging

from daemon import events
from daemon.config import Config, ConfigError, load_config
from daemon.events import Event
from daemon.house import House
from daemon.logs import set_up_logging
from daemon.wiring.choices import use_configuration
from engine import DictionaryError

_log = logging.getLogger("asagoe.service")

FIXED = (
    "node",
    "groups",
    "timezone",
    "compute_device",
    "audio",
    "mirrors",
    "mqtt",
    "http",
    "phrase_cache",
    "render_on",
)
"""Keys that are read at the start alone; a change of them waits for the next."""


async def reload(house: House) -> None:
    """Read the configuration and its dictionary again; a broken file changes nothing."""
    house.notifier.reloading()
    try:
        config = await asyncio.to_thread(load_config, house.path)
        await asyncio.to_thread(house.tts.use_dictionary, config.words)
    except (ConfigError, DictionaryError) as error:
        _log.error("the configuration is not reloaded, the old one stays in force:\n%s", error)
        first = str(error).partition("\n")[0]
        house.bus.emit(Event(events.FAILED, None, f"the configuration is not reloaded: {first}"))
    else:
        await _apply(house, config)
    house.notifier.ready(house.summary())


async def _apply(house: House, new: Config) -> None:
    old = house.config
    fixed = [key for key in FIXED if getattr(old, key) != getattr(new, key)]
    house.file_config = new.model_copy(update={key: getattr(old, key) for key in fixed})
    house.config = house.preferences.over(house.file_config)
    if new.remote_speakers != old.remote_speakers:
        fixed.append("speakers that other nodes speak")
    for name in set(old.own_speakers) - set(new.own_speakers):
        await asyncio.to_thread(house.tts.unload, name)
    await house.speakers.load(new)
    use_configuration(house)
    if house.render_server is not None:
        house.render_server.publish_voices()
    heard = set(house.house_topics.filters)
    house.house_topics.want(house.briefer.topics)
    wanted = set(house.house_topics.filters)
    if house.broker is not None and wanted != heard:
        house.broker.listen(more=sorted(wanted - heard), less=sorted(heard - wanted))
    house.agenda.configure(house.config)
    set_up_logging(new.log.level)
    if fixed:
        _log.warning("reloaded; a change of %s takes effect at the next start", ", ".join(fixed))
    else:
        _log.info("reloaded: %s", house.summary())
