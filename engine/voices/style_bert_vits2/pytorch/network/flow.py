"""The normalising flow between prior and latent (VITS section 2.2.3, with the transformer of VITS2 section 2.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.voices.style_bert_vits2.pytorch.network.encoder import Encoder, EncoderSizes


class TransformerCoupling(nn.Module):
    """Affine coupling with unit scale: the first half of the channels decides the shift of the second."""

    def __init__(self, sizes: EncoderSizes, latent: int) -> None:
        super().__init__()
        self.pre = nn.Conv1d(latent // 2, sizes.hidden, 1)
        self.enc = Encoder(sizes)
        self.post = nn.Conv1d(sizes.hidden, latent // 2, 1)

    def inverse(self, x: Tensor, speaker: Tensor) -> Tensor:
        """[B, C, F] and the speaker embedding [B, G, 1] to [B, C, F]."""
        first, second = x.chunk(2, dim=1)
        shift = self.post(self.enc(self.pre(first), speaker))
        return torch.cat([first, second - shift], dim=1)


class TransformerCouplingFlow(nn.Module):
    """Coupling layers with a reversal of the channels after each.

    Reversals have the odd indices and no weights, so that ``flows`` counts as the weight files do.
    """

    def __init__(self, sizes: EncoderSizes, latent: int, couplings: int) -> None:
        super().__init__()
        self.flows = nn.ModuleDict({str(2 * index): TransformerCoupling(sizes, latent) for index in range(couplings)})

    def forward(self, x: Tensor, speaker: Tensor) -> Tensor:
        """The inverse direction, prior to latent: [B, C, F] and the speaker embedding [B, G, 1] to [B, C, F]."""
        for coupling in reversed(self.flows.values()):
            x = coupling.inverse(x.flip(1), speaker)
        return x
