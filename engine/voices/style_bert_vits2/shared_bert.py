"""A BERT that several voices use: loaded with its first, freed with its last."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer


class Closable(Protocol):
    """What can be freed."""

    def close(self) -> None:
        """Free it."""


Bert = TypeVar("Bert", bound=Closable)


@dataclass
class Shared(Generic[Bert]):
    """BERT and its tokenizer, with the number of voices that use them."""

    tokenizer: CharacterTokenizer
    bert: Bert
    users: int = 0


class SharedBerts(Generic[Bert]):
    """Those that are loaded, by whatever makes them different. Safe to share between threads."""

    def __init__(self) -> None:
        self._shared: dict[Hashable, Shared[Bert]] = {}
        self._lock = threading.Lock()

    def acquire(
        self, key: Hashable, tokenizer: Path, load: Callable[[], Bert]
    ) -> tuple[Shared[Bert], Callable[[], None]]:
        """A BERT for one more voice, and what gives it back.

        Args:
            key: of the BERT with its tokenizer.
            tokenizer: its folder.
            load: loads the BERT, where nobody has done so yet.
        """
        with self._lock:
            if key not in self._shared:
                self._shared[key] = Shared(CharacterTokenizer.load(tokenizer), load())
            self._shared[key].users += 1
            return self._shared[key], lambda: self._release(key)

    def _release(self, key: Hashable) -> None:
        with self._lock:
            shared = self._shared[key]
            shared.users -= 1
            if not shared.users:
                del self._shared[key]
                shared.bert.close()
