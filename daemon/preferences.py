"""What people choose at run time instead of what the configuration says: kept over restarts.

Speaker, style, chime and sound device of announcements, the volume of all alarms, the length of a snooze.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from daemon.chimes import NONE, OFF, chime_names
from daemon.commands import Commands
from daemon.config import Config
from daemon.errors import RequestError
from daemon.requests import parse_number, parse_percent
from daemon.store import Records

_SETTING = "preferences"
_OWN = frozenset({"", "own", "default", "none"})
"""Takes a choice back; ``none`` does not where it is a value of its own."""
LONGEST_SNOOZE = 180
"""Minutes; also the longest that a single snooze may be."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen; None where the configuration holds.

    Attributes:
        speaker: of announcements that name none.
        style: of that speaker, where an announcement names neither speaker nor style.
        style_of: the speaker for which the style was chosen: with another it means nothing.
        chime: before announcements that name none; ``none`` for no chime.
        device: where sound goes.
        alarm_volume: of all alarms, 1 to 100.
        snooze_minutes: for how long alarms are put off where nobody says otherwise, 1 to 180.
    """

    speaker: str | None = None
    style: str | None = None
    style_of: str | None = None
    chime: str | None = None
    device: str | None = None
    alarm_volume: int | None = None
    snooze_minutes: int | None = None


class Preferences:
    """The choices and the commands that make them. All calls are on the event loop.

    Args:
        records: keep them.
        config: the configuration as it is in the file, now.
        styles: of a speaker, empty where it is not ready.
        devices: that can be chosen.
        on_change: called after every choice.
    """

    def __init__(
        self,
        *,
        records: Records,
        config: Callable[[], Config],
        styles: Callable[[str], Sequence[str]],
        devices: Callable[[], Sequence[str]],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._records = records
        self._config = config
        self._styles = styles
        self._devices = devices
        self.on_change = on_change
        self._chosen = _of_json(records.setting(_SETTING))

    # What holds.

    @property
    def speaker(self) -> str:
        """The speaker of announcements that name none; a chosen one that is gone is none."""
        config = self._config()
        chosen = self._chosen.speaker
        return chosen if chosen in config.speakers else config.speaker_name

    @property
    def style(self) -> str | None:
        """The style of that speaker, where one was chosen that it has."""
        chosen, speaker = self._chosen, self.speaker
        return chosen.style if chosen.style_of == speaker and chosen.style in self._styles(speaker) else None

    @property
    def shown_style(self) -> str | None:
        """The style in which that speaker speaks: the chosen one, its configured one, or its first."""
        styles, configured = self._styles(self.speaker), self._config().speakers[self.speaker].style
        first = styles[0] if styles else None
        return self.style or (configured if configured in styles else first)

    @property
    def styles(self) -> list[str]:
        """What ``style`` can be."""
        return list(self._styles(self.speaker))

    @property
    def devices(self) -> list[str]:
        """What ``device`` can be; the configured one is first."""
        return list(dict.fromkeys([self._config().audio.device, *self._devices()]))

    @property
    def device(self) -> str:
        """Where sound goes, if it can."""
        return self._chosen.device if self._chosen.device in self.devices else self._config().audio.device

    @property
    def chime(self) -> str | None:
        """The chime of announcements that name none, where one was chosen that there is."""
        return self._chosen.chime if self._chosen.chime in self.chimes else None

    @property
    def chimes(self) -> list[str]:
        """What ``chime`` can be: none, the bundled ones, and the configured one, which may be a file."""
        configured = self._config().announcements.defaults.chime
        return list(dict.fromkeys([NONE, *chime_names(), *([configured] if configured else [])]))

    @property
    def alarm_volume(self) -> int | None:
        """Of all alarms; None leaves each its own."""
        return self._chosen.alarm_volume

    @property
    def snooze(self) -> timedelta | None:
        """For how long alarms are put off; None leaves each its own."""
        minutes = self._chosen.snooze_minutes
        return None if minutes is None else timedelta(minutes=minutes)

    def over(self, config: Config) -> Config:
        """A configuration as it is with what was chosen."""
        changes: dict[str, Any] = {}
        if self._chosen.speaker in config.speakers:
            changes["default_speaker"] = self._chosen.speaker
        if self.chime is not None:
            defaults = config.announcements.defaults.model_copy(update={"chime": self.chime})
            changes["announcements"] = config.announcements.model_copy(update={"defaults": defaults})
        return config.model_copy(update=changes) if changes else config

    def snapshot(self) -> dict[str, Any]:
        """For the state of the node, fit for JSON."""
        chime = self.chime or self._config().announcements.defaults.chime or NONE
        return {
            "speaker": self.speaker,
            "style": self.shown_style,
            "chime": chime,
            "device": self.device,
            "alarm_volume": self.alarm_volume,
            "snooze_minutes": self._chosen.snooze_minutes,
        }

    # Choosing.

    def add_to(self, commands: Commands) -> None:
        """Add the commands to the table."""
        commands.add("set/speaker", self._set_speaker)
        commands.add("set/style", self._set_style)
        commands.add("set/chime", self._set_chime)
        commands.add("set/device", self._set_device)
        commands.add("set/alarm_volume", self._set_alarm_volume)
        commands.add("set/snooze_minutes", self._set_snooze)

    def _set_speaker(self, text: str) -> None:
        self._choose(speaker=_one_of(text, "speaker", list(self._config().speakers)))

    def _set_style(self, text: str) -> None:
        style = _one_of(text, "style", self.styles)
        self._choose(style=style, style_of=None if style is None else self.speaker)

    def _set_chime(self, text: str) -> None:
        word = NONE if text.strip() == OFF else text
        self._choose(chime=_one_of(word, "chime", self.chimes))

    def _set_device(self, text: str) -> None:
        # Only what is listed: a message must not be able to name a folder.
        self._choose(device=_one_of(text, "device", self.devices))

    def _set_alarm_volume(self, text: str) -> None:
        volume = None if text.strip().lower() in _OWN else parse_percent(text, "alarm_volume")
        if volume == 0:
            message = "alarm_volume: a number from 1 to 100 is expected, or own; to be left alone switch alarms off"
            raise RequestError(message)
        self._choose(alarm_volume=volume)

    def _set_snooze(self, text: str) -> None:
        own = text.strip().lower() in _OWN
        self._choose(snooze_minutes=None if own else parse_number(text, "snooze_minutes", 1, LONGEST_SNOOZE))

    def _choose(self, **choice: Any) -> None:
        chosen = replace(self._chosen, **choice)
        if chosen == self._chosen:
            return
        self._chosen = chosen
        kept = {item.name: getattr(chosen, item.name) for item in fields(chosen)}
        self._records.set(_SETTING, {name: value for name, value in kept.items() if value is not None} or None)
        self.on_change()


def _one_of(text: str, name: str, values: Sequence[str]) -> str | None:
    word = text.strip()
    if word in values:
        return word
    if word.lower() in _OWN:
        return None
    message = f"{name}: one of {', '.join(values) or 'none'} is expected, got {word[:60]!r}"
    raise RequestError(message)


def _of_json(value: Any) -> Chosen:
    """From the store; what cannot be understood was not chosen."""
    if not isinstance(value, Mapping):
        return Chosen()
    texts = {name: value[name] for name in ("speaker", "style", "style_of", "chime", "device") if name in value}
    texts = {name: text for name, text in texts.items() if isinstance(text, str)}
    ranges = {"alarm_volume": 100, "snooze_minutes": LONGEST_SNOOZE}
    numbers = {
        name: value[name] for name, most in ranges.items() if type(value.get(name)) is int and 1 <= value[name] <= most
    }
    return Chosen(**texts, **numbers)
