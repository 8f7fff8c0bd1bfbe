"""Voices in PyTorch, on a CUDA device or on the CPU: a trained folder, or the ``pytorch`` part of a published tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from engine.audio import Samples
from engine.errors import EngineDefectError, EngineError
from engine.text import TextPipeline
from engine.voices.style_bert_vits2.backend import (
    Controls,
    FeatureExtractor,
    Integers,
    NetworkInput,
    NetworkOutput,
    Noise,
    SeededNoise,
)
from engine.voices.style_bert_vits2.graphs.content_hash import content_hash
from engine.voices.style_bert_vits2.pytorch.bert import TorchBert, read_bert
from engine.voices.style_bert_vits2.pytorch.device import device_errors, open_device
from engine.voices.style_bert_vits2.pytorch.model import read_model
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import Synthesizer, frames_of
from engine.voices.style_bert_vits2.runtime.synthesizer import MAX_FRAMES, WINDOW, decode_in_windows
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer
from engine.voices.style_bert_vits2.voice import StyleBertVits2Voice

CODE_REVISION = "1"
"""Raised whenever the same weights and noise would sound otherwise."""

_WARM_UP_SYMBOLS = (25, 81, 161)  # a word, a sentence, a long one: kernels are chosen by size


@dataclass(frozen=True, slots=True)
class TorchSettings:
    """How to compute.

    Attributes:
        device: "cpu", "cuda" or "cuda:N".
        compile: let ``torch.compile`` specialise BERT, flow and decoder; minutes at the first sentences, some ten per
            cent less for all later ones.
        tf32: allow products of 10-bit mantissas on CUDA devices that have them: quicker, inaudible. A setting of the
            whole process, as PyTorch has it.
        warm_up: run a few utterances of silence after loading, so that the first real one is as quick as the next.
    """

    device: str = "cpu"
    compile: bool = False
    tf32: bool = True
    warm_up: bool = True


class TorchSynthesizer:
    """The network of one voice; a ``Synthesizer``. Noise is drawn on the CPU: a seed sounds alike on all devices.

    Args:
        model: in evaluation mode.
        device: to compute on.
        margin: frames on each side that a frame of the decoder depends on.
        fingerprint: of the weights.
        window: frames that are decoded at once, at most: what bounds the memory that a long sentence takes.
    """

    reproducible = True

    def __init__(
        self, model: Synthesizer, device: torch.device, *, margin: int, fingerprint: str = "", window: int = WINDOW
    ) -> None:
        self._device = device
        self._margin, self._window = margin, window
        self._model: Synthesizer | None = model.to(device)
        self.feature_size = int(model.text_encoder.bert_proj.in_channels)
        self._style_size = int(model.text_encoder.style_proj.in_features)
        self.fingerprint = f"torch {torch.__version__} {device.type} {CODE_REVISION} {fingerprint}"

    def synthesize(self, network_input: NetworkInput, controls: Controls, noise: Noise) -> NetworkOutput:
        """See ``Synthesizer``.

        Raises:
            EngineDefectError: the voice is closed, or what it computes is no sound.
            TransientError: the device has no memory left.
            VoiceNotAvailableError: the device failed.
        """
        if self._model is None:
            message = "the voice is closed; load it again"
            raise EngineDefectError(message)
        with torch.inference_mode(), device_errors(self._device):
            samples, durations = self._compute(self._model, network_input, controls, noise)
        if not np.isfinite(samples).all():
            message = "the voice made no usable sound: some samples are not finite; its weights are damaged"
            raise EngineDefectError(message)
        return NetworkOutput(samples, durations)

    def _compute(
        self, model: Synthesizer, given: NetworkInput, controls: Controls, noise: Noise
    ) -> tuple[Samples, Integers]:
        encoded = model.encode(
            self._tensor(given.phonemes),
            self._tensor(given.tones),
            self._tensor(given.languages),
            self._tensor(given.features),
            self._tensor(given.style),
            torch.tensor([controls.speaker_id], device=self._device),
        )
        symbols = len(given.phonemes)
        duration_noise = self._tensor(noise.durations(symbols) * np.float32(controls.noise_w))
        logarithms = model.log_durations(encoded, duration_noise, controls.sdp_ratio)
        frames = frames_of(logarithms, controls.length_scale)[0]
        total = float(frames.sum())
        if not symbols <= total <= MAX_FRAMES:  # also when it is not a number
            message = f"the voice predicts {total:g} frames for {symbols} symbols; its weights are damaged"
            raise EngineDefectError(message)
        durations = frames.to(torch.int64)
        prior_noise = noise.prior(encoded.mean.shape[1], int(total)) * np.float32(controls.noise)
        latent = model.latent(encoded, durations, self._tensor(prior_noise))

        def decode(piece: np.ndarray) -> np.ndarray:
            audio: np.ndarray = model.decode(torch.from_numpy(piece).to(self._device), encoded.speaker).cpu().numpy()
            return audio.reshape(-1)

        samples = decode_in_windows(decode, latent.cpu().numpy(), margin=self._margin, window=self._window)
        return samples, durations.cpu().numpy()

    def _tensor(self, row: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(row).to(self._device).unsqueeze(0)

    def compile(self) -> None:
        """Let ``torch.compile`` specialise the parts that take the time."""
        if self._model is not None:
            self._model.flow.compile(dynamic=True)
            self._model.decoder.compile(dynamic=True)

    def warm_up(self) -> None:
        """Run utterances of several lengths and forget what they say."""
        for symbols in _WARM_UP_SYMBOLS:
            zeros = np.zeros(symbols, np.int64)
            features = np.zeros((self.feature_size, symbols), np.float32)
            style = np.zeros(self._style_size, np.float32)
            self.synthesize(NetworkInput(zeros, zeros, zeros, features, style), Controls(), SeededNoise(0))

    def memory(self) -> int:
        """Bytes of the weights."""
        parameters = self._model.parameters() if self._model is not None else ()
        return sum(weight.numel() * weight.element_size() for weight in parameters)

    def close(self) -> None:
        """Free the weights; on a CUDA device also what PyTorch keeps for the next request."""
        self._model = None
        if self._device.type == "cuda":
            torch.cuda.empty_cache()


def load_bert(folder: Path, cache: Path, settings: TorchSettings) -> TorchBert:
    """Load the BERT that voices of a device share.

    Raises:
        VoiceNotAvailableError: a file or the device is missing, or a file is damaged.
    """
    device = open_device(settings.device, tf32=settings.tf32)
    weights, fingerprint = read_bert(folder), content_hash(folder / "model.safetensors", cache)[:24]
    with device_errors(device, loading=True):
        bert = TorchBert(weights, device, fingerprint=fingerprint)
        if settings.compile:
            bert.compile()
        if settings.warm_up:
            for tokens in _WARM_UP_SYMBOLS:
                bert.features(np.zeros(tokens, np.int64))
    return bert


def load_voice(
    folder: Path,
    bert: FeatureExtractor,
    tokenizer: CharacterTokenizer,
    *,
    text: TextPipeline,
    cache: Path,
    settings: TorchSettings,
    on_close: Callable[[], None] = lambda: None,
) -> StyleBertVits2Voice:
    """Load a trained folder as a voice.

    Args:
        folder: with config.json, style_vectors.npy and ``*.safetensors``, of which the newest is taken.
        bert: that the voice was trained with.
        tokenizer: of that BERT.
        text: the pipeline that all speakers share.
        cache: folder for what is remembered of files.
        settings: how to compute.
        on_close: called once when the voice is closed.

    Raises:
        VoiceNotAvailableError: a file or the device is missing, a file is damaged, or the files do not fit together.
    """
    device = open_device(settings.device, tf32=settings.tf32)
    config, styles, model, weights = read_model(folder)
    fingerprint = content_hash(weights, cache)[:24]
    with device_errors(device, loading=True):
        synthesizer = TorchSynthesizer(model, device, margin=config.margin, fingerprint=fingerprint)
    voice = StyleBertVits2Voice(config, styles, synthesizer, bert, tokenizer, text=text, on_close=on_close)
    try:
        with device_errors(device, loading=True):
            if settings.compile:
                synthesizer.compile()
            if settings.warm_up:
                synthesizer.warm_up()
    except EngineError:
        synthesizer.close()  # not the voice: its BERT is given back by whoever asked for it
        raise
    return voice
