"""The whole way, from a source to audio."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import TTS
from engine.errors import (
    EngineDefectError,
    InvalidOptionError,
    NothingToSayError,
    PrepareError,
    UnknownStyleError,
    VoiceNotAvailableError,
)
from engine.options import SpeechOptions
from engine.text import Sentence
from engine.voices.style_bert_vits2 import family, voice
from engine.voices.style_bert_vits2.runtime.bert import OnnxBert
from engine.voices.style_bert_vits2.runtime.session import Graph

from .conftest import VOICE


@pytest.fixture(scope="module")
def tts(tree: Path, root_cache: Path):
    with TTS(cache_dir=root_cache) as tts:
        yield tts.load(VOICE, source=f"file://{tree}").prepare()


@pytest.fixture
def speaker(tts: TTS):
    return tts.speakers[VOICE]


def test_a_voice_speaks(speaker):
    audio = speaker.generate("こんにちは、世界。")
    assert audio.sample_rate == 44100
    assert 0.5 < audio.duration < 10
    assert np.abs(audio.samples).max() > 0.05
    assert speaker.styles == ("Neutral", "Happy", "Sad")
    assert speaker.memory > 1_000_000


def test_a_seed_repeats_the_audio_byte_for_byte(speaker):
    first, again = (speaker.generate("今日は晴れです。明日は雨です。", seed=7) for _ in range(2))
    assert first.samples.tobytes() == again.samples.tobytes()
    assert speaker.generate("今日は晴れです。明日は雨です。", seed=8).samples.tobytes() != first.samples.tobytes()


def test_without_a_seed_every_time_is_another(speaker):
    first, again = (speaker.generate("こんにちは。").samples for _ in range(2))
    assert first.tobytes() != again.tobytes()


def test_a_higher_speed_is_faster(speaker):
    slow, fast = (speaker.generate("今日は良い天気ですね。", seed=1, speed=speed).duration for speed in (0.7, 1.4))
    assert slow > 1.5 * fast


@pytest.mark.parametrize(
    "options",
    [
        {"style": "Happy", "style_weight": 5},
        {"sdp_ratio": 1.0},
        {"noise": 1.5},
        {"noise_w": 2.0},
        {"speaker_id": 1},
        {"assist_text": "やったー！うれしい！"},
        {"pitch": 3},
        {"intonation": 1.5},
    ],
    ids=lambda options: next(iter(options)),
)
def test_every_option_is_heard(speaker, options: dict):
    if {"pitch", "intonation"} & set(options):
        pytest.importorskip("pyworld")
    plain = speaker.generate("今日は良い天気ですね。", seed=1).samples
    other = speaker.generate("今日は良い天気ですね。", seed=1, **options).samples
    assert len(plain) != len(other) or np.abs(plain - other).max() > 1e-3


def test_an_assist_text_without_a_reading_changes_nothing(speaker):
    plain = speaker.generate("はい。", seed=1).samples
    assert speaker.generate("はい。", seed=1, assist_text=" \U0001f600").samples.tobytes() == plain.tobytes()


def test_timings_name_the_phonemes_and_fill_the_audio(tts: TTS, tree: Path, root_cache: Path):
    loaded = tts._speakers[VOICE]._held._voice
    rendered = loaded.synthesize(Sentence("はい。", 0.4), SpeechOptions(seed=1))
    assert [t.phoneme for t in rendered.audio.timings] == ["_", "h", "a", "i", ".", "_"]
    assert rendered.audio.timings[-1].end == pytest.approx(rendered.audio.duration)


@pytest.mark.parametrize("text", ["えっと…。", "No.5です。", "行こう!?", "「はい。」"])
def test_the_pause_is_what_the_voice_predicts_for_the_last_marks(tts: TTS, text: str):
    loaded = tts._speakers[VOICE]._held._voice
    rendered = loaded.synthesize(Sentence(text, 9.0), SpeechOptions(seed=1))
    marks = []
    for timing in reversed(rendered.audio.timings[:-1]):
        if timing.phoneme not in set("!?….,'-"):
            break
        marks.append(timing.duration)
    assert marks
    assert rendered.pause == pytest.approx(min(max(sum(marks), 0.08), 2.0))


def test_a_sentence_without_a_mark_keeps_its_own_pause(tts: TTS):
    loaded = tts._speakers[VOICE]._held._voice
    assert loaded.synthesize(Sentence("はい", 0.4), SpeechOptions()).pause is None


@pytest.mark.parametrize("text", ["……", "ヷ", "\U0001f600", ""])
def test_nothing_readable_is_an_error_and_never_noise(tts: TTS, text: str):
    loaded = tts._speakers[VOICE]._held._voice
    with pytest.raises(NothingToSayError, match="can be read aloud"):
        loaded.synthesize(Sentence(text, 0.4), SpeechOptions())


def test_unknown_styles_and_speakers_are_told_with_what_there_is(speaker):
    with pytest.raises(UnknownStyleError, match="no style 'Angry'; it has Neutral, Happy, Sad"):
        speaker.generate("はい。", style="Angry")
    with pytest.raises(InvalidOptionError, match="speaker_id must be from 0 to 1 with this voice, got 2"):
        speaker.plan("はい。", speaker_id=2)


def test_pitch_without_the_vocoder_is_refused_before_anything_is_synthesized(speaker, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyworld", None)
    with pytest.raises(InvalidOptionError, match=r"pip install 'asagoe\[world\]'"):
        speaker.plan("はい。", pitch=1)
    assert speaker.plan("はい。", pitch=0, intonation=1).segments


def test_another_revision_of_the_code_has_other_keys(speaker, tree: Path, root_cache: Path, monkeypatch):
    """What was cached before a change of sound is not used after it."""
    monkeypatch.setattr(voice, "CODE_REVISION", "next")
    with TTS(cache_dir=root_cache).load(VOICE, source=str(tree)).prepare() as other:
        keys = [one.plan("はい。").segments[0].key for one in (speaker, speaker, other.speakers[VOICE])]
    assert keys[0] == keys[1] != keys[2]


@pytest.fixture
def life(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens to BERT."""
    life: list[str] = []

    class CountedBert(OnnxBert):
        def __init__(self, *args: Path) -> None:
            super().__init__(*args)
            life.append("loaded")

        def close(self) -> None:
            super().close()
            life.append("freed")

    monkeypatch.setattr(family, "OnnxBert", CountedBert)
    return life


