"""The family ``style_bert_vits2``: from a source with the published layout to a voice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.errors import EngineError, VoiceNotAvailableError
from engine.sources import Source
from engine.voices.base import LoadContext, Voice
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.layout import ONNX_BERT, ONNX_SPEAKERS, TOKENIZER
from engine.voices.style_bert_vits2.model_folder import StyleVectors, read_config
from engine.voices.style_bert_vits2.pytorch.family import TorchVoices
from engine.voices.style_bert_vits2.runtime.bert import OnnxBert
from engine.voices.style_bert_vits2.shared_bert import Shared, SharedBerts
from engine.voices.style_bert_vits2.voice import StyleBertVits2Voice

_GRAPHS = ("synthesizer.onnx", "synthesizer_q8.onnx")


class StyleBertVits2Family:
    """Loads voices; the BERT of a source is loaded once and freed with its last voice."""

    name = "style_bert_vits2"

    def __init__(self) -> None:
        self._berts: SharedBerts[OnnxBert] = SharedBerts()
        self._torch = TorchVoices()

    def load(self, model: str, context: LoadContext) -> Voice:
        """Load the voice of that name from the context's source."""
        if context.device != "cpu":
            return self._torch.load(model, context)
        return self.load_for_processor(model, context)

    def load_for_processor(self, model: str, context: LoadContext) -> StyleBertVits2Voice:
        """Load the voice of that name on ONNX Runtime; see ``load``."""
        if context.source is None:
            message = f"{self.name} needs a source, for example file:///path/to/voices"
            raise VoiceNotAvailableError(message)
        folder = context.source.fetch(f"{ONNX_SPEAKERS}/{model}")
        cache = context.cache / self.name
        config = read_config(folder)
        styles = StyleVectors(folder, config.styles)
        synthesizer = open_synthesizer(graph_of(folder), cache, margin=config.margin)
        try:
            shared, release = self._acquire(context.source, cache)
        except EngineError:
            synthesizer.close()
            raise
        try:
            return StyleBertVits2Voice(
                config, styles, synthesizer, shared.bert, shared.tokenizer, text=context.text, on_close=release
            )
        except EngineError:
            synthesizer.close()
            release()
            raise

    def _acquire(self, source: Source, cache: Path) -> tuple[Shared[OnnxBert], Callable[[], None]]:
        """BERT of a source, and what gives it back."""
        tokenizer, bert = source.fetch(TOKENIZER).resolve(), source.fetch(ONNX_BERT).resolve()
        return self._berts.acquire((tokenizer, bert), tokenizer, lambda: OnnxBert(bert, cache))


def graph_of(folder: Path) -> Path:
    """The synthesizer in the folder of a published voice.

    Raises:
        VoiceNotAvailableError: there is none.
    """
    for name in _GRAPHS:
        if (folder / name).is_file():
            return folder / name
    if any(folder.glob("*.safetensors")):
        message = f"{folder} holds a trained model; convert it: asagoe voices convert {folder} --to FOLDER"
    else:
        message = f"{folder} has no {_GRAPHS[0]}; fetch the voice again"
    raise VoiceNotAvailableError(message)
