"""The transformer encoder that stands in the text encoder and in every coupling layer of the flow (VITS, VITS2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.voices.style_bert_vits2.pytorch.network.attention import RelativeAttention

SPEAKER_LAYER = 2
"""The speaker embedding enters before the layer of this index (VITS2, section 2.4: the third block)."""


@dataclass(frozen=True, slots=True)
class EncoderSizes:
    """Sizes of an ``Encoder``.

    Attributes:
        hidden: channels H.
        filter: channels between the two convolutions of a feed-forward part.
        heads: attention heads.
        layers: number of layers.
        kernel: of the feed-forward convolutions, odd.
        window: largest distance with an embedding of its own.
        speaker: channels G of the speaker embedding, 0 for an encoder that is not conditioned.
    """

    hidden: int
    filter: int
    heads: int
    layers: int
    kernel: int
    window: int
    speaker: int


class ChannelNorm(nn.Module):
    """Layer normalisation over the channels of [B, H, T], epsilon 1e-5."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.empty(channels))
        self.beta = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor) -> Tensor:
        """[B, H, T] to [B, H, T]."""
        normed = functional.layer_norm(x.transpose(1, 2), self.gamma.shape, self.gamma, self.beta, 1e-5)
        return normed.transpose(1, 2)


class FeedForward(nn.Module):
    """Convolution, ReLU, convolution; lengths are kept."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        padding = sizes.kernel // 2
        self.conv_1 = nn.Conv1d(sizes.hidden, sizes.filter, sizes.kernel, padding=padding)
        self.conv_2 = nn.Conv1d(sizes.filter, sizes.hidden, sizes.kernel, padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        """[B, H, T] to [B, H, T]."""
        return self.conv_2(functional.relu(self.conv_1(x)))


class Encoder(nn.Module):
    """Post-norm transformer layers over time, conditioned on the speaker."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        layers = range(sizes.layers)
        if sizes.speaker:
            self.spk_emb_linear = nn.Linear(sizes.speaker, sizes.hidden)
        self.speaker_layer = SPEAKER_LAYER if sizes.speaker else -1
        self.attn_layers = nn.ModuleList(RelativeAttention(sizes.hidden, sizes.heads, sizes.window) for _ in layers)
        self.norm_layers_1 = nn.ModuleList(ChannelNorm(sizes.hidden) for _ in layers)
        self.ffn_layers = nn.ModuleList(FeedForward(sizes) for _ in layers)
        self.norm_layers_2 = nn.ModuleList(ChannelNorm(sizes.hidden) for _ in layers)

    def forward(self, x: Tensor, speaker: Tensor) -> Tensor:
        """[B, H, T] and the speaker embedding [B, G, 1] to [B, H, T]."""
        layers = zip(self.attn_layers, self.norm_layers_1, self.ffn_layers, self.norm_layers_2, strict=True)
        for index, (attention, norm_1, feed_forward, norm_2) in enumerate(layers):
            if index == self.speaker_layer:
                x = x + self.spk_emb_linear(speaker.transpose(1, 2)).transpose(1, 2)
            x = norm_1(x + attention(x))
            x = norm_2(x + feed_forward(x))
        return x
