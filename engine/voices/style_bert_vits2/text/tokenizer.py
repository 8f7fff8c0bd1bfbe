"""Character tokens of ku-nlp/deberta-v2-large-japanese-char-wwm: one line of vocab.txt a character."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from engine.errors import VoiceNotAvailableError

_CLS, _SEP, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"


class CharacterTokenizer:
    """Text or characters to token ids, with CLS and SEP around them."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {token: at for at, token in enumerate(vocabulary)}
        missing = [token for token in (_CLS, _SEP, _UNKNOWN) if token not in self._ids]
        if missing:
            message = f"the vocabulary lacks {', '.join(missing)}"
            raise ValueError(message)

    @classmethod
    def load(cls, folder: Path) -> CharacterTokenizer:
        """Read ``vocab.txt`` of a tokenizer's folder.

        Raises:
            VoiceNotAvailableError: it is missing or is not such a vocabulary.
        """
        path = folder / "vocab.txt"
        try:
            # Not splitlines(): some of the characters of the vocabulary would count as line ends there.
            return cls(path.read_text("utf-8").removesuffix("\n").split("\n"))
        except (OSError, ValueError) as error:
            message = f"the tokenizer of BERT cannot be read from {path} ({error}); fetch bert/tokenizer again"
            raise VoiceNotAvailableError(message) from error

    def encode(self, characters: Iterable[str]) -> list[int]:
        """Ids of the characters, one each, between CLS and SEP; a character that is not known is UNK."""
        unknown = self._ids[_UNKNOWN]
        return [self._ids[_CLS], *(self._ids.get(character, unknown) for character in characters), self._ids[_SEP]]

    def encode_text(self, text: str) -> list[int]:
        """Ids of a text, folded by NFKC and without its white space."""
        return self.encode("".join(unicodedata.normalize("NFKC", text).split()))
