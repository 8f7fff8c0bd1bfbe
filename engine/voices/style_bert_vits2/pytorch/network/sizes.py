"""Sizes of a network, read from the shapes of its tensors, so that models of other sizes load as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.pytorch.network.encoder import EncoderSizes

Shapes = Mapping[str, Sequence[int]]
"""Shape of each tensor, by key."""


@dataclass(frozen=True, slots=True)
class DecoderStrides:
    """What the tensors of a decoder do not tell; ``config.json`` has it under ``model``.

    Attributes:
        upsample_rates: stride of each transposed convolution; their product is the hop length.
        dilations: of the residual blocks, for each of their kernels (``resblock_dilation_sizes``).
    """

    upsample_rates: tuple[int, ...] = (8, 8, 2, 2, 2)
    dilations: tuple[tuple[int, ...], ...] = ((1, 3, 5),) * 3


def encoder_sizes(shapes: Shapes, prefix: str) -> EncoderSizes:
    """Sizes of the transformer whose keys start with ``prefix`` (which ends with a dot)."""
    hidden = shape(shapes, f"{prefix}attn_layers.0.conv_q.weight")[0]
    _, distances, head = shape(shapes, f"{prefix}attn_layers.0.emb_rel_k")
    filter_channels, _, kernel = shape(shapes, f"{prefix}ffn_layers.0.conv_1.weight")
    speaker = shapes.get(f"{prefix}spk_emb_linear.weight")
    if head < 1 or hidden % head or not distances % 2:
        message = (
            f"{prefix}attn_layers.0.emb_rel_k has the shape [1, {distances}, {head}], which does not fit {hidden} "
            "channels; the file is damaged or of another network"
        )
        raise VoiceNotAvailableError(message)
    return EncoderSizes(
        hidden=hidden,
        filter=filter_channels,
        heads=hidden // head,
        layers=count(shapes, f"{prefix}attn_layers."),
        kernel=kernel,
        window=distances // 2,
        speaker=speaker[1] if speaker else 0,
    )


def shape(shapes: Shapes, key: str) -> Sequence[int]:
    """The shape of a tensor that must be there.

    Raises:
        VoiceNotAvailableError: it is not.
    """
    found = shapes.get(key)
    if found is None:
        message = (
            f"the tensor {key} is missing: this is not a Style-Bert-VITS2 JP-Extra model, or the file is incomplete; "
            "use the generator's file of a JP-Extra model (named like name_e100_s10000.safetensors)"
        )
        raise VoiceNotAvailableError(message)
    return found


def count(shapes: Shapes, prefix: str) -> int:
    """How many different indices follow ``prefix`` in the keys."""
    return len(indices(shapes, prefix))


def indices(shapes: Iterable[str], prefix: str) -> set[int]:
    """The different indices that follow ``prefix`` in the keys."""
    pattern = re.compile(re.escape(prefix) + r"(\d+)\.")
    return {int(match[1]) for match in map(pattern.match, shapes) if match}
