"""The speech library of Asagoe: Japanese text in, audio out.

It knows nothing of MQTT, schedules and sound cards. Its public face is what this module names; importing it
loads no numerical or network library, those come with the first speaker.

Example:
    from engine import TTS

    tts = TTS().load("mei", source="openjtalk:mei").prepare()
    tts.speakers["mei"].generate("おはようございます。").save("morning.wav")
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine._version import __version__

if TYPE_CHECKING:
    from engine.audio import Audio, PhonemeTiming
    from engine.device import check_device
    from engine.errors import (
        BadRequestError,
        CacheError,
        CancelledSpeechError,
        DeadlineExceededError,
        DictionaryError,
        DictionaryMistake,
        EngineDefectError,
        EngineError,
        InvalidOptionError,
        NothingToSayError,
        PrepareError,
        SourceUnreachableError,
        TransientError,
        UnknownSpeakerError,
        UnknownStyleError,
        VoiceNotAvailableError,
    )
    from engine.options import OPTION_RANGES, SpeechOptions
    from engine.plan import Plan, Segment, Spoken
    from engine.speaker import Speaker
    from engine.text import Dictionary, Dropped, Sentence, Word, load_dictionary
    from engine.tts import TTS

# ONNX Runtime reports to its maker from release 1.32 on unless this is set before it is imported, and keeps a device id
# and the paths of programs in the user's cache. A speaker in somebody's home reports to nobody.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_HOME = {
    "Audio": "engine.audio",
    "PhonemeTiming": "engine.audio",
    "check_device": "engine.device",
    "BadRequestError": "engine.errors",
    "CacheError": "engine.errors",
    "CancelledSpeechError": "engine.errors",
    "DeadlineExceededError": "engine.errors",
    "DictionaryError": "engine.errors",
    "DictionaryMistake": "engine.errors",
    "EngineDefectError": "engine.errors",
    "EngineError": "engine.errors",
    "InvalidOptionError": "engine.errors",
    "NothingToSayError": "engine.errors",
    "PrepareError": "engine.errors",
    "SourceUnreachableError": "engine.errors",
    "TransientError": "engine.errors",
    "UnknownSpeakerError": "engine.errors",
    "UnknownStyleError": "engine.errors",
    "VoiceNotAvailableError": "engine.errors",
    "OPTION_RANGES": "engine.options",
    "SpeechOptions": "engine.options",
    "Plan": "engine.plan",
    "Segment": "engine.plan",
    "Speaker": "engine.speaker",
    "Spoken": "engine.plan",
    "Dictionary": "engine.text",
    "Dropped": "engine.text",
    "Sentence": "engine.text",
    "Word": "engine.text",
    "load_dictionary": "engine.text",
    "TTS": "engine.tts",
}

__all__ = [
    "OPTION_RANGES",
    "TTS",
    "Audio",
    "BadRequestError",
    "CacheError",
    "CancelledSpeechError",
    "DeadlineExceededError",
    "Dictionary",
    "DictionaryError",
    "DictionaryMistake",
    "Dropped",
    "EngineDefectError",
    "EngineError",
    "InvalidOptionError",
    "NothingToSayError",
    "PhonemeTiming",
    "Plan",
    "PrepareError",
    "Segment",
    "Sentence",
    "SourceUnreachableError",
    "Speaker",
    "SpeechOptions",
    "Spoken",
    "TransientError",
    "UnknownSpeakerError",
    "UnknownStyleError",
    "VoiceNotAvailableError",
    "Word",
    "__version__",
    "check_device",
    "load_dictionary",
]


def __getattr__(name: str) -> Any:
    """Load the module that holds a public name when the name is first asked for (PEP 562)."""
    home = _HOME.get(name)
    if home is None:
        message = f"module 'engine' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
