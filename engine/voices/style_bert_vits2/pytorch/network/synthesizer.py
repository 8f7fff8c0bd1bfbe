"""The whole network, stage by stage. All randomness comes in as tensors: the same input gives the same audio."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from engine.voices.style_bert_vits2.pytorch.network.decoder import Decoder
from engine.voices.style_bert_vits2.pytorch.network.durations import DurationPredictor, StochasticDurationPredictor
from engine.voices.style_bert_vits2.pytorch.network.flow import TransformerCouplingFlow
from engine.voices.style_bert_vits2.pytorch.network.text_encoder import TextEncoder


class Encoded(NamedTuple):
    """What the text encoder says of an utterance.

    Attributes:
        speaker: embedding g, [B, G, 1].
        hidden: states, [B, H, P].
        mean: of the prior, [B, C, P].
        log_deviation: logarithm of the prior's standard deviation, [B, C, P].
    """

    speaker: Tensor
    hidden: Tensor
    mean: Tensor
    log_deviation: Tensor


class Synthesizer(nn.Module):
    """Text encoder, duration predictors, flow and decoder of one voice model."""

    def __init__(
        self,
        speakers: nn.Embedding,
        text_encoder: TextEncoder,
        stochastic_durations: StochasticDurationPredictor,
        durations: DurationPredictor,
        flow: TransformerCouplingFlow,
        decoder: Decoder,
    ) -> None:
        super().__init__()
        self.speaker_embedding = speakers
        self.text_encoder = text_encoder
        self.stochastic_duration_predictor = stochastic_durations
        self.duration_predictor = durations
        self.flow = flow
        self.decoder = decoder

    def encode(
        self, phones: Tensor, tones: Tensor, languages: Tensor, bert: Tensor, style: Tensor, speaker_id: Tensor
    ) -> Encoded:
        """Run the text encoder.

        Args:
            phones: ids with blanks, int64 [B, P].
            tones: ids, int64 [B, P].
            languages: ids, int64 [B, P].
            bert: features, a column a symbol, [B, D, P].
            style: style vector, [B, S].
            speaker_id: int64 [B].
        """
        speaker = self.speaker_embedding(speaker_id).unsqueeze(2)
        return Encoded(speaker, *self.text_encoder(phones, tones, languages, bert, style, speaker))

    def log_durations(self, encoded: Encoded, noise: Tensor, sdp_ratio: float | Tensor) -> Tensor:
        """Predict how long each symbol sounds.

        Args:
            encoded: from ``encode``.
            noise: normal noise times its scale ``noise_w``, [B, 2, P].
            sdp_ratio: share of the stochastic predictor, 0 to 1.

        Returns:
            Natural logarithms of frames, [B, P].
        """
        stochastic = self.stochastic_duration_predictor(encoded.hidden, encoded.speaker, noise)
        deterministic = self.duration_predictor(encoded.hidden, encoded.speaker)
        return (stochastic * sdp_ratio + deterministic * (1.0 - sdp_ratio)).squeeze(1)

    def latent(self, encoded: Encoded, frames: Tensor, noise: Tensor) -> Tensor:
        """Draw from the prior and carry it through the flow.

        Args:
            encoded: from ``encode``, with B = 1.
            frames: of each symbol, int64 [P]; F in all.
            noise: normal noise times its scale, [1, C, F].

        Returns:
            Latent, [1, C, F].
        """
        prior = expand(encoded.mean, frames) + noise * torch.exp(expand(encoded.log_deviation, frames))
        return self.flow(prior, encoded.speaker)

    def decode(self, latent: Tensor, speaker: Tensor) -> Tensor:
        """Make the waveform of a latent, or of a stretch of it.

        Args:
            latent: [1, C, F].
            speaker: embedding, [1, G, 1].

        Returns:
            Samples in [-1, 1], [1, 1, F · hop].
        """
        return self.decoder(latent, speaker)


def frames_of(log_durations: Tensor, length_scale: float | Tensor) -> Tensor:
    """Whole frames, at least 1 a symbol for finite input: ceil(exp(w) · length_scale), in the type of ``w``."""
    return torch.ceil(torch.exp(log_durations) * length_scale)


def expand(columns: Tensor, frames: Tensor) -> Tensor:
    """Repeat each column as often as its symbol has frames: [B, C, P] and int64 [P] to [B, C, F]."""
    return torch.repeat_interleave(columns, frames, dim=2)
