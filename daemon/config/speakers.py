"""Keys of `speakers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import Field, model_validator

from daemon.config.base import Model, speech_option
from daemon.config.values import Duration
from engine import SpeechOptions
from engine.errors import EngineError

NODE = "node:"
"""Begins a source that is another node."""


@dataclass(frozen=True, slots=True)
class RemoteSpeakerConfig:
    """A speaker that another node speaks.

    Attributes:
        node: its name.
        speaker: the speaker's name there; None for that node's default.
    """

    node: str
    speaker: str | None


class SpeakerConfig(Model):
    """A voice under a name."""

    source: str = Field(
        default="openjtalk:mei",
        description="where the voice comes from, for example openjtalk:mei; node:NAME is another node",
    )
    name: str | None = Field(default=None, description="the voice's name at the source, where it differs")
    unload_after: Duration | None = Field(
        default=None, description="instead of the `unload_after` of all speakers; 0 for never"
    )
    style: str | None = Field(default=None, description="an emotion of the voice")
    style_weight: float | None = speech_option("style_weight")
    speed: float | None = speech_option("speed")
    sdp_ratio: float | None = speech_option("sdp_ratio")
    noise: float | None = speech_option("noise")
    noise_w: float | None = speech_option("noise_w")
    pitch: float | None = speech_option("pitch")
    intonation: float | None = speech_option("intonation")
    volume: float | None = speech_option("volume")
    speaker_id: int | None = speech_option("speaker_id")
    seed: int | None = speech_option("seed")

    @property
    def node(self) -> str | None:
        """The node that makes its speech, where it is another."""
        return self.source.removeprefix(NODE) if self.source.startswith(NODE) else None

    def defaults(self) -> dict[str, Any]:
        """The speech options that requests to this speaker start from."""
        return self.model_dump(exclude={"source", "name", "unload_after"}, exclude_none=True)

    @model_validator(mode="after")
    def _known_to_the_engine(self) -> SpeakerConfig:
        try:
            SpeechOptions.of(self.defaults())
        except EngineError as error:
            raise ValueError(str(error)) from error
        return self
