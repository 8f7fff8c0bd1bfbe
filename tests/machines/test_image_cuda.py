"""The Dockerfile's image for CUDA, where there is no such device: built with its voices, and what it says then. In order.

A PyTorch without CUDA may stand in for the one that the image is made for; what differs are gigabytes of libraries.
"""

from __future__ import annotations

import os
import wave

import numpy as np
import pytest
import yaml

from tests.fakes.published import VOICE, add_pytorch, unpack_published
from tests.machines.images import (
    SPEAKERS,
    built,
    has_token,
    make_base,
    make_context,
    private_hub,
    show_sizes,
    wheels_folders,
    with_voices,
)

SEED = 7
CONFIG = {"speakers": {name: speaker | {"seed": SEED} for name, speaker in SPEAKERS.items()}, "compute_device": "cuda"}
CONFIG["speakers"]["mei"] = SPEAKERS["mei"]
TEXT = "おはようございます。"
IN_PYTORCH = f"""
from pathlib import Path
import torch
from engine import TTS
from engine.sources import parse_source
from engine.sources.store import open_tree
from engine.options import SpeechOptions
from engine.text import Sentence
from engine.tts import cache_root
from engine.voices.base import LoadContext
from engine.voices.style_bert_vits2.pytorch.family import TorchVoices

source = open_tree(parse_source("hf://me/private"), cache_root(), download=False)
voice = TorchVoices().load("{VOICE}", LoadContext("cpu", TTS().text, Path(cache_root()), source))
sound = voice.synthesize(Sentence("{TEXT}", 0.0), SpeechOptions(seed={SEED}))
sound.audio.save("/tmp/torch.wav")
print(torch.__version__, torch.version.cuda, torch.cuda.is_available())
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    make_base("bookworm", os.environ["ASAGOE_DEBIAN"])
    context, secret = make_context(tmp_path_factory.mktemp("context")), tmp_path_factory.mktemp("secret") / "token"
    arguments = ["--target=cuda", f"--build-arg=TORCH={os.environ['ASAGOE_TORCH']}"]
    tree = add_pytorch(unpack_published(tmp_path_factory.mktemp("tree")))
    with (
        private_hub(tree) as hub,
        built("asagoe:cuda", context, *arguments, *with_voices(hub, secret), wheels=wheels_folders()) as tag,
    ):
        yield tag


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    config = tmp_path_factory.mktemp("box") / "asagoe.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    config.chmod(0o644)
    return [f"--volume={config}:/etc/asagoe/asagoe.yaml:ro"]


def sound_of(path):
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0


def test_the_image_holds_pytorch_and_the_voices_for_both_devices_and_no_secret(image, container):
    show_sizes(container.root)
    packages = next(container.root.glob("opt/asagoe/lib/python3*/site-packages"))
    assert (packages / "torch").is_dir()
    for name in ("pip", "triton", "torch/include"):
        assert not (packages / name).exists()
    for name in ("synthesizer.onnx", f"{VOICE}.safetensors", "bert_q8.onnx", "model.safetensors"):
        assert list((container.root / "voices").rglob(name)), name
    assert not has_token(image, container.root)


def test_pytorch_speaks_the_voice_that_was_built_in(container, options):
    done = container.run("python3", "-c", IN_PYTORCH, options=options)
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"\n{done.stdout.strip()}")
    assert done.stdout.split()[-1] == "False"


def test_without_the_device_the_same_voice_speaks_on_the_processor_and_the_reason_is_told(container, options):
    done = container.run("asagoe", "say", "--speaker", "private", "--out", "/tmp/say.wav", TEXT, options=options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "voices are computed on the processor: PyTorch cannot use the device 'cuda'" in done.stderr
    here, there = sound_of(container.root / "tmp/say.wav"), sound_of(container.root / "tmp/torch.wav")
    print(f"\nprocessor {len(here)} samples, PyTorch {len(there)}")
    assert len(here) > 10_000
    assert len(here) == pytest.approx(len(there), rel=0.2)  # bare, and with even loudness and margins
    report = container.run("asagoe", "doctor", options=options).stdout
    assert "computed on the processor" in report


def test_it_runs_as_a_user_of_its_own(container):
    assert container.run("python3", "-c", "import os; print(os.geteuid())").stdout.strip() == "10001"
