"""Voices in PyTorch: speech, options, and what a user meets when something is missing."""

import json
import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine import TTS, check_device
from engine.errors import (
    EngineDefectError,
    InvalidOptionError,
    PrepareError,
    TransientError,
    UnknownStyleError,
    VoiceNotAvailableError,
)
from engine.options import SpeechOptions
from engine.sources import LocalSource
from engine.text import Sentence, TextPipeline
from engine.voices.base import LoadContext
from engine.voices.style_bert_vits2.pytorch import family as torch_family

from .conftest import VOICE, Case, torch_synthesizer

SENTENCE = Sentence("今日は晴れです。", 0.3)

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from engine.voices.style_bert_vits2.pytorch import voice as torch_voice
from engine.voices.style_bert_vits2.pytorch.bert import TorchBert, read_bert
from engine.voices.style_bert_vits2.pytorch.device import device_errors
from engine.voices.style_bert_vits2.pytorch.model import newest_weights, read_model
from engine.voices.style_bert_vits2.pytorch.voice import TorchSettings, TorchSynthesizer, load_voice
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer
from engine.voices.style_bert_vits2.voice import StyleBertVits2Voice


@pytest.fixture(scope="module")
def bert(trained_bert: Path) -> TorchBert:
    return TorchBert(read_bert(trained_bert))


@pytest.fixture(scope="module")
def voice(trained_voice: Path, trained_bert: Path, bert: TorchBert, pipeline: TextPipeline, cache: Path):
    tokenizer = CharacterTokenizer.load(trained_bert)
    return load_voice(trained_voice, bert, tokenizer, text=pipeline, cache=cache, settings=TorchSettings())


@pytest.fixture
def folder(trained_voice: Path, tmp_path: Path) -> Path:
    """A trained folder that a test may break."""
    return Path(shutil.copytree(trained_voice, tmp_path / VOICE))


def test_a_trained_folder_speaks(voice: StyleBertVits2Voice):
    rendered = voice.synthesize(SENTENCE, SpeechOptions(seed=1))
    assert rendered.audio.sample_rate == 44100
    assert 0.5 < rendered.audio.duration < 5
    assert rendered.audio.timings[-1].end == pytest.approx(rendered.audio.duration, abs=1e-6)
    assert voice.styles == ("Neutral", "Happy", "Sad")


def test_a_seed_repeats_the_audio_to_the_byte_and_another_one_does_not(voice: StyleBertVits2Voice):
    first, again, other = (voice.synthesize(SENTENCE, SpeechOptions(seed=seed)).audio.samples for seed in (7, 7, 8))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_without_a_seed_no_two_are_alike(voice: StyleBertVits2Voice):
    first, second = (voice.synthesize(SENTENCE, SpeechOptions()).audio.samples for _ in range(2))
    assert first.tobytes() != second.tobytes()


@pytest.mark.parametrize(
    "change",
    [
        {"style": "Sad"},
        {"style": "Sad", "style_weight": 3.0},
        {"speed": 0.8},
        {"sdp_ratio": 1.0},
        {"noise": 0.1},
        {"noise_w": 0.0},
        {"speaker_id": 1},
        {"assist_text": "とても悲しい。"},
    ],
)
def test_every_option_changes_the_sound(voice: StyleBertVits2Voice, change: dict):
    base = SpeechOptions(seed=1, style="Happy")
    plain, changed = (voice.synthesize(SENTENCE, options).audio.samples for options in (base, replace(base, **change)))
    assert set(change) - {"style"} <= voice.options
    assert plain.tobytes() != changed.tobytes()


def test_speed_two_takes_about_half_as_long(voice: StyleBertVits2Voice):
    slow, fast = (voice.synthesize(SENTENCE, SpeechOptions(seed=1, speed=speed)).audio.duration for speed in (0.5, 1.0))
    assert 1.7 < slow / fast < 2.1


def test_a_wrong_style_or_speaker_is_told(voice: StyleBertVits2Voice):
    with pytest.raises(UnknownStyleError, match="Neutral, Happy, Sad"):
        voice.synthesize(SENTENCE, SpeechOptions(style="Furious"))
    with pytest.raises(InvalidOptionError, match="from 0 to 1"):
        voice.synthesize(SENTENCE, SpeechOptions(speaker_id=2))


