"""The part of the family that loads voices in PyTorch: ``pytorch`` of a published tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import EngineError, VoiceNotAvailableError
from engine.voices.base import LoadContext, Voice
from engine.voices.style_bert_vits2.layout import TOKENIZER, TORCH_BERT, TORCH_SPEAKERS
from engine.voices.style_bert_vits2.pytorch.install import require
from engine.voices.style_bert_vits2.shared_bert import SharedBerts

if TYPE_CHECKING:
    from engine.voices.style_bert_vits2.pytorch.bert import TorchBert


class TorchVoices:
    """Loads voices; a BERT is loaded once for each device and freed with its last voice."""

    def __init__(self) -> None:
        self._berts: SharedBerts[TorchBert] = SharedBerts()

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
        tokenizer, bert = context.source.fetch(TOKENIZER).resolve(), context.source.fetch(TORCH_BERT).resolve()
        shared, release = self._berts.acquire(
            (tokenizer, bert, context.device), tokenizer, lambda: torch_voice.load_bert(bert, cache, settings)
        )
        try:
            return torch_voice.load_voice(
                folder,
                shared.bert,
                shared.tokenizer,
                text=context.text,
                cache=cache,
                settings=settings,
                on_close=release,
            )
        except EngineError:
            release()
            raise
