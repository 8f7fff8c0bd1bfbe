import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.text import TextPipeline
from engine.text.openjtalk import has_mora, library
from engine.voices.style_bert_vits2.backend import Controls, Floats, NetworkInput
from tests.fakes.published import VOICE, unpack_published, write_trained_bert, write_trained_voice

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


@pytest.fixture(scope="session")
def trained_voice(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that training would have left, of the weights that the published graph was made of."""
    pytest.importorskip("safetensors")
    pytest.importorskip("onnx")
    return write_trained_voice(tree, tmp_path_factory.mktemp("trained") / VOICE)


@pytest.fixture(scope="session")
def trained_bert(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT as transformers writes it, with its vocabulary."""
    pytest.importorskip("safetensors")
    pytest.importorskip("onnx")
    folder = write_trained_bert(tree, tmp_path_factory.mktemp("trained") / "bert")
    shutil.copy(tree / "bert" / "tokenizer" / "vocab.txt", folder)
    return folder


def torch_synthesizer(folder: Path):
    """The network of a trained folder on the CPU."""
    import torch

    from engine.voices.style_bert_vits2.pytorch.model import read_model
    from engine.voices.style_bert_vits2.pytorch.voice import TorchSynthesizer

    config, _, model, _ = read_model(folder)
    return TorchSynthesizer(model, torch.device("cpu"), margin=config.margin)