def test_bert_is_loaded_once_and_freed_with_its_last_user(tree: Path, root_cache: Path, life: list[str]):
    tts = TTS(cache_dir=root_cache)
    for name in ("a", "b"):
        tts.load(name, source=str(tree), voice=VOICE)
    tts.prepare()
    assert life == ["loaded"]
    tts.unload("a")
    assert life == ["loaded"]
    assert tts.speakers["b"].generate("はい。").duration > 0
    tts.unload("b")
    assert life == ["loaded", "freed"]
    tts.load("c", source=str(tree), voice=VOICE).prepare().close()
    assert life == ["loaded", "freed", "loaded", "freed"]


def test_a_speaker_whose_defaults_do_not_fit_gives_its_voice_back(tree: Path, root_cache: Path, life: list[str]):
    tts = TTS(cache_dir=root_cache).load("a", source=str(tree), voice=VOICE, speaker_id=2)
    with pytest.raises(PrepareError, match="a: speaker_id must be from 0 to 1 with this voice, got 2"):
        tts.prepare()
    assert life == ["loaded", "freed"]


def test_a_speaker_that_cannot_warm_up_gives_its_voice_back(
    tree: Path, root_cache: Path, life: list[str], monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise EngineDefectError("no usable sound")

    monkeypatch.setattr(voice.StyleBertVits2Voice, "synthesize", broken)
    with pytest.raises(PrepareError, match="a: no usable sound"):
        TTS(cache_dir=root_cache).load("a", source=str(tree), voice=VOICE).prepare(warmup=True)
    assert life == ["loaded", "freed"]


def test_a_failed_voice_gives_bert_back_and_leaves_the_others(copied_tree: Path, root_cache: Path):
    shutil.copytree(copied_tree / "onnx/speakers" / VOICE, copied_tree / "onnx/speakers/broken")
    (copied_tree / "onnx/speakers/broken/synthesizer.onnx").write_bytes(b"broken")
    tts = TTS(cache_dir=root_cache).load("broken", source=str(copied_tree)).load(VOICE, source=str(copied_tree))
    with pytest.raises(PrepareError, match=r"1 speaker.*broken: .*not a usable ONNX graph"):
        tts.prepare()
    assert tts.speakers[VOICE].generate("はい。").duration > 0
    tts.close()


def test_a_voice_and_a_bert_of_different_sizes_are_told(tree: Path, root_cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Graph, "last_size", lambda *_: 1024)
    with pytest.raises(PrepareError, match="takes 64 features of BERT, but the BERT at its source gives 1024"):
        TTS(cache_dir=root_cache).load(VOICE, source=str(tree)).prepare()


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("onnx/speakers/rand-tiny/config.json", r"it has no config\.json"),
        ("onnx/speakers/rand-tiny/style_vectors.npy", r"it has no style_vectors\.npy"),
        ("onnx/speakers/rand-tiny/synthesizer.onnx", r"has no synthesizer\.onnx; fetch the voice again"),
        ("onnx/bert/q8/bert_q8.onnx", r"holds no graph of BERT \(bert_q8\.onnx\)"),
        ("bert/tokenizer/vocab.txt", r"tokenizer of BERT cannot be read"),
    ],
)
def test_a_missing_file_is_named(copied_tree: Path, root_cache: Path, broken: str, sentence: str):
    (copied_tree / broken).unlink()
    with pytest.raises(PrepareError, match=sentence):
        TTS(cache_dir=root_cache).load(VOICE, source=str(copied_tree)).prepare()


