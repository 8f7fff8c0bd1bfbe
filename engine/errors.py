"""The errors of the engine, grouped by what the caller can do about them.

EngineError
├── BadRequestError          the request is wrong: change it; repeating it fails again
│   ├── DictionaryError      a dictionary of words is wrong: the message has a line for every mistake
│   ├── InvalidOptionError   an option is out of range, or the voice does not have it
│   ├── NothingToSayError    no readable character in the text
│   ├── UnknownSpeakerError  no speaker of that name is loaded
│   └── UnknownStyleError    the voice has no such style
├── VoiceNotAvailableError   the voice cannot be used: the message says what to do
│   └── PrepareError         names every speaker that could not be prepared
├── TransientError           may succeed when it is tried again
│   ├── CancelledSpeechError the caller cancelled
│   └── DeadlineExceededError  the caller's deadline passed
└── EngineDefectError        a bug in the engine or in a voice
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class EngineError(Exception):
    """Base of all errors that the engine raises on purpose."""


class BadRequestError(EngineError):
    """The request itself is wrong; the same request will fail again."""


@dataclass(frozen=True, slots=True)
class DictionaryMistake:
    """One thing that is wrong with a dictionary of words.

    Attributes:
        source: the file.
        line: in the file, from 1; None where it concerns the file as a whole.
        message: what was found and what is expected.
    """

    source: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.message}"


class DictionaryError(BadRequestError):
    """A dictionary of words is wrong; the message has one line for every mistake, with its place.

    Attributes:
        mistakes: all of them, in the order of the file.
    """

    def __init__(self, *mistakes: DictionaryMistake) -> None:
        self.mistakes = mistakes
        super().__init__("\n".join(str(mistake) for mistake in mistakes))


class InvalidOptionError(BadRequestError):
    """An option has a value outside its range, or the voice does not have the option."""


class NothingToSayError(BadRequestError):
    """The text holds nothing that can be spoken."""


class UnknownSpeakerError(BadRequestError):
    """No speaker of that name is loaded."""


class UnknownStyleError(BadRequestError):
    """The voice has no style of that name."""


class VoiceNotAvailableError(EngineError):
    """The voice cannot be used as things are; the message says what to do."""


class PrepareError(VoiceNotAvailableError):
    """Some speakers could not be prepared; all others are ready.

    Attributes:
        failures: the error of each speaker, by name.
    """

    def __init__(self, failures: Mapping[str, EngineError]) -> None:
        self.failures = dict(failures)
        listed = "; ".join(f"{name}: {error}" for name, error in self.failures.items())
        super().__init__(f"{len(self.failures)} speaker(s) could not be prepared: {listed}")


class TransientError(EngineError):
    """The same request may succeed later."""


class CancelledSpeechError(TransientError):
    """The caller cancelled the request; it stopped at the next sentence."""


class DeadlineExceededError(TransientError):
    """The deadline of the request passed before it was done."""


class EngineDefectError(EngineError):
    """The engine or a voice broke its own contract: a bug, worth a report."""
