"""The part of the family that loads voices in PyTorch: ``pytorch`` of a published tree."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError, VoiceNotAvailableError
from engine.voices.base import LoadContext, Voice
from engine.voices.style_bert_vits2.layout import TOKENIZER, TORCH_BERT, TORCH_SPEAKERS
from engine.voices.style_bert_vits2.pytorch.install import require
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer

if TYPE_CHECKING:
    from engine.voices.style_bert_vits2.pytorch import voice as torch_voice
    from engine.voices.style_bert_vits2.pytorch.bert import TorchBert

_Key = tuple[Path, Path, str]


@dataclass
class _Shared:
    tokenizer: CharacterTokenizer
    bert: TorchBert
    users: int = 0


class TorchVoices:
    """Loads voices; a BERT is loaded once for each device and freed with its last voice."""

    def __init__(self) -> None:
        self._shared: dict[_Key, _Shared] = {}
        self._lock = threading.Lock()

    def load(self, model: str, context: LoadContext) -> Voice:
        """Load the voice of that name from the context's source, on the context's device.

        Raises:
            VoiceNotAvailableError: PyTorch, the device or a file is missing, or a file is damaged.
        """
        require(f"the device {context.device!r}", "torch", "transformers", "safetensors")
        from engine.voices.style_bert_vits2.pytorch import voice as torch_voice  # noqa: PLC0415 - a gigabyte that only this needs

        if context.source is None:
            message = "voices in PyTorch need a source, for example file:///path/to/voices"
            raise VoiceNotAvailableError(message)
        settings = torch_voice.TorchSettings(context.device, compile=context.compile, warm_up=context.device != "cpu")
        cache = context.cache / "style_bert_vits2"
        folder = context.source.fetch(f"{TORCH_SPEAKERS}/{model}")
        key = (context.source.fetch(TOKENIZER).resolve(), context.source.fetch(TORCH_BERT).resolve(), context.device)
        shared = self._acquire(key, cache, settings)
        try:
            return torch_voice.load_voice(
                folder,
                shared.bert,
                shared.tokenizer,
                text=context.text,
                cache=cache,
                settings=settings,
                on_close=lambda: self._release(key),
            )
        except EngineError:
            self._release(key)
            raise

    def _acquire(self, key: _Key, cache: Path, settings: torch_voice.TorchSettings) -> _Shared:
        from engine.voices.style_bert_vits2.pytorch import voice as torch_voice  # noqa: PLC0415

        tokenizer, bert, _ = key
        with self._lock:
            if key not in self._shared:
                loaded = torch_voice.load_bert(bert, cache, settings)
                self._shared[key] = _Shared(CharacterTokenizer.load(tokenizer), loaded)
            self._shared[key].users += 1
            return self._shared[key]

    def _release(self, key: _Key) -> None:
        with self._lock:
            shared = self._shared[key]
            shared.users -= 1
            if not shared.users:
                del self._shared[key]
                shared.bert.close()