def test_the_fingerprint_follows_the_weights(folder: Path, cache: Path, bert, pipeline, trained_bert):
    def fingerprint() -> str:
        tokenizer = CharacterTokenizer.load(trained_bert)
        return load_voice(folder, bert, tokenizer, text=pipeline, cache=cache, settings=TorchSettings()).fingerprint

    from safetensors.torch import load_file, save_file

    first = fingerprint()
    assert fingerprint() == first
    path = folder / f"{VOICE}.safetensors"
    tensors = load_file(path)
    save_file(tensors | {"dp.proj.bias": tensors["dp.proj.bias"] + 1}, path)
    assert fingerprint() != first


def test_a_closed_voice_says_so(trained_voice: Path):
    synthesizer = torch_synthesizer(trained_voice)
    assert synthesizer.memory() > 3_000_000
    synthesizer.close()
    synthesizer.close()
    assert synthesizer.memory() == 0
    case = Case("s01_short__n0")
    with pytest.raises(EngineDefectError, match="closed"):
        synthesizer.synthesize(case.input, case.controls, case.noise)


@pytest.mark.parametrize("bias", [20.0, -float("inf")])
def test_absurd_durations_are_a_defect_and_no_memory_is_taken(trained_voice: Path, bias: float):
    model = read_model(trained_voice)[2]
    model.duration_predictor.proj.bias.fill_(bias)
    case = Case("s01_short__n0")
    with pytest.raises(EngineDefectError, match="frames for 37 symbols"):
        TorchSynthesizer(model, torch.device("cpu"), margin=20).synthesize(case.input, case.controls, case.noise)


def test_long_speech_is_decoded_in_windows_that_nobody_hears(trained_voice: Path):
    config, _, model, _ = read_model(trained_voice)
    case = Case("s11_accent__seed")
    whole, pieces = (
        TorchSynthesizer(model, torch.device("cpu"), margin=config.margin, window=window).synthesize(
            case.input, case.controls, case.noise
        )
        for window in (1000, 40)
    )
    assert np.abs(whole.samples - pieces.samples).max() < 1e-5


def test_no_memory_is_a_transient_error(trained_voice: Path, monkeypatch: pytest.MonkeyPatch):
    synthesizer = torch_synthesizer(trained_voice)

    def full(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(synthesizer, "_compute", full)
    case = Case("s01_short__n0")
    with pytest.raises(TransientError, match="no memory left"):
        synthesizer.synthesize(case.input, case.controls, case.noise)


def test_warming_up_leaves_the_voice_as_it_was(trained_voice: Path):
    synthesizer = torch_synthesizer(trained_voice)
    case = Case("s01_short__n0")
    before = synthesizer.synthesize(case.input, case.controls, case.noise).samples
    synthesizer.warm_up()
    assert np.array_equal(synthesizer.synthesize(case.input, case.controls, case.noise).samples, before)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_without_a_cuda_device_the_error_says_what_to_do(tree: Path, trained_voice: Path, trained_bert: Path, tmp_path):
    root = published(tmp_path / "tree", trained_voice, trained_bert)
    message = r"cannot use the device 'cuda:1': it sees no CUDA device.*; install .* or use the device cpu"
    with pytest.raises(PrepareError, match=message):
        TTS("cuda:1", cache_dir=tmp_path / "cache").load(VOICE, source=f"file://{root}").prepare()
    with pytest.raises(VoiceNotAvailableError, match=message):
        check_device("cuda:1")


@pytest.mark.parametrize(
    ("built_with", "warning", "devices", "expected"),
    [
        (None, None, 0, r"it sees no CUDA device, since it was built without CUDA; install"),
        ("13.0", None, 0, r"it sees no CUDA device; install"),
        (
            "13.0",
            "CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). Please update "
            "your GPU driver (Triggered internally at CUDAFunctions.cpp:119.)",
            0,
            r"no CUDA device \(CUDA initialization: .* is too old \(found version 11040\)\); install",
        ),
        ("13.0", None, 1, r"it sees 1 CUDA device\(s\); install"),
    ],
)
def test_why_a_device_cannot_be_used_is_told(monkeypatch, built_with, warning, devices, expected):
    def available() -> bool:
        if warning:
            warnings.warn(warning, UserWarning, stacklevel=1)
        return devices > 0

    monkeypatch.setattr(torch.version, "cuda", built_with)
    monkeypatch.setattr(torch.cuda, "is_available", available)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)
    with pytest.raises(VoiceNotAvailableError, match=expected):
        check_device("cuda:1")


