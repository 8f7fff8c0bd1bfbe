"""Where neural voices are computed when the configured device is not there."""

import subprocess
import sys

import pytest

from daemon.cli.common import device_for
from daemon.compute import usable_device
from daemon.config import Config
from engine.voices.style_bert_vits2.pytorch import install as torch_install


@pytest.fixture(autouse=True)
def without_torch(monkeypatch):
    monkeypatch.setattr(torch_install, "find_spec", lambda name: None)


def run_with_torch(tmp_path, source):
    """What ``usable_device`` says beside a PyTorch of that source, in a process of its own."""
    for name in ("torch", "transformers", "safetensors"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(source if name == "torch" else "")
    code = "import sys; sys.path.insert(0, sys.argv[1]); from daemon.compute import usable_device\n"
    code += "device, problem = usable_device('cuda'); print(device); print(problem)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    device, problem = done.stdout.splitlines()
    return device, problem


def test_the_processor_is_what_it_is():
    assert usable_device("cpu") == ("cpu", None)


@pytest.mark.parametrize("wanted", ["cuda", "cuda:1"])
def test_a_device_that_cannot_be_used_is_the_processor_with_a_reason(wanted):
    device, problem = usable_device(wanted)
    assert device == "cpu"
    assert f"the device '{wanted}' needs torch" in problem


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "raise OSError('libcudart.so.12: cannot open shared object file')",
            "cannot be imported (libcudart.so.12: cannot open shared object file); install it anew: pip install",
        ),
        ("from torch._C import nothing", "cannot be imported (No module named 'torch._C'); install it anew"),
        ("raise RuntimeError('compiled for another numpy')", "RuntimeError('compiled for another numpy')"),
        ("1 / 0", "ZeroDivisionError('division by zero')"),
    ],
)
def test_a_pytorch_that_is_there_and_does_not_work_is_no_end_of_the_service(tmp_path, source, words):
    device, problem = run_with_torch(tmp_path, source)
    assert device == "cpu"
    assert words in problem
    assert "the device 'cuda'" in problem


def test_commands_say_so(capsys):
    assert device_for(Config.model_validate({"compute_device": "cuda"})) == "cpu"
    assert "computed on the processor: the device 'cuda' needs torch" in capsys.readouterr().err
    assert device_for(Config()) == "cpu"
    assert capsys.readouterr().err == ""
