"""Duration predictors: the deterministic one and the stochastic one (VITS section 2.2.2), as logarithms of frames."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.voices.style_bert_vits2.pytorch.network.encoder import ChannelNorm
from engine.voices.style_bert_vits2.pytorch.network.spline import inverse_spline

SPLINE_BINS = 10


class DurationPredictor(nn.Module):
    """Two convolutions, each with ReLU and normalisation, and a projection to one value a symbol."""

    def __init__(self, hidden: int, filter_channels: int, kernel: int, speaker: int) -> None:
        super().__init__()
        self.cond = nn.Conv1d(speaker, hidden, 1)
        self.conv_1 = nn.Conv1d(hidden, filter_channels, kernel, padding=kernel // 2)
        self.norm_1 = ChannelNorm(filter_channels)
        self.conv_2 = nn.Conv1d(filter_channels, filter_channels, kernel, padding=kernel // 2)
        self.norm_2 = ChannelNorm(filter_channels)
        self.proj = nn.Conv1d(filter_channels, 1, 1)

    def forward(self, hidden: Tensor, speaker: Tensor) -> Tensor:
        """Hidden states [B, H, P] and speaker [B, G, 1] to log durations [B, 1, P]."""
        x = hidden + self.cond(speaker)
        x = self.norm_1(functional.relu(self.conv_1(x)))
        x = self.norm_2(functional.relu(self.conv_2(x)))
        return self.proj(x)


class DilatedConvolutions(nn.Module):
    """Residual layers of dilated depth-separable convolutions; the dilation of layer n is kernel to the power n."""

    def __init__(self, channels: int, kernel: int, layers: int) -> None:
        super().__init__()
        dilations = [kernel**layer for layer in range(layers)]
        self.convs_sep = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, groups=channels, dilation=d, padding=d * (kernel - 1) // 2)
            for d in dilations
        )
        self.norms_1 = nn.ModuleList(ChannelNorm(channels) for _ in dilations)
        self.convs_1x1 = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in dilations)
        self.norms_2 = nn.ModuleList(ChannelNorm(channels) for _ in dilations)

    def forward(self, x: Tensor) -> Tensor:
        """[B, H, P] to [B, H, P]."""
        for depthwise, norm_1, pointwise, norm_2 in zip(
            self.convs_sep, self.norms_1, self.convs_1x1, self.norms_2, strict=True
        ):
            y = functional.gelu(norm_1(depthwise(x)))
            x = x + functional.gelu(norm_2(pointwise(y)))
        return x


class ElementwiseAffine(nn.Module):
    """A shift and a scale for each of the two channels."""

    def __init__(self) -> None:
        super().__init__()
        self.m = nn.Parameter(torch.empty(2, 1))
        self.logs = nn.Parameter(torch.empty(2, 1))

    def inverse(self, x: Tensor) -> Tensor:
        """[B, 2, P] to [B, 2, P]."""
        return (x - self.m) * torch.exp(-self.logs)


class SplineCoupling(nn.Module):
    """Coupling of two channels: the first decides the spline that moves the second (Durkan et al. 2019)."""

    def __init__(self, hidden: int, kernel: int, layers: int) -> None:
        super().__init__()
        self.scale = 1.0 / math.sqrt(hidden)
        self.pre = nn.Conv1d(1, hidden, 1)
        self.convs = DilatedConvolutions(hidden, kernel, layers)
        self.proj = nn.Conv1d(hidden, 3 * SPLINE_BINS - 1, 1)

    def inverse(self, x: Tensor, condition: Tensor) -> Tensor:
        """[B, 2, P], conditioned on [B, H, P], to [B, 2, P]."""
        first, second = x.chunk(2, dim=1)
        shape = self.proj(self.convs(self.pre(first) + condition)).transpose(1, 2).unsqueeze(1)  # [B, 1, P, 3 K - 1]
        widths = shape[..., :SPLINE_BINS] * self.scale
        heights = shape[..., SPLINE_BINS : 2 * SPLINE_BINS] * self.scale
        return torch.cat([first, inverse_spline(second, widths, heights, shape[..., 2 * SPLINE_BINS :])], dim=1)


class StochasticDurationPredictor(nn.Module):
    """A flow from noise to log durations, in its inverse direction.

    In the weight files the affine layer has index 0 and the couplings 1, 3, 5, …, with a reversal of the channels
    after each. The coupling of index 1 is there for training: at inference it and its reversal are left out.
    """

    def __init__(self, hidden: int, speaker: int, kernel: int, layers: int, couplings: int) -> None:
        super().__init__()
        self.pre = nn.Conv1d(hidden, hidden, 1)
        self.cond = nn.Conv1d(speaker, hidden, 1)
        self.convs = DilatedConvolutions(hidden, kernel, layers)
        self.proj = nn.Conv1d(hidden, hidden, 1)
        steps: dict[str, nn.Module] = {"0": ElementwiseAffine()}
        for index in range(1, couplings):
            steps[str(2 * index + 1)] = SplineCoupling(hidden, kernel, layers)
        self.flows = nn.ModuleDict(steps)

    def forward(self, hidden: Tensor, speaker: Tensor, noise: Tensor) -> Tensor:
        """Draw log durations.

        Args:
            hidden: states of the text encoder, [B, H, P].
            speaker: embedding, [B, G, 1].
            noise: scaled normal noise, [B, 2, P].

        Returns:
            Log durations, [B, 1, P].
        """
        condition = self.proj(self.convs(self.pre(hidden) + self.cond(speaker)))
        affine, *couplings = self.flows.values()
        x = noise
        for coupling in reversed(couplings):
            x = coupling.inverse(x.flip(1), condition)
        return affine.inverse(x.flip(1))[:, :1]