def test_a_device_that_is_there_must_compute(monkeypatch: pytest.MonkeyPatch):
    """A release of PyTorch may have no code for a device that the driver knows."""

    def ones(*_: object, **__: object) -> None:
        message = "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be…"
        raise RuntimeError(message)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch, "ones", ones)
    with pytest.raises(VoiceNotAvailableError, match=r"'cuda' failed \(CUDA error: no kernel .* device\); restart"):
        check_device("cuda")


def test_the_processor_needs_no_check_and_no_torch():
    check_device("cpu")
    with pytest.raises(InvalidOptionError, match="device must be cpu, cuda or cuda:N, got 'gpu'"):
        check_device("gpu")


@pytest.mark.parametrize("error", [RuntimeError("CUDA error: unspecified launch failure\nCompile with…"), None])
def test_a_device_that_fails_is_an_error_of_the_engine(trained_voice: Path, monkeypatch, error):
    """Also while a voice is loaded: then too little memory is no matter of trying again at once."""
    synthesizer = torch_synthesizer(trained_voice)
    device = torch.device("cpu")

    def failing(*_: object) -> None:
        raise error or torch.OutOfMemoryError

    monkeypatch.setattr(synthesizer, "_compute", failing)
    case = Case("s01_short__n0")
    if error:
        with pytest.raises(VoiceNotAvailableError, match=r"failed \(CUDA error: unspecified launch failure\); restart"):
            synthesizer.synthesize(case.input, case.controls, case.noise)
    with (
        pytest.raises(VoiceNotAvailableError, match="failed" if error else "no memory left for this voice"),
        device_errors(device, loading=True),
    ):
        failing()


def test_a_bert_whose_device_fails_is_an_error_of_the_engine(trained_bert: Path, monkeypatch: pytest.MonkeyPatch):
    bert = TorchBert(read_bert(trained_bert))

    def failing(**_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(bert._model, "forward", failing)
    with pytest.raises(TransientError, match="no memory left"):
        bert.features(np.zeros(4, np.int64))


def published(root: Path, trained_voice: Path, trained_bert: Path) -> Path:
    """The pytorch part of a published tree."""
    shutil.copytree(trained_voice, root / "pytorch" / "speakers" / VOICE)
    shutil.copytree(trained_voice, root / "pytorch" / "speakers" / "second")
    shutil.copytree(trained_bert, root / "pytorch" / "bert" / "fp32")
    (root / "bert" / "tokenizer").mkdir(parents=True)
    (root / "pytorch" / "bert" / "fp32" / "vocab.txt").rename(root / "bert" / "tokenizer" / "vocab.txt")
    return root


@pytest.fixture
def context(trained_voice: Path, trained_bert: Path, pipeline: TextPipeline, tmp_path: Path) -> LoadContext:
    root = published(tmp_path / "tree", trained_voice, trained_bert)
    return LoadContext("cpu", pipeline, tmp_path / "cache", LocalSource(root))


def test_the_pytorch_part_of_a_tree_speaks_and_shares_its_bert(context: LoadContext, monkeypatch: pytest.MonkeyPatch):
    loaded = []
    original = torch_voice.load_bert
    monkeypatch.setattr(torch_voice, "load_bert", lambda *given: loaded.append(original(*given)) or loaded[-1])
    voices = torch_family.TorchVoices()
    first, second = voices.load(VOICE, context), voices.load("second", context)
    assert len(loaded) == 1
    first.close()
    assert second.synthesize(SENTENCE, SpeechOptions(seed=1)).audio.duration > 0.5
    second.close()
    second.close()
    assert loaded[0]._model is None
    voices.load(VOICE, context).close()
    assert len(loaded) == 2


@pytest.mark.parametrize("wanted", [False, True])
def test_networks_are_compiled_where_that_is_wanted(
    context: LoadContext, monkeypatch: pytest.MonkeyPatch, wanted: bool
):
    compiled: list[str] = []
    for part in (TorchBert, TorchSynthesizer):
        monkeypatch.setattr(part, "compile", lambda self: compiled.append(type(self).__name__))
    torch_family.TorchVoices().load(VOICE, replace(context, compile=wanted)).close()
    assert compiled == (["TorchBert", "TorchSynthesizer"] if wanted else [])


def test_a_broken_voice_gives_its_bert_back(context: LoadContext):
    (context.source.fetch(f"pytorch/speakers/{VOICE}") / "style_vectors.npy").unlink()
    voices = torch_family.TorchVoices()
    with pytest.raises(VoiceNotAvailableError, match=r"style_vectors\.npy"):
        voices.load(VOICE, context)
    assert not voices._berts._shared


def test_the_newest_weights_are_taken(folder: Path):
    older = folder / "zzz_e1.safetensors"
    shutil.copy(folder / f"{VOICE}.safetensors", older)
    os.utime(older, (1, 1))
    assert newest_weights(folder).name == f"{VOICE}.safetensors"


def test_a_pickle_is_refused_and_never_read(folder: Path):
    (folder / f"{VOICE}.safetensors").rename(folder / "G_100.pth")
    with pytest.raises(
        VoiceNotAvailableError, match=r"pickle \(G_100\.pth\), .* is not read; export it as safetensors"
    ):
        read_model(folder)


def test_a_folder_without_weights_is_told(folder: Path):
    (folder / f"{VOICE}.safetensors").unlink()
    with pytest.raises(VoiceNotAvailableError, match=r"holds no \*\.safetensors"):
        read_model(folder)


@pytest.mark.parametrize(
    ("section", "key", "value", "fault"),
    [
        ("data", "n_speakers", 3, "it has 2 speakers, config.json says 3"),
        ("data", "hop_length", 256, "512 samples a frame, config.json says hop_length 256"),
        ("model", "upsample_rates", [8, 8, 2, 2, 2.5], r"model\.upsample_rates \[8, 8, 2, 2, 2\.5\]"),
        ("model", "resblock_dilation_sizes", [[1, 3, -5]] * 3, r"model\.resblock_dilation_sizes \[1, 3, -5\]"),
        ("model", "upsample_rates", [8, 8, 2, 2, 3], "an upsampling kernel of 2 does not fit its rate 3"),
    ],
)
def test_a_config_that_does_not_fit_is_told(folder: Path, section: str, key: str, value: object, fault: str):
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config[section][key] = value
    path.write_text(json.dumps(config), "utf-8")
    with pytest.raises(VoiceNotAvailableError, match=fault):
        read_model(folder)


def test_style_vectors_of_another_size_are_told(folder: Path):
    np.save(folder / "style_vectors.npy", np.zeros((3, 128), np.float32))
    with pytest.raises(VoiceNotAvailableError, match=r"256 numbers, style_vectors\.npy has 128"):
        read_model(folder)


@pytest.fixture
def bert_folder(trained_bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_bert, tmp_path / "bert"))