def test_a_wrong_folder_is_told_with_what_is_there(tree: Path, tmp_path: Path):
    def failure(source: object, name: str = VOICE) -> str:
        with pytest.raises(PrepareError) as caught:
            TTS().load(name, source=str(source)).prepare()
        return str(caught.value)

    assert "there is no folder /nowhere" in failure("file:///nowhere")
    assert "is a single voice; name the root of its tree" in failure(tree / "onnx/speakers" / VOICE)
    assert f"onnx/speakers has {VOICE}" in failure(tree, "other")
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert f"convert it: asagoe voices convert {tmp_path} --to FOLDER" in failure(tmp_path)
    for source, remedy in {
        "file://host/path": "by its absolute path",
        "file://~/voices": "~ is not expanded",
        "~/voices": "~ is not expanded, since a service has a home of its own; write the path in full",
        "~voices": "~ is not expanded",
        "voices": "a folder is named by its absolute path, as /srv/voices",
        "./voices": "by its absolute path",
        "user/repository": "by its absolute path",
        "file:voices": "by its absolute path",
        "s4://bucket": "known are openjtalk:NAME",
        "": "known are openjtalk:NAME",
    }.items():
        assert f"the source '{source}' is not understood; " in failure(source)
        assert remedy in failure(source)


def test_a_path_may_hold_spaces_and_kanji(copied_tree: Path, tmp_path: Path, root_cache: Path):
    moved = shutil.move(copied_tree, tmp_path / "声 の木")
    with TTS(cache_dir=root_cache).load(VOICE, source=Path(moved).as_uri()) as tts:
        assert tts.prepare().speakers[VOICE].generate("はい。").duration > 0


def test_a_voice_whose_graph_cannot_be_prepared_has_no_seed(tree: Path, tmp_path: Path):
    (tmp_path / "style_bert_vits2").write_text("in the way")
    with TTS(cache_dir=tmp_path).load(VOICE, source=str(tree)) as tts:
        speaker = tts.prepare().speakers[VOICE]
        assert speaker.generate("はい。").duration > 0
        with pytest.raises(InvalidOptionError, match="seed is not an option of speaker"):
            speaker.generate("はい。", seed=1)


def test_a_graphics_device_is_refused_with_a_sentence(tree: Path):
    """This tree has the onnx part alone, and PyTorch may not be installed."""
    with pytest.raises(PrepareError, match=rf"has no pytorch/speakers/{VOICE}|needs torch, .* pip install"):
        TTS("cuda").load(VOICE, source=str(tree)).prepare()


def test_speech_needs_neither_torch_nor_transformers(tree: Path, root_cache: Path):
    code = (
        "import sys; from engine import TTS\n"
        "for name in ('torch', 'transformers'): sys.modules[name] = None\n"
        f"TTS(cache_dir={str(root_cache)!r}).load({VOICE!r}, source={str(tree)!r}).prepare()"
        f".speakers[{VOICE!r}].generate('はい。')\n"
        "print('spoken')"
    )
    root = Path(engine.__file__).parents[1]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root, timeout=100)
    assert done.stdout.strip().endswith("spoken"), done.stderr


def test_a_closed_voice_is_closed_once(tree: Path, root_cache: Path):
    tts = TTS(cache_dir=root_cache).load(VOICE, source=str(tree)).prepare()
    speaker = tts.speakers[VOICE]
    speaker.close()
    speaker.close()
    with pytest.raises(VoiceNotAvailableError, match="was unloaded"):
        speaker.generate("はい。")
    tts.close()


def test_loading_a_neural_voice_reports_to_nobody(tmp_path):
    import os
    import subprocess
    import sys

    code = "import engine, onnxruntime, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    home = os.environ | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache")}
    home.pop("ORT_DISABLE_TELEMETRY", None)
    done = subprocess.run([sys.executable, "-c", code], env=home, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
    assert not list(tmp_path.rglob("*onnxruntime*"))
