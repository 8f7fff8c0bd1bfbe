import json
import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.text import TextPipeline
from engine.text.openjtalk import FrontEnd
from engine.voices.style_bert_vits2.backend import Controls, Floats, NetworkInput

DATA = Path(__file__).parent / "data"
VOICE = "rand-tiny"
CASES = sorted(file.stem for file in DATA.glob("*.npz"))
STYLES = {"Neutral": 0, "Happy": 1, "Sad": 2}


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
def front_end() -> FrontEnd:
    return FrontEnd()


@pytest.fixture(scope="session")
def pipeline() -> TextPipeline:
    return TextPipeline()


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published tree, unpacked; not to be changed."""
    root = tmp_path_factory.mktemp("published")
    shutil.copytree(DATA / "published", root, dirs_exist_ok=True)
    for packed in root.rglob("*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    return root


@pytest.fixture(scope="session")
def graph(tree: Path) -> Path:
    return tree / "onnx" / "speakers" / VOICE / "synthesizer.onnx"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that all tests share, so that the graph is prepared once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def copied_tree(tree: Path, tmp_path: Path) -> Path:
    """A tree that a test may break."""
    return Path(shutil.copytree(tree, tmp_path / "tree"))
