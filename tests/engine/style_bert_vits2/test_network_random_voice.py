"""The random voices of the benchmarks are of the size and the tempo of real ones."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from benchmarks.random_voice import BertSizes, VoiceSizes, voice_tensors, write_bert, write_voice
from engine.voices.style_bert_vits2.pytorch.model import read_model
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import frames_of
from engine.voices.style_bert_vits2.pytorch.network.weights import build_synthesizer

SMALL = VoiceSizes(hidden=16, filter=32, layers=3, speaker=12, bert=64, decoder=64, flow_layers=1)


@pytest.fixture(scope="module")
def full_size() -> dict[str, np.ndarray]:
    return voice_tensors(VoiceSizes(), seed=1)


def test_a_full_size_voice_has_the_parameters_of_the_format(full_size: dict[str, np.ndarray]):
    parameters = sum(tensor.size for key, tensor in full_size.items() if key != "iteration")
    assert round(parameters / 1e6, 2) == 62.76


@pytest.mark.parametrize("sdp_ratio", [0.0, 0.2])
def test_a_full_size_voice_speaks_5_to_7_frames_a_phoneme(full_size: dict[str, np.ndarray], sdp_ratio: float):
    network = build_synthesizer({key: torch.from_numpy(tensor) for key, tensor in full_size.items()})
    generator = torch.Generator().manual_seed(0)
    phonemes = 40
    ids = torch.zeros(3, 1, 2 * phonemes + 1, dtype=torch.int64)
    ids[0, :, 1::2] = torch.randint(1, 110, (1, phonemes), generator=generator)
    ids[1, :, 1::2], ids[2, :, 1::2] = 7, 1
    bert, style = (torch.randn(1, *shape, generator=generator) for shape in ((1024, ids.shape[2]), (256,)))
    with torch.inference_mode():
        encoded = network.encode(*ids, bert, style, torch.tensor([0]))
        noise = torch.randn(1, 2, ids.shape[2], generator=generator) * 0.8
        frames = frames_of(network.log_durations(encoded, noise, sdp_ratio), 1.0)
    assert 5 <= float(frames.sum()) / phonemes <= 7


def test_a_seed_writes_the_same_files(tmp_path: Path):
    sizes = BertSizes(hidden=64, filter=64, heads=2, layers=3, vocabulary=500)
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        write_voice(tmp_path / name / "voice", SMALL, seed=seed)
        write_bert(tmp_path / name / "bert", sizes, seed=seed)
    one, same, other = (
        {p.relative_to(tmp_path / name): p.read_bytes() for p in sorted((tmp_path / name).rglob("*.safetensors"))}
        for name in ("one", "same", "other")
    )
    assert len(one) == 2
    assert one == same
    assert all(one[path] != other[path] for path in one)


def test_a_written_voice_is_a_trained_folder(tmp_path: Path):
    write_voice(tmp_path / "voice", SMALL)
    config, styles, network, _ = read_model(tmp_path / "voice")
    assert config.hop_length == network.decoder.hop_length == 512
    assert styles.names[0] == "Neutral"
