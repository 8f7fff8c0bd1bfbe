"""The BERT of JP-Extra models in PyTorch: ku-nlp/deberta-v2-large-japanese-char-wwm, through transformers.

Architecture: He, Gao, Chen 2021, "DeBERTaV3", arXiv:2111.09543, and "DeBERTa", arXiv:2006.03654.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers import DebertaV2Config, DebertaV2Model

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.backend import Floats, Integers
from engine.voices.style_bert_vits2.pytorch.device import device_errors

DROPPED_LAYERS = 2
"""The feature is hidden_states[-3]: what the last two layers and the language-model head would do is never needed."""

_PREFIX = "deberta."
_AGAIN = "put vocab.txt and model.safetensors of the same ku-nlp/deberta-v2-large-japanese-char-wwm there"


@dataclass(frozen=True, slots=True)
class BertWeights:
    """What a folder of a BERT holds of use.

    Attributes:
        folder: where it is.
        config: config.json, with the number of layers that make the features.
        tensors: of these layers, float32, by keys without ``deberta.``.
    """

    folder: Path
    config: dict[str, Any]
    tensors: dict[str, Tensor]


class TorchBert:
    """Features of characters in PyTorch, float32; a ``FeatureExtractor`` that all voices of a device share.

    Args:
        weights: from ``read_bert``.
        device: to compute on.
        fingerprint: of the weights.

    Raises:
        VoiceNotAvailableError: a tensor is missing or of a wrong shape.
    """

    def __init__(self, weights: BertWeights, device: torch.device | str = "cpu", *, fingerprint: str = "") -> None:
        self._device = torch.device(device)
        self._folder = weights.folder
        self._model = _model(weights).to(self._device)
        self.feature_size = int(self._model.config.hidden_size)
        self.fingerprint = f"bert torch {torch.__version__} {self._device.type} {fingerprint}"

    def features(self, token_ids: Integers) -> Floats:
        """See ``FeatureExtractor``.

        Raises:
            TransientError: the device has no memory left.
            VoiceNotAvailableError: the vocabulary has more tokens than the model, or the device failed.
        """
        known = int(self._model.config.vocab_size)
        if int(np.max(token_ids)) >= known:
            message = (
                f"vocab.txt has token {int(np.max(token_ids))}, but the BERT in {self._folder} knows {known}; {_AGAIN}"
            )
            raise VoiceNotAvailableError(message)
        with torch.inference_mode(), device_errors(self._device):
            tokens = torch.from_numpy(np.asarray(token_ids, np.int64)).to(self._device).unsqueeze(0)
            hidden = self._model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
            features: Floats = hidden[0].cpu().numpy()
        return features

    def compile(self) -> None:
        """Let ``torch.compile`` specialise the model: the first sentences take long after this, later ones less."""
        self._model.compile(dynamic=True)

    def memory(self) -> int:
        """Bytes of the weights."""
        return sum(weight.numel() * weight.element_size() for weight in self._model.parameters())

    def close(self) -> None:
        """Free the weights."""
        self._model = None


def _model(weights: BertWeights) -> Any:
    config, tensors = weights.config, weights.tensors
    with torch.device("meta"):  # sizes without memory: the tensors of the file become the parameters
        model = DebertaV2Model(DebertaV2Config(**config))
    wanted = model.state_dict()
    for key, expected in wanted.items():
        found = tensors.get(key)
        if found is None or found.shape != expected.shape:
            state = "is missing" if found is None else f"has the shape {list(found.shape)}"
            message = (
                f"{weights.folder / 'model.safetensors'}: the tensor {_PREFIX}{key} {state} where "
                f"{list(expected.shape)} is expected; download ku-nlp/deberta-v2-large-japanese-char-wwm again"
            )
            raise VoiceNotAvailableError(message)
    model.load_state_dict({key: tensors[key] for key in wanted}, assign=True)
    # the one buffer that is not in the file; positions have no embeddings in this BERT, so any length is fine
    model.embeddings.position_ids = torch.arange(config.get("max_position_embeddings", 512)).unsqueeze(0)
    return model.eval().requires_grad_(False)


def read_bert(folder: Path) -> BertWeights:
    """Read the part of a BERT that makes the features.

    Args:
        folder: with config.json and model.safetensors, as transformers writes it.

    Raises:
        VoiceNotAvailableError: a file is missing, damaged, or not of a DeBERTa v2.
    """
    weights = folder / "model.safetensors"
    if not weights.is_file() and (folder / "pytorch_model.bin").is_file():
        message = (
            f"{folder} has its weights as a pickle, which is not read; put model.safetensors of the same BERT there"
        )
        raise VoiceNotAvailableError(message)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tensors = load_file(weights)
    except FileNotFoundError as error:
        message = (
            f"the BERT needs {error.filename or weights}, which is not there; put config.json, vocab.txt and "
            f"model.safetensors of ku-nlp/deberta-v2-large-japanese-char-wwm into {folder}"
        )
        raise VoiceNotAvailableError(message) from error
    except (SafetensorError, ValueError, OSError) as error:
        message = f"the BERT in {folder} cannot be read ({error}); download it again"
        raise VoiceNotAvailableError(message) from error
    if not isinstance(config, dict) or config.get("model_type") != "deberta-v2":
        message = f"{folder / 'config.json'} is not of a DeBERTa v2; use ku-nlp/deberta-v2-large-japanese-char-wwm"
        raise VoiceNotAvailableError(message)
    layers = config["num_hidden_layers"] = int(config.get("num_hidden_layers", 24)) - DROPPED_LAYERS
    prefixed = any(key.startswith(_PREFIX) for key in tensors)
    kept = {
        key.removeprefix(_PREFIX): tensor.to(torch.float32)
        for key, tensor in tensors.items()
        if (key.startswith(_PREFIX) or not prefixed) and not _dropped(key, layers)
    }
    # transformers takes the precision of the file (float16) for the precision of computing: features want float32
    config.pop("torch_dtype", None)
    config.pop("dtype", None)
    return BertWeights(folder, config, kept)


def _dropped(key: str, layers: int) -> bool:
    _, layer, rest = key.partition("encoder.layer.")
    return bool(layer) and int(rest.split(".", 1)[0]) >= layers
