"""Builds the network from a user's ``*.safetensors``. No pickle is ever read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.pytorch.network.decoder import Decoder
from engine.voices.style_bert_vits2.pytorch.network.durations import DurationPredictor, StochasticDurationPredictor
from engine.voices.style_bert_vits2.pytorch.network.flow import TransformerCouplingFlow
from engine.voices.style_bert_vits2.pytorch.network.sizes import (
    DecoderStrides,
    Shapes,
    count,
    encoder_sizes,
    indices,
    shape,
)
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import Synthesizer
from engine.voices.style_bert_vits2.pytorch.network.text_encoder import TextEncoder

_STAGES = {
    "emb_g": "speaker_embedding",
    "enc_p": "text_encoder",
    "sdp": "stochastic_duration_predictor",
    "dp": "duration_predictor",
    "flow": "flow",
    "dec": "decoder",
}
"""First part of a key in the file to the stage of ``Synthesizer``; other parts (enc_q, iteration) are for training."""

_TRAINING_ONLY = ("sdp.post_", "sdp.flows.1.")


def load_synthesizer(path: Path, strides: DecoderStrides | None = None) -> Synthesizer:
    """Read a voice model into a network in evaluation mode, float32, on the CPU.

    Args:
        path: a ``*.safetensors`` of a Style-Bert-VITS2 JP-Extra model.
        strides: what the tensors do not tell, from ``config.json``.

    Raises:
        VoiceNotAvailableError: the file is missing, damaged, or of another network.
    """
    try:
        tensors = load_file(path)
    except FileNotFoundError as error:
        message = f"there is no model file at {path}"
        raise VoiceNotAvailableError(message) from error
    except (SafetensorError, OSError) as error:
        message = f"{path} cannot be read as safetensors ({error}); copy or download it again"
        raise VoiceNotAvailableError(message) from error
    try:
        return build_synthesizer(tensors, strides)
    except VoiceNotAvailableError as error:
        message = f"{path}: {error}"
        raise VoiceNotAvailableError(message) from error


def build_synthesizer(tensors: Mapping[str, Tensor], strides: DecoderStrides | None = None) -> Synthesizer:
    """Build a network from tensors by the keys of the file.

    Raises:
        VoiceNotAvailableError: a tensor is missing, of a wrong shape, or holds values that are not finite.
    """
    wanted = {
        key: tensor.to(torch.float32)
        for key, tensor in tensors.items()
        if key.split(".", 1)[0] in _STAGES and not key.startswith(_TRAINING_ONLY)
    }
    folded = fold_weight_norm(wanted)
    for key, tensor in folded.items():
        if not torch.isfinite(tensor).all():
            message = f"the tensor {key} holds values that are not finite; the file is damaged: use another one"
            raise VoiceNotAvailableError(message)
    shapes = {key: tuple(tensor.shape) for key, tensor in folded.items()}
    with torch.device("meta"):  # sizes without memory: the tensors of the file become the parameters
        network = _of_shapes(shapes, strides or DecoderStrides())
    state = {_stage_key(key): tensor for key, tensor in folded.items()}
    _check(network, state)
    network.load_state_dict(state, assign=True)
    network.eval().requires_grad_(False)
    return network


def fold_weight_norm(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Replace pairs weight_g, weight_v by weight = g · v / ‖v‖ (Salimans and Kingma 2016, arXiv:1602.07868).

    The norm runs over all dimensions but the first.
    """
    folded = {}
    for key, tensor in tensors.items():
        if key.endswith(".weight_v"):
            base = key.removesuffix("_v")
            gain = tensors.get(f"{base}_g")
            if gain is None:
                message = f"the tensor {base}_g is missing beside {key}; the file is incomplete: use another one"
                raise VoiceNotAvailableError(message)
            norm = tensor.flatten(1).norm(dim=1).reshape(-1, *[1] * (tensor.dim() - 1))
            folded[base] = tensor * (gain / norm)
        elif not key.endswith(".weight_g"):
            folded[key] = tensor
    return folded


