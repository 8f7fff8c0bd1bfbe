"""A voice that is in use by one at a time, and whose memory can be given back meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors import CancelledSpeechError, DeadlineExceededError, EngineError, VoiceNotAvailableError
from engine.forking import generation
from engine.options import SpeechOptions
from engine.text import Sentence
from engine.turns import Turns, working
from engine.voices.base import Rendered, Voice


class HeldVoice:
    """The voice of a speaker, its turns and its life. Safe to share between threads.

    Args:
        name: of the speaker, for messages.
        voice: loaded.
        load_again: loads the voice again after ``release``; without it nothing is released.

    Attributes:
        family: of the voice; this and the following are known also while it is released.
        styles: the neutral one first.
        sample_rate: in Hz.
        fingerprint: of what it sounds like.
        options: names of the options that it honours.
    """

    def __init__(self, name: str, voice: Voice, load_again: Callable[[], Voice] | None = None) -> None:
        self._name = name
        self._voice: Voice | None = voice
        self._load_again = load_again
        self._closed = False
        self._turns = Turns()
        self._generation = generation()
        self._uses = 0
        self._know(voice)

    @property
    def memory(self) -> int:
        """Bytes that the voice holds; none while it is released."""
        voice = self._voice
        return voice.memory() if voice else 0

    @property
    def is_loaded(self) -> bool:
        """Whether the voice is in memory now; if not, its next use loads it again."""
        return self._voice is not None

    @property
    def uses(self) -> int:
        """How many sentences were asked of the voice so far."""
        return self._uses

    def check(self, options: SpeechOptions) -> None:
        """Let the voice check options; one that is released checks when it speaks.

        Raises:
            InvalidOptionError: it cannot honour one.
        """
        voice = self._voice
        if voice is not None:
            voice.check(options)

    def synthesize(
        self,
        sentence: Sentence,
        options: SpeechOptions,
        *,
        cancel: threading.Event | None,
        deadline: float | None,
        background: bool,
    ) -> Rendered:
        """Let the voice speak when its turn has come; see ``Speaker.synthesize``.

        Raises:
            CancelledSpeechError: ``cancel`` was set.
            DeadlineExceededError: the deadline passed.
            VoiceNotAvailableError: there is no voice any more, or none in this process.
        """
        self._require_same_process()
        timeout = None if deadline is None else max(0.0, deadline)
        if not self._turns.take(background=background, timeout=timeout, cancel=cancel):
            if cancel is not None and cancel.is_set():
                raise self._cancelled()
            message = f"{self._name} was busy for longer than the deadline of {deadline:g} s"
            raise DeadlineExceededError(message)
        try:
            if cancel is not None and cancel.is_set():
                raise self._cancelled()
            self._uses += 1
            # While somebody waits for this very speaker, its sentence goes before that of others in the background.
            with working(background=lambda: background and not self._turns.urgently_wanted):
                return self._awake().synthesize(sentence, options)
        finally:
            self._turns.give()

    def wake(self) -> None:
        """Load the voice again if it was released.

        Raises:
            VoiceNotAvailableError: it cannot be loaded, or was unloaded for good.
        """
        self._require_same_process()
        self._turns.take()
        try:
            self._awake()
        finally:
            self._turns.give()

    def release(self, *, wait: bool = True) -> bool:
        """Free the voice until it is needed again; see ``Speaker.release``."""
        if self._load_again is None or self._generation != generation():
            return False
        if not self._turns.take(timeout=None if wait else 0):
            return False
        return self._freed()

    def close(self) -> bool:
        """Free the voice for good, after the sentence that it is at; False where it belongs to another process."""
        self._closed = True
        if self._generation != generation():  # what was loaded in another process cannot be freed in this one
            return False
        self._turns.take()
        self._freed()
        return True

    def _freed(self) -> bool:
        """Free the voice, give back the turn; whether there was one."""
        try:
            voice, self._voice = self._voice, None
        finally:
            self._turns.give()
        if voice is not None:
            voice.close()
        return voice is not None

    def _awake(self) -> Voice:
        """The voice, loaded again if it was released. Whoever calls has the turn."""
        if self._closed or (self._voice is None and self._load_again is None):
            message = f"speaker {self._name} was unloaded; load and prepare it again"
            raise VoiceNotAvailableError(message)
        if self._voice is None:
            assert self._load_again is not None  # noqa: S101
            try:
                voice = self._load_again()
            except EngineError as error:
                message = f"speaker {self._name} cannot be loaded again: {error}"
                raise VoiceNotAvailableError(message) from error
            self._know(voice)
            self._voice = voice
        return self._voice

    def _know(self, voice: Voice) -> None:
        """Keep what is asked of a voice also while it is released."""
        self.family = voice.family
        self.styles = voice.styles
        self.sample_rate = voice.sample_rate
        self.fingerprint = voice.fingerprint
        self.options = voice.options

    def _require_same_process(self) -> None:
        if self._generation != generation():
            message = (
                f"speaker {self._name} was loaded before this process was forked, and its voice does not work here; "
                "call prepare() of its TTS in the new process, or load voices only after the fork"
            )
            raise VoiceNotAvailableError(message)

    def _cancelled(self) -> CancelledSpeechError:
        return CancelledSpeechError(f"speech of {self._name} was cancelled")
