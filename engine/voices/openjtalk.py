"""The family ``openjtalk``: an HTS voice that comes with the package. Small, quick, and always there."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from engine.audio import Audio
from engine.errors import EngineDefectError, NothingToSayError, VoiceNotAvailableError
from engine.options import SpeechOptions
from engine.text import Sentence, TextPipeline
from engine.text.openjtalk import library
from engine.text.utterances import labels_of_sentence
from engine.voices.base import LoadContext, Rendered, Voice

# Bundled voices by name: files of pyopenjtalk-plus.
BUNDLED = {"mei": "mei_normal.htsvoice"}

_CODE_REVISION = "1"

_SPEED_EXPONENT = 0.65
"""HTS spreads a change of speed by variance, and the silence at both ends takes most of it: measured on sentences of
0.3 to 4 s, speech becomes ``speed ** 0.65`` times as fast. The inverse makes 1.2 mean 1.2."""


class OpenJTalkVoice:
    """A voice of HTS (hidden Markov models): 48 kHz, one style, speed and pitch."""

    family = "openjtalk"
    styles = ("Normal",)
    options = frozenset({"speed", "pitch", "seed"})  # it has no randomness: any seed is kept

    def __init__(self, path: Path, text: TextPipeline) -> None:
        jtalk = library()
        try:
            self._engine = jtalk.HTSEngine(str(path).encode())
        except RuntimeError as error:
            message = f"{path} is not a readable HTS voice ({error}); reinstall asagoe or name another file"
            raise VoiceNotAvailableError(message) from error
        self._text = text
        self._size = path.stat().st_size
        self._lock = threading.Lock()
        self.sample_rate = int(self._engine.get_sampling_frequency())
        self.fingerprint = f"openjtalk {_CODE_REVISION} {path.name} {self._size} {jtalk.__version__}"

    def check(self, options: SpeechOptions) -> None:
        """Every value in its range is fine; see ``Voice.check``."""

    def synthesize(self, sentence: Sentence, options: SpeechOptions) -> Rendered:
        """Speak one sentence; see ``Voice.synthesize``."""
        labels = labels_of_sentence(sentence, self._text.front_end)
        if not labels:
            message = f"nothing in {sentence.text!r} can be read aloud"
            raise NothingToSayError(message)
        with self._lock:  # setting and synthesizing belong together, synthesize() resets the settings
            self._engine.set_speed(options.number("speed") ** (1 / _SPEED_EXPONENT))
            self._engine.add_half_tone(options.number("pitch"))
            wave = self._engine.synthesize(labels)
        samples = (np.asarray(wave) / 32768.0).astype(np.float32)  # HTS works in the range of 16 bits
        if not len(samples) or not np.isfinite(samples).all():
            message = f"Open JTalk made no usable sound of {sentence.text!r}"
            raise EngineDefectError(message)
        return Rendered(Audio(np.clip(samples, -1.0, 1.0), self.sample_rate))

    def memory(self) -> int:
        """Bytes of the voice file; the dictionary is mapped and shared."""
        return self._size

    def close(self) -> None:
        """Free the HTS engine."""
        with self._lock:
            self._engine.clear()


class OpenJTalkFamily:
    """Loads ``openjtalk:mei`` or ``openjtalk:/path/to/voice.htsvoice``."""

    name = "openjtalk"

    def load(self, model: str, context: LoadContext) -> Voice:
        """Load a bundled voice by name or a voice file by absolute path."""
        return OpenJTalkVoice(self._path(model), context.text)

    def _path(self, model: str) -> Path:
        if model in BUNDLED:
            return Path(str(library().__file__)).parent / "htsvoice" / BUNDLED[model]
        path = Path(model).expanduser()
        if not path.is_absolute():
            known = ", ".join(f"openjtalk:{name}" for name in BUNDLED)
            message = f"openjtalk:{model} is not known; use {known}, or the absolute path of an .htsvoice file"
            raise VoiceNotAvailableError(message)
        if not path.is_file():
            message = f"there is no voice file at {path}"
            raise VoiceNotAvailableError(message)
        return path