def _of_shapes(shapes: Shapes, strides: DecoderStrides) -> Synthesizer:
    text = encoder_sizes(shapes, "enc_p.encoder.")
    flow = encoder_sizes(shapes, "flow.flows.0.enc.")
    speakers, speaker = shape(shapes, "emb_g.weight")
    latent = shape(shapes, "enc_p.proj.weight")[0] // 2
    encoder = TextEncoder(
        text,
        symbols=shape(shapes, "enc_p.emb.weight")[0],
        tones=shape(shapes, "enc_p.tone_emb.weight")[0],
        languages=shape(shapes, "enc_p.language_emb.weight")[0],
        bert=shape(shapes, "enc_p.bert_proj.weight")[1],
        style=shape(shapes, "enc_p.style_proj.weight")[1],
        latent=latent,
    )
    durations_filter, _, durations_kernel = shape(shapes, "dp.conv_1.weight")
    return Synthesizer(
        nn.Embedding(speakers, speaker),
        encoder,
        StochasticDurationPredictor(
            text.hidden,
            speaker,
            kernel=shape(shapes, "sdp.convs.convs_sep.0.weight")[2],
            layers=count(shapes, "sdp.convs.convs_sep."),
            couplings=1 + len(indices(shapes, "sdp.flows.") - {0}),  # with the training-only one, left out above
        ),
        DurationPredictor(text.hidden, durations_filter, durations_kernel, speaker),
        TransformerCouplingFlow(flow, latent, couplings=count(shapes, "flow.flows.")),
        _decoder(shapes, latent, speaker, strides),
    )


def _decoder(shapes: Shapes, latent: int, speaker: int, strides: DecoderStrides) -> Decoder:
    if "dec.resblocks.0.convs1.0.weight" not in shapes and "dec.resblocks.0.convs.0.weight" in shapes:
        message = "its decoder has residual blocks of type 2; JP-Extra models have type 1: use such a model"
        raise VoiceNotAvailableError(message)
    stages, kernels = count(shapes, "dec.ups."), len(strides.dilations)
    if stages != len(strides.upsample_rates) or count(shapes, "dec.resblocks.") != stages * kernels:
        message = (
            f"it has {stages} upsampling stages and {count(shapes, 'dec.resblocks.')} residual blocks, but config.json "
            f"says upsample_rates {list(strides.upsample_rates)} and {kernels} dilation lists; use the config.json "
            "that was written with this model"
        )
        raise VoiceNotAvailableError(message)
    up_kernels = [shape(shapes, f"dec.ups.{stage}.weight")[2] for stage in range(stages)]
    for rate, kernel in zip(strides.upsample_rates, up_kernels, strict=True):
        if kernel < rate or (kernel - rate) % 2:  # else frames would not become rate times as many samples
            message = f"an upsampling kernel of {kernel} does not fit its rate {rate} in config.json; use its own one"
            raise VoiceNotAvailableError(message)
    return Decoder(
        latent,
        channels=shape(shapes, "dec.conv_pre.weight")[0],
        speaker=speaker,
        rates=strides.upsample_rates,
        up_kernels=up_kernels,
        block_kernels=[shape(shapes, f"dec.resblocks.{block}.convs1.0.weight")[2] for block in range(kernels)],
        dilations=strides.dilations,
    )


def _stage_key(key: str) -> str:
    first, rest = key.split(".", 1)
    return f"{_STAGES[first]}.{rest}"


def _file_key(key: str) -> str:
    first, rest = key.split(".", 1)
    return f"{next(file for file, stage in _STAGES.items() if stage == first)}.{rest}"


def _check(network: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Compare the tensors with what the network expects, and say the first difference in the words of the file."""
    expected = {key: tuple(tensor.shape) for key, tensor in network.state_dict().items()}
    for key, want in expected.items():
        tensor = state.get(key)
        shape({} if tensor is None else {_file_key(key): tuple(tensor.shape)}, _file_key(key))
        if tensor is not None and tuple(tensor.shape) != want:
            message = (
                f"the tensor {_file_key(key)} has the shape {list(tensor.shape)} where {list(want)} is expected; "
                "the file is damaged or of another network"
            )
            raise VoiceNotAvailableError(message)
    surplus = sorted(set(state) - set(expected))
    if surplus:
        message = f"the tensor {_file_key(surplus[0])} is not part of a JP-Extra network; use a JP-Extra model"
        raise VoiceNotAvailableError(message)
