"""A trained voice folder (config.json, style_vectors.npy, ``*.safetensors``) as a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.model_folder import StyleVectors, VoiceConfig, read_config
from engine.voices.style_bert_vits2.pytorch.network.sizes import DecoderStrides
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import Synthesizer
from engine.voices.style_bert_vits2.pytorch.network.weights import load_synthesizer
from engine.voices.style_bert_vits2.text.phonemes import PHONEME_IDS

_PICKLES = ("*.pth", "*.pt", "*.ckpt", "*.bin")


def read_model(folder: Path) -> tuple[VoiceConfig, StyleVectors, Synthesizer, Path]:
    """Read a folder and check that its parts fit together.

    Returns:
        Configuration, styles, network, and the path of the weights.

    Raises:
        VoiceNotAvailableError: a part is missing, damaged, or does not fit the others.
    """
    config = read_config(folder)
    styles = StyleVectors(folder, config.styles)
    weights = newest_weights(folder)
    network = load_synthesizer(weights, read_strides(folder))
    _check(weights, config, styles, network)
    return config, styles, network, weights


def newest_weights(folder: Path) -> Path:
    """The newest ``*.safetensors`` of a folder: training leaves several, the last one is the voice.

    Raises:
        VoiceNotAvailableError: there is none.
    """
    found = sorted(folder.glob("*.safetensors"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    if found:
        return found[-1]
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if pickles:
        message = (
            f"{folder} has its model as a pickle ({pickles[0]}), which can run any code and is not read; export it "
            "as safetensors where it was trained, and put that file there"
        )
    else:
        message = f"{folder} holds no *.safetensors; name the folder that training wrote the voice to"
    raise VoiceNotAvailableError(message)


def read_strides(folder: Path) -> DecoderStrides:
    """What config.json says of the decoder under ``model``; missing keys take the values of JP-Extra.

    Raises:
        VoiceNotAvailableError: the values are not lists of whole numbers above 0.
    """
    path = folder / "config.json"
    content = json.loads(path.read_text("utf-8"))
    model = content.get("model", {})
    default = DecoderStrides()
    if not isinstance(model, dict):
        message = f"{path} says model {model!r}; an object is expected"
        raise VoiceNotAvailableError(message)
    rates = _whole_numbers(path, "upsample_rates", model.get("upsample_rates", list(default.upsample_rates)))
    dilations = model.get("resblock_dilation_sizes", [list(row) for row in default.dilations])
    if not isinstance(dilations, list) or not dilations:
        message = f"{path} says model.resblock_dilation_sizes {dilations!r}; a list of lists is expected"
        raise VoiceNotAvailableError(message)
    return DecoderStrides(rates, tuple(_whole_numbers(path, "resblock_dilation_sizes", row) for row in dilations))


def _whole_numbers(path: Path, key: str, value: Any) -> tuple[int, ...]:
    good = isinstance(value, list) and value and all(type(item) is int and item > 0 for item in value)
    if not good:
        message = f"{path} says model.{key} {value!r}; whole numbers above 0 are expected"
        raise VoiceNotAvailableError(message)
    return tuple(value)


def _check(weights: Path, config: VoiceConfig, styles: StyleVectors, network: Synthesizer) -> None:
    encoder = network.text_encoder
    speakers, hop = network.speaker_embedding.num_embeddings, network.decoder.hop_length
    fault = ""
    symbols = max(PHONEME_IDS.values()) + 1
    if encoder.emb.num_embeddings < symbols:
        fault = f"it knows {encoder.emb.num_embeddings} symbols, Japanese text needs {symbols}"
    elif styles.size != encoder.style_proj.in_features:
        fault = (
            f"it takes style vectors of {encoder.style_proj.in_features} numbers, style_vectors.npy has {styles.size}"
        )
    elif config.speakers > speakers:
        fault = f"it has {speakers} speakers, config.json says {config.speakers}"
    elif config.hop_length != hop:
        fault = f"its decoder makes {hop} samples a frame, config.json says hop_length {config.hop_length}"
    if fault:
        message = f"{weights} does not fit its folder: {fault}; put the files of one training run together"
        raise VoiceNotAvailableError(message)
