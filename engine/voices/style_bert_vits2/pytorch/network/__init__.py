"""The Style-Bert-VITS2 JP-Extra network in PyTorch, for inference.

The way through it: ``TextEncoder`` (phonemes and BERT features to a prior) → duration predictors (frames of each
phoneme) → ``expand`` → ``TransformerCouplingFlow`` in its inverse direction (prior to latent) → ``Decoder``
(latent to waveform). ``Synthesizer`` joins them and offers each as a stage of its own; ``weights.load_synthesizer``
builds it from a ``*.safetensors``.

Papers, as they are named in the modules:

- VITS: Kim, Kong, Son 2021, "Conditional Variational Autoencoder with Adversarial Learning for End-to-End
  Text-to-Speech", arXiv:2106.06103.
- VITS2: Kong et al. 2023, arXiv:2307.16430 (transformer in the flow, speaker-conditioned text encoder).
- HiFi-GAN: Kong, Kim, Bae 2020, arXiv:2010.05646.
- Neural spline flows: Durkan et al. 2019, arXiv:1906.04032.
- Relative positions: Shaw, Uszkoreit, Vaswani 2018, arXiv:1803.02155.

One utterance has one length: there is no padding and there are no masks. A batch holds utterances of equal length.
Shapes: B batch, P phoneme symbols, F frames (``hop_length`` samples each), H hidden channels, C latent channels,
G channels of the speaker embedding. Attribute names below the stages follow the keys of the weight files.
"""
