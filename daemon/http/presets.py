"""The presets of VOICEVOX clients: kept in one file of the state folder, bounded, written in one step."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from daemon.http.voicevox_models import Preset

_log = logging.getLogger("asagoe.http")
_LIST = TypeAdapter(list[Preset])

MAX_PRESETS = 200


class PresetError(ValueError):
    """A preset cannot be kept, or there is none of that number."""


class Presets:
    """Presets by number. Not safe to share between threads.

    Args:
        file: where they are kept; made when first needed.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._presets: dict[int, Preset] | None = None

    @property
    def all(self) -> list[Preset]:
        """In the order in which they were added."""
        return list(self._kept().values())

    def get(self, number: int) -> Preset:
        """The preset of that number.

        Raises:
            PresetError: there is none.
        """
        preset = self._kept().get(number)
        if preset is None:
            message = f"there is no preset {number}"
            raise PresetError(message)
        return preset

    def add(self, preset: Preset) -> int:
        """Keep a new preset; returns its number, another than it has where that is taken or below 0.

        Raises:
            PresetError: there are too many, or the file cannot be written.
        """
        presets = self._kept()
        if len(presets) >= MAX_PRESETS:
            message = f"there are {MAX_PRESETS} presets, which is the most; delete one first"
            raise PresetError(message)
        number = preset.id
        if number < 0 or number in presets:
            number = next(n for n in range(len(presets) + 1) if n not in presets)
        self._write({**presets, number: preset.model_copy(update={"id": number})})
        return number

    def update(self, preset: Preset) -> None:
        """Replace the preset of the same number.

        Raises:
            PresetError: there is none, or the file cannot be written.
        """
        self.get(preset.id)
        self._write({**self._kept(), preset.id: preset})

    def delete(self, number: int) -> None:
        """Forget a preset.

        Raises:
            PresetError: there is none, or the file cannot be written.
        """
        self.get(number)
        self._write({other: preset for other, preset in self._kept().items() if other != number})

    def _kept(self) -> dict[int, Preset]:
        if self._presets is None:
            self._presets = {preset.id: preset for preset in self._read()}
        return self._presets

    def _read(self) -> list[Preset]:
        try:
            return _LIST.validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return []
        except (OSError, ValidationError) as error:
            _log.warning("the presets in %s cannot be read and are left out: %s", self._file, type(error).__name__)
            return []

    def _write(self, presets: dict[int, Preset]) -> None:
        temporary = self._file.with_name(f".{self._file.name}.{os.getpid()}.part")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(_LIST.dump_json(list(presets.values()), indent=1))
                temporary.replace(self._file)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            message = f"presets cannot be kept: {error.strerror}"
            raise PresetError(message) from error
        self._presets = presets
