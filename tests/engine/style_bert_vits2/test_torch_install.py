"""What a default installation, without PyTorch, says to who asks for more. Runs with PyTorch and without."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from engine import TTS, check_device
from engine.errors import PrepareError, VoiceNotAvailableError
from engine.voices.style_bert_vits2.conversion.convert import convert
from engine.voices.style_bert_vits2.pytorch import install as torch_install

from .conftest import VOICE


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch_install, "find_spec", lambda name: None if name == "torch" else find_spec("json"))


def test_a_cuda_device_needs_it(tree: Path, tmp_path: Path):
    tts = TTS("cuda", cache_dir=tmp_path).load(VOICE, source=f"file://{tree}")
    with pytest.raises(PrepareError, match=r"'cuda' needs torch, .* pip install 'asagoe\[torch\]'"):
        tts.prepare()
    with pytest.raises(VoiceNotAvailableError, match=r"'cuda' needs torch, .* pip install 'asagoe\[torch\]'"):
        check_device("cuda")


def test_a_conversion_needs_it(tmp_path: Path):
    with pytest.raises(VoiceNotAvailableError, match=r"a conversion needs torch, .* pip install 'asagoe\[torch\]'"):
        convert(tmp_path / "voice", tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_what_stands_at_the_door_imports_nothing_heavy():
    """Families and the command line import these modules; they import PyTorch when it is wanted, not before."""
    code = (
        "import sys\n"
        "import engine.voices.style_bert_vits2.family, engine.voices.style_bert_vits2.conversion.convert\n"
        "sys.exit(bool({'torch', 'transformers', 'safetensors', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
