import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.text import TextPipeline
from engine.text.openjtalk import has_mora, library
from engine.voices.style_bert_vits2.backend import Controls, Floats, NetworkInput
from tests.fakes.published import VOICE, unpack_published

DATA = Path(__file__).parent / "data"
MARGIN = 14
CASES = sorted(file.stem for file in DATA.glob("*.npz"))
STYLES = {"Neutral": 0, "Happy": 1, "Sad": 2}


class PlainFrontEnd:
    """Open JTalk as the reference vectors know it, without what the text pipeline does better."""

    def features(self, text: str) -> list[dict]:
        return library().run_frontend(text, predict_nani=False)

    def labels(self, features: list[dict]) -> list[str]:
        return library().make_label(features) if has_mora(features) else []


class GivenNoise:
    """Noise that was drawn before; none where none was."""

    def __init__(self, durations: Floats | None = None, prior: Floats | None = None) -> None:
        self._durations, self._prior = durations, prior

    def durations(self, symbols: int) -> Floats:
        return np.zeros((2, symbols), np.float32) if self._durations is None else self._durations

    def prior(self, channels: int, frames: int) -> Floats:
        return np.zeros((channels, frames), np.float32) if self._prior is None else self._prior


class Case:
    """One reference waveform with all that went into it."""

    def __init__(self, name: str) -> None:
        sentence = json.loads((DATA / "sentences.json").read_text("utf-8"))[name.split("__")[0]]
        bert = np.load(DATA / f"{name.split('__')[0]}__n0.npz")["bert_char"]
        self.stored = np.load(DATA / f"{name}.npz")
        self.settings = json.loads(str(self.stored["settings"]))
        self.input = NetworkInput(
            np.array(sentence["phone_ids"]),
            np.array(sentence["tone_ids"]),
            np.array(sentence["language_ids"]),
            np.repeat(bert, sentence["word2ph_blank"], axis=0).T,
            self.stored["style_vec"],
        )
        self.controls = Controls(
            speaker_id=self.settings["sid"],
            length_scale=self.settings["length"],
            sdp_ratio=self.settings["sdp_ratio"],
            noise=self.settings["noise"],
            noise_w=self.settings["noise_w"],
        )
        self.noise = GivenNoise(*(self.stored.get(key) for key in ("noise_w_arr", "noise_arr")))


@pytest.fixture(scope="session")
def front_end() -> PlainFrontEnd:
    return PlainFrontEnd()


@pytest.fixture(scope="session")
def pipeline() -> TextPipeline:
    return TextPipeline()


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published tree, unpacked; not to be changed."""
    return unpack_published(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="session")
def graph(tree: Path) -> Path:
    return tree / "onnx" / "speakers" / VOICE / "synthesizer.onnx"


@pytest.fixture(scope="session")
def root_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that all tests share, so that the graph is prepared once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def cache(root_cache: Path) -> Path:
    """The family's part of it."""
    return root_cache / "style_bert_vits2"


@pytest.fixture
def copied_tree(tree: Path, tmp_path: Path) -> Path:
    """A tree that a test may break."""
    return Path(shutil.copytree(tree, tmp_path / "tree"))


def _tensors_of(graph: Path, prefix: str) -> dict[str, np.ndarray]:
    onnx = pytest.importorskip("onnx")
    tensors = onnx.load(graph).graph.initializer
    return {t.name.removeprefix(prefix): onnx.numpy_helper.to_array(t) for t in tensors if t.name.startswith(prefix)}


@pytest.fixture(scope="session")
def trained_voice(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that training would have left, of the weights that the published graph was made of."""
    save_file = pytest.importorskip("safetensors.numpy").save_file
    folder = tmp_path_factory.mktemp("trained") / VOICE
    folder.mkdir()
    for name in ("config.json", "style_vectors.npy"):
        shutil.copy(graph.parent / name, folder / name)
    tensors = _tensors_of(graph, "n.")
    rest = np.load(DATA / "trained" / "voice.npz")
    for key in rest.files:
        if key.endswith(".weight_norm"):  # g · v / |v| is what the graph has
            base = key.removesuffix("_norm")
            tensors[f"{base}_v"] = tensors.pop(base) / rest[f"{base}_g"] * rest[key]
        else:
            tensors[key] = rest[key]
    save_file({key: np.ascontiguousarray(value) for key, value in tensors.items()}, folder / f"{VOICE}.safetensors")
    return folder


@pytest.fixture(scope="session")
def trained_bert(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT as transformers writes it; its last two layers, which no feature needs, are not there."""
    save_file = pytest.importorskip("safetensors.numpy").save_file
    from benchmarks.random_voice import BertSizes, bert_config

    folder = Path(shutil.copytree(tree / "bert" / "tokenizer", tmp_path_factory.mktemp("trained") / "bert"))
    tensors = _tensors_of(tree / "onnx" / "bert" / "q8" / "bert_q8.onnx", "m.") | dict(
        np.load(DATA / "trained" / "bert.npz")
    )
    sizes = BertSizes(hidden=64, filter=128, heads=2, layers=4, vocabulary=3600)
    (folder / "config.json").write_text(json.dumps(bert_config(sizes)), "utf-8")
    save_file(
        {key: np.ascontiguousarray(value, np.float16) for key, value in tensors.items() if key.startswith("deberta.")},
        folder / "model.safetensors",
    )
    return folder


def torch_synthesizer(folder: Path):
    """The network of a trained folder on the CPU."""
    import torch

    from engine.voices.style_bert_vits2.pytorch.model import read_model
    from engine.voices.style_bert_vits2.pytorch.voice import TorchSynthesizer

    config, _, model, _ = read_model(folder)
    return TorchSynthesizer(model, torch.device("cpu"), margin=config.margin)
