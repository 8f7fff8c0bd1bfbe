"""What a voice family has to offer. Families know nothing of each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.audio import Audio
from engine.options import SpeechOptions
from engine.sources import Source
from engine.text import Sentence, TextPipeline


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a voice made of a sentence.

    Attributes:
        audio: as the network gave it; the speaker trims, evens out and scales it.
        pause: seconds of silence that the voice would put after it, or None to take the sentence's own.
    """

    audio: Audio
    pause: float | None = None


class Voice(Protocol):
    """A loaded voice. Calls are serialised by its ``Speaker``; a voice need not be safe to share."""

    @property
    def family(self) -> str:
        """The name of its family."""

    @property
    def sample_rate(self) -> int:
        """Of all audio that it makes, in Hz."""

    @property
    def styles(self) -> tuple[str, ...]:
        """Names of its styles, the neutral one first; never empty."""

    @property
    def options(self) -> frozenset[str]:
        """Names of the speech options that it honours, besides ``style`` and ``volume``."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same sentence and options could sound otherwise (model, format, code)."""

    def check(self, options: SpeechOptions) -> None:
        """Refuse options that would fail with every sentence, beyond what names, ranges and ``styles`` tell.

        Raises:
            InvalidOptionError: an option is outside what this model, or this installation, allows.
        """

    def synthesize(self, sentence: Sentence, options: SpeechOptions) -> Rendered:
        """Speak one sentence, with the moras and accents of its ``phrases`` where it has any.

        Raises:
            NothingToSayError: the sentence has no reading.
            InvalidOptionError: as ``check``.
        """

    def memory(self) -> int:
        """Bytes that the voice holds, as well as it can tell."""

    def close(self) -> None:
        """Give everything back. Closing twice is harmless."""


@dataclass(frozen=True, slots=True)
class LoadContext:
    """What a family is given to load a voice.

    Attributes:
        device: "cpu", "cuda" or "cuda:N".
        text: the text pipeline that all speakers of the ``TTS`` share.
        cache: folder for what was fetched and prepared; may not exist yet.
        source: the tree of files that the voice comes from; None for families that need none.
        compile: whether networks may be compiled for the device, where a family can.
    """

    device: str
    text: TextPipeline
    cache: Path
    source: Source | None = None
    compile: bool = False


class VoiceFamily(Protocol):
    """Knows how to load voices of one kind."""

    @property
    def name(self) -> str:
        """Of the family, as it stands in sources and listings."""

    def load(self, model: str, context: LoadContext) -> Voice:
        """Load a voice.

        Args:
            model: the family's own name of the model, or the path of its folder.
            context: what the voice may use.

        Raises:
            VoiceNotAvailableError: with what to do about it.
        """
