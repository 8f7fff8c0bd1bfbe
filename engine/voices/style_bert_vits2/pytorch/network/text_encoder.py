"""The text encoder (VITS section 2.2.1): phonemes, tones, BERT features and style to the prior distribution."""

from __future__ import annotations

import math

from torch import Tensor, nn

from engine.voices.style_bert_vits2.pytorch.network.encoder import Encoder, EncoderSizes


class TextEncoder(nn.Module):
    """Sums the embeddings of what is known of each symbol and runs a transformer over them.

    Args:
        sizes: of the transformer.
        symbols: rows of the phoneme table.
        tones: rows of the tone table.
        languages: rows of the language table.
        bert: channels D of the BERT features.
        style: length of the style vector.
        latent: channels C of the prior.
    """

    def __init__(
        self, sizes: EncoderSizes, symbols: int, tones: int, languages: int, bert: int, style: int, latent: int
    ) -> None:
        super().__init__()
        self.latent = latent
        self.scale = math.sqrt(sizes.hidden)
        self.emb = nn.Embedding(symbols, sizes.hidden)
        self.tone_emb = nn.Embedding(tones, sizes.hidden)
        self.language_emb = nn.Embedding(languages, sizes.hidden)
        self.bert_proj = nn.Conv1d(bert, sizes.hidden, 1)
        self.style_proj = nn.Linear(style, sizes.hidden)
        self.encoder = Encoder(sizes)
        self.proj = nn.Conv1d(sizes.hidden, 2 * latent, 1)

    def forward(
        self, phones: Tensor, tones: Tensor, languages: Tensor, bert: Tensor, style: Tensor, speaker: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Encode one text.

        Args:
            phones: ids, int64 [B, P].
            tones: ids, int64 [B, P].
            languages: ids, int64 [B, P].
            bert: features, [B, D, P].
            style: style vector, [B, S].
            speaker: embedding, [B, G, 1].

        Returns:
            Hidden states [B, H, P], and mean and logarithm of the standard deviation of the prior, [B, C, P] each.
        """
        embedded = self.emb(phones) + self.tone_emb(tones) + self.language_emb(languages)
        embedded = embedded + self.bert_proj(bert).transpose(1, 2) + self.style_proj(style).unsqueeze(1)
        hidden = self.encoder((embedded * self.scale).transpose(1, 2), speaker)
        mean, log_deviation = self.proj(hidden).split(self.latent, dim=1)
        return hidden, mean, log_deviation
