"""Multi-head self-attention with relative positions in a window (Shaw et al. 2018), as VITS uses it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class RelativeAttention(nn.Module):
    """Self-attention whose heads share learned embeddings of the distances -window … window.

    Args:
        hidden: channels H, a multiple of ``heads``.
        heads: number of heads.
        window: largest distance that has an embedding; farther pairs get none.
    """

    def __init__(self, hidden: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.conv_q = nn.Conv1d(hidden, hidden, 1)
        self.conv_k = nn.Conv1d(hidden, hidden, 1)
        self.conv_v = nn.Conv1d(hidden, hidden, 1)
        self.conv_o = nn.Conv1d(hidden, hidden, 1)
        self.emb_rel_k = nn.Parameter(torch.empty(1, 2 * window + 1, hidden // heads))
        self.emb_rel_v = nn.Parameter(torch.empty(1, 2 * window + 1, hidden // heads))

    def forward(self, x: Tensor) -> Tensor:
        """[B, H, T] to [B, H, T]."""
        query = self._by_head(self.conv_q(x)).transpose(2, 3)  # [B, heads, T, H / heads]
        query = query / math.sqrt(query.shape[3])
        key = self._by_head(self.conv_k(x))
        value = self._by_head(self.conv_v(x)).transpose(2, 3)
        scores = query @ key + band_to_square(query @ self.emb_rel_k.transpose(1, 2))
        weights = scores.softmax(dim=3)
        out = weights @ value + square_to_band(weights, self.window) @ self.emb_rel_v
        return self.conv_o(out.transpose(2, 3).reshape(x.shape[0], -1, x.shape[2]))

    def _by_head(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], self.heads, -1, x.shape[2])


def band_to_square(band: Tensor) -> Tensor:
    """Place values of distances into a matrix: out[..., i, j] = band[..., i, j - i + w], 0 outside the band.

    A row that is one longer than the row below it expects moves one column to the right with each row: so padding,
    flattening, cutting and reshaping shift row i by i, without any index tensor.

    Args:
        band: [B, heads, T, 2 w + 1].

    Returns:
        [B, heads, T, T].
    """
    batch, heads, length, width = band.shape
    flat = functional.pad(band, (0, length)).reshape(batch, heads, -1)
    skewed = flat[:, :, : length * (length + width - 1)].reshape(batch, heads, length, -1)
    return skewed[:, :, :, width // 2 : width // 2 + length]


def square_to_band(square: Tensor, window: int) -> Tensor:
    """The inverse of ``band_to_square``: out[..., i, k] = square[..., i, i + k - window], 0 outside the matrix.

    Args:
        square: [B, heads, T, T].
        window: largest distance.

    Returns:
        [B, heads, T, 2 window + 1].
    """
    batch, heads, length, _ = square.shape
    flat = functional.pad(square, (window, window)).reshape(batch, heads, -1)
    skewed = functional.pad(flat, (0, length)).reshape(batch, heads, length, -1)
    return skewed[:, :, :, : 2 * window + 1]
