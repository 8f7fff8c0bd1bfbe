"""Whether converted graphs say what the original networks say: both are run on the same input."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.backend import Controls, Floats, Integers, NetworkInput, SeededNoise
from engine.voices.style_bert_vits2.conversion.export_synthesizer import (
    DECODER,
    DURATION_PREDICTOR,
    ENCODER,
    FLOW,
    SYNTHESIZER,
)
from engine.voices.style_bert_vits2.conversion.report import BertReport, VoiceReport
from engine.voices.style_bert_vits2.pytorch.bert import TorchBert
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import Encoded, Synthesizer, frames_of
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.runtime.synthesizer import feed
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer

_SAMPLE_RATE = 44100  # only to say how much was compared
_CEIL_MARGIN = 2e-4
"""So near to a whole number, rounding up may go either way in float32."""

_SENTENCES = (
    "おはようございます。",
    "今日は天気がとても良いので、散歩に行こうと思います。",
    "洗濯が終わりました!乾燥は、あと四十五分です。",
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
    "えっ...?本当に?",
)


def check_voice(network: Synthesizer, folder: Path, weights: str) -> VoiceReport:
    """Compare the five graphs in a folder with the network that they were made of.

    Raises:
        VoiceNotAvailableError: they differ.
    """
    graphs = {name: Graph(folder / name) for name in (ENCODER, FLOW, DECODER, SYNTHESIZER, DURATION_PREDICTOR)}
    with torch.inference_mode():
        checks = [
            _compare(network, graphs, _sample(network, symbols, seed), seed) for seed, symbols in enumerate((25, 107))
        ]
    for graph in graphs.values():
        graph.close()
    report = VoiceReport(
        weights,
        audio_error=max(error for error, _, _ in checks),
        durations_equal=all(equal for _, equal, _ in checks),
        audio_seconds=sum(samples for _, _, samples in checks) / _SAMPLE_RATE,
    )
    if not report.good:
        message = f"the graphs differ from the network: {report}; convert again with other releases of torch and onnx"
        raise VoiceNotAvailableError(message)
    return report


def check_bert(original: TorchBert, path: Path, tokenizer: CharacterTokenizer, precision: str) -> BertReport:
    """Compare the features of some sentences."""
    graph = Graph(path)
    cosines, token_cosines = [], []
    for sentence in _SENTENCES:
        ids = np.asarray(tokenizer.encode_text(sentence), np.int64)
        given = {"input_ids": ids[None], "attention_mask": np.ones((1, len(ids)), np.int64)}
        wanted, found = original.features(ids), graph.run(given)["hidden_states"][0]
        cosines.append(_cosines(wanted.reshape(1, -1), found.reshape(1, -1))[0])
        token_cosines.append(_cosines(wanted, found).min())
    graph.close()
    return BertReport(precision, float(min(cosines)), float(min(token_cosines)), len(_SENTENCES))


def _compare(
    network: Synthesizer, graphs: Mapping[str, Graph], given: NetworkInput, seed: int
) -> tuple[float, bool, int]:
    """Largest error of a sample, whether the durations are equal, and how many samples were compared."""
    controls, quiet = Controls(length_scale=1.1), Controls(noise=0.0, noise_w=0.0)
    symbols = len(given.phonemes)
    noise = SeededNoise(seed)
    noise_w = noise.durations(symbols)[None]
    encoded = _encoded(network, given)

    encoder = graphs[ENCODER].run(feed(given, controls) | {"noise_w": noise_w})
    equal = _same_durations(network, encoded, noise_w * np.float32(controls.noise_w), controls, encoder["durations"])
    frames = encoder["durations"][0].astype(np.int64)
    prior = noise.prior(encoder["mean"].shape[1], int(frames.sum()))[None]
    flow = graphs[FLOW].run(encoder | {"noise": prior, "noise_scale": np.array([controls.noise])})
    found = graphs[DECODER].run(encoder | flow)["audio"]
    scaled = torch.from_numpy(prior * np.float32(controls.noise))
    wanted = network.decode(network.latent(encoded, torch.from_numpy(frames), scaled), encoded.speaker)
    error = _error(found, wanted)

    # the graphs of the published contract draw noise inside: without noise they are comparable
    whole = graphs[SYNTHESIZER].run(feed(given, quiet))
    predicted = graphs[DURATION_PREDICTOR].run(feed(given, quiet))["durations"]
    silence = np.zeros((1, 2, symbols), np.float32)
    equal &= _same_durations(network, encoded, silence, quiet, whole["durations"])
    equal &= np.array_equal(predicted, whole["durations"])
    quiet_frames = torch.from_numpy(whole["durations"][0].astype(np.int64))
    still = torch.zeros(1, prior.shape[1], int(quiet_frames.sum()))
    wanted = network.decode(network.latent(encoded, quiet_frames, still), encoded.speaker)
    return max(error, _error(whole["audio"], wanted)), equal, found.size + whole["audio"].size


def _encoded(network: Synthesizer, given: NetworkInput) -> Encoded:
    def batch(row: Floats | Integers) -> torch.Tensor:
        return torch.from_numpy(row)[None]

    speaker = torch.zeros(1, dtype=torch.int64)
    return network.encode(
        batch(given.phonemes),
        batch(given.tones),
        batch(given.languages),
        batch(given.features),
        batch(given.style),
        speaker,
    )


def _same_durations(network: Synthesizer, encoded: Encoded, noise: Floats, controls: Controls, found: Floats) -> bool:
    logarithms = network.log_durations(encoded, torch.from_numpy(noise), controls.sdp_ratio)
    exact = (torch.exp(logarithms) * controls.length_scale).numpy()
    unsure = np.abs(exact - np.rint(exact)) < _CEIL_MARGIN
    wanted = frames_of(logarithms, controls.length_scale).numpy()
    return bool(((wanted == found) | (unsure & (np.abs(wanted - found) <= 1))).all())


def _sample(network: Synthesizer, symbols: int, seed: int) -> NetworkInput:
    """Symbols with blanks, features and a style of about the size of real ones."""
    generator = np.random.default_rng(seed)
    encoder = network.text_encoder
    ids = np.zeros((3, symbols), np.int64)
    for row, table in zip(ids, (encoder.emb, encoder.tone_emb, encoder.language_emb), strict=True):
        row[1::2] = generator.integers(0, table.num_embeddings, symbols // 2)
    phonemes, tones, languages = ids
    return NetworkInput(
        phonemes,
        tones,
        languages,
        generator.standard_normal((encoder.bert_proj.in_channels, symbols), np.float32) * np.float32(0.5),
        generator.standard_normal(encoder.style_proj.in_features, np.float32) * np.float32(0.1),
    )


def _error(found: np.ndarray, wanted: torch.Tensor) -> float:
    reference = wanted.numpy()
    return float(np.abs(found - reference).max()) if found.shape == reference.shape else float("inf")


def _cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    first, second = one.astype(np.float64), other.astype(np.float64)
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    result: np.ndarray = (first * second).sum(axis=1) / lengths
    return result
