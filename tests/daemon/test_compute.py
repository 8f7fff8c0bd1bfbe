"""Where neural voices are computed when the configured device is not there."""

import pytest

from daemon.cli.common import device_for
from daemon.compute import usable_device
from daemon.config import Config
from engine.voices.style_bert_vits2.pytorch import install as torch_install


@pytest.fixture(autouse=True)
def without_torch(monkeypatch):
    monkeypatch.setattr(torch_install, "find_spec", lambda name: None)


def test_the_processor_is_what_it_is():
    assert usable_device("cpu") == ("cpu", None)


@pytest.mark.parametrize("wanted", ["cuda", "cuda:1"])
def test_a_device_that_cannot_be_used_is_the_processor_with_a_reason(wanted):
    device, problem = usable_device(wanted)
    assert device == "cpu"
    assert f"the device '{wanted}' needs torch" in problem


def test_commands_say_so(capsys):
    assert device_for(Config.model_validate({"compute_device": "cuda"})) == "cpu"
    assert "computed on the processor: the device 'cuda' needs torch" in capsys.readouterr().err
    assert device_for(Config()) == "cpu"
    assert capsys.readouterr().err == ""
