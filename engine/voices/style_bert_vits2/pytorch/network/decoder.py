"""The decoder: the generator of HiFi-GAN (version 1 of its residual blocks), conditioned on the speaker."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

_SLOPE = 0.1  # of the leaky ReLUs inside
_LAST_SLOPE = 0.01  # of the one before the last convolution


class ResidualBlock(nn.Module):
    """Pairs of a dilated and a plain convolution, each pair with a residual connection."""

    def __init__(self, channels: int, kernel: int, dilations: Sequence[int]) -> None:
        super().__init__()
        self.convs1 = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, dilation=d, padding=d * (kernel - 1) // 2) for d in dilations
        )
        self.convs2 = nn.ModuleList(nn.Conv1d(channels, channels, kernel, padding=(kernel - 1) // 2) for _ in dilations)

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, T] to [B, channels, T]."""
        for dilated, plain in zip(self.convs1, self.convs2, strict=True):
            y = dilated(functional.leaky_relu(x, _SLOPE))
            x = x + plain(functional.leaky_relu(y, _SLOPE))
        return x


class Decoder(nn.Module):
    """Transposed convolutions that raise the rate, each followed by the mean of residual blocks of several kernels.

    Args:
        latent: channels C.
        channels: after the first convolution; halved by every stage.
        speaker: channels G of the speaker embedding.
        rates: upsampling factor of each stage; their product is the hop length.
        up_kernels: kernel of each transposed convolution.
        block_kernels: kernels of the residual blocks of a stage.
        dilations: dilations of each of these blocks.
    """

    def __init__(
        self,
        latent: int,
        channels: int,
        speaker: int,
        rates: Sequence[int],
        up_kernels: Sequence[int],
        block_kernels: Sequence[int],
        dilations: Sequence[Sequence[int]],
    ) -> None:
        super().__init__()
        self.blocks = len(block_kernels)
        self.hop_length = math.prod(rates)
        self.conv_pre = nn.Conv1d(latent, channels, 7, padding=3)
        self.cond = nn.Conv1d(speaker, channels, 1)
        self.ups = nn.ModuleList()
        self.resblocks = nn.ModuleList()
        for rate, kernel in zip(rates, up_kernels, strict=True):
            self.ups.append(
                nn.ConvTranspose1d(channels, channels // 2, kernel, stride=rate, padding=(kernel - rate) // 2)
            )
            channels //= 2
            for block_kernel, block_dilations in zip(block_kernels, dilations, strict=True):
                self.resblocks.append(ResidualBlock(channels, block_kernel, block_dilations))
        self.conv_post = nn.Conv1d(channels, 1, 7, padding=3, bias=False)

    def forward(self, latent: Tensor, speaker: Tensor) -> Tensor:
        """Latent [B, C, F] and speaker [B, G, 1] to a waveform in [-1, 1], [B, 1, F · hop]."""
        x = self.conv_pre(latent) + self.cond(speaker)
        for stage, up in enumerate(self.ups):
            x = up(functional.leaky_relu(x, _SLOPE))
            first, *others = self.resblocks[stage * self.blocks : (stage + 1) * self.blocks]
            total = first(x)
            for block in others:
                total = total + block(x)
            x = total / self.blocks
        return torch.tanh(self.conv_post(functional.leaky_relu(x, _LAST_SLOPE)))