def test_a_bert_without_weights_or_as_a_pickle_is_told(bert_folder: Path):
    weights = bert_folder / "model.safetensors"
    weights.rename(bert_folder / "pytorch_model.bin")
    with pytest.raises(VoiceNotAvailableError, match="as a pickle, which is not read"):
        TorchBert(read_bert(bert_folder))
    (bert_folder / "pytorch_model.bin").unlink()
    with pytest.raises(VoiceNotAvailableError, match=r"model\.safetensors, which is not there"):
        TorchBert(read_bert(bert_folder))


def test_a_damaged_bert_is_told(bert_folder: Path):
    weights = bert_folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(VoiceNotAvailableError, match=r"cannot be read .* download it again"):
        TorchBert(read_bert(bert_folder))


def test_another_kind_of_model_is_no_bert(bert_folder: Path):
    (bert_folder / "config.json").write_text('{"model_type": "bert"}', "utf-8")
    with pytest.raises(VoiceNotAvailableError, match="not of a DeBERTa v2"):
        TorchBert(read_bert(bert_folder))


def test_a_bert_without_a_layer_is_told(bert_folder: Path):
    config = json.loads((bert_folder / "config.json").read_text("utf-8"))
    (bert_folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 5}), "utf-8")
    with pytest.raises(VoiceNotAvailableError, match=r"deberta\.encoder\.layer\.2\..* is missing"):
        TorchBert(read_bert(bert_folder))


def test_a_vocabulary_beyond_the_embeddings_is_told(bert: TorchBert):
    with pytest.raises(VoiceNotAvailableError, match=r"token 3600, but the BERT in .* knows 3600"):
        bert.features(np.array([1, 3600, 2]))


def test_a_bert_of_another_size_than_the_voice_takes_is_told(voice, trained_voice, pipeline, cache, trained_bert):
    class Wide:
        feature_size, fingerprint = 1024, "wide"

    with pytest.raises(
        VoiceNotAvailableError, match="takes 64 features of BERT, but the BERT at its source gives 1024"
    ):
        load_voice(
            trained_voice,
            Wide(),
            CharacterTokenizer.load(trained_bert),
            text=pipeline,
            cache=cache,
            settings=TorchSettings(),
        )
