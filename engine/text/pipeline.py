"""From a text to a script: what is spoken, sentence by sentence, and what is not."""

from __future__ import annotations

import threading

from engine.text.normalize import normalize
from engine.text.openjtalk import FrontEnd
from engine.text.sentences import split_sentences
from engine.text.types import Dropped, Script, Sentence

__all__ = ["Dropped", "Script", "Sentence", "TextPipeline"]

RULES_REVISION = "1"
"""Raised whenever a rule changes what is read, so that no cached phrase outlives its rule."""


class TextPipeline:
    """All that turns text into readings; one for all speakers of a ``TTS``."""

    def __init__(self) -> None:
        self._front_end: FrontEnd | None = None
        self._lock = threading.Lock()

    @property
    def front_end(self) -> FrontEnd:
        """Open JTalk, loaded when first asked for."""
        with self._lock:
            if self._front_end is None:
                self._front_end = FrontEnd()
            return self._front_end

    @property
    def revision(self) -> str:
        """Changes whenever the same text could be read otherwise."""
        return f"{self.front_end.revision}; rules {RULES_REVISION}"

    def script(self, text: str) -> Script:
        """Normalise a text and cut it into sentences. Never raises, whatever the text is."""
        normalized, dropped = normalize(text)
        return Script(normalized, split_sentences(normalized), dropped)

    def kana(self, text: str) -> str:
        """The pronunciation of a text in katakana, sentence after sentence."""
        return "".join(self.front_end.kana(sentence.text) for sentence in self.script(text).sentences)
