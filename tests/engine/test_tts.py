import subprocess
import sys

import numpy as np
import pytest

from engine import TTS, InvalidOptionError, PrepareError, UnknownSpeakerError, VoiceNotAvailableError
from engine.loudness import TARGET_LUFS, loudness, true_peak


@pytest.fixture(scope="module")
def mei():
    with TTS().load("mei").prepare(warmup=True) as tts:
        yield tts.speakers["mei"]


def test_importing_the_engine_loads_nothing_heavy():
    code = (
        "import sys, engine; "
        "bad = {'numpy', 'torch', 'transformers', 'onnxruntime', 'pyopenjtalk', 'requests', 'httpx', 'ssl', 'pydantic'};"
        "print(sorted(bad & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_embedded_voice_needs_no_runtime_of_neural_ones():
    code = "import sys; from engine import TTS; TTS().load('mei').prepare().speakers['mei'].generate('何ですか')\n"
    code += "print(sorted({'onnxruntime', 'onnx', 'torch', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_loading_a_voice_prints_nothing():
    code = "from engine import TTS; TTS().load('mei').prepare().speakers['mei'].generate('はい😀。…')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_embedded_voice_speaks(mei):
    audio = mei.generate("おはようございます。")
    assert mei.sample_rate == audio.sample_rate == 48_000
    assert 0.8 < audio.duration < 2.0
    assert loudness(audio.samples, 48_000) == pytest.approx(TARGET_LUFS, abs=0.1)
    assert true_peak(audio.samples) < 0.9


def test_the_same_text_gives_the_same_bytes(mei):
    assert mei.generate("はい。", seed=3).to_bytes() == mei.generate("はい。", seed=3).to_bytes()


def test_speed_is_faster_above_one(mei):
    slow, normal, fast = (mei.generate("洗濯が終わりました", speed=speed).duration for speed in (0.8, 1.0, 1.25))
    assert slow == pytest.approx(normal / 0.8, rel=0.1)
    assert fast == pytest.approx(normal / 1.25, rel=0.1)


def test_pitch_moves_the_fundamental_by_semitones(mei):
    def fundamental(audio):  # by autocorrelation, over the middle of the vowel
        middle = audio.samples[len(audio.samples) // 3 :][:4800].astype(np.float64)
        correlation = np.correlate(middle, middle, "full")[len(middle) :]
        shortest = 48_000 // 700
        return 48_000 / (shortest + 1 + correlation[shortest : 48_000 // 120].argmax())

    low, high = (fundamental(mei.generate("あー", pitch=pitch)) for pitch in (-6, 6))
    assert high / low == pytest.approx(2.0, rel=0.05)


def test_a_very_long_paragraph_without_punctuation_is_spoken_in_pieces(mei):
    chunks = list(mei.stream("とても" * 200))
    assert len(chunks) > 5
    assert max(chunk.duration for chunk in chunks) < 20


def test_one_speaker_that_fails_does_not_take_the_others_with_it():
    tts = TTS().load("good").load("bad", source="nowhere:x").load("worse", source="openjtalk:nobody")
    with pytest.raises(PrepareError) as caught:
        tts.prepare()
    assert set(caught.value.failures) == {"bad", "worse"}
    assert "'nowhere:x' is not understood" in str(caught.value)
    assert set(tts.speakers) == {"good"}
    assert tts.load("bad", source="openjtalk:mei").load("worse", source="openjtalk:mei").prepare()
    assert set(tts.speakers) == {"good", "bad", "worse"}
    tts.close()


def test_prepare_keeps_what_is_loaded_and_reloads_what_was_declared_anew():
    tts = TTS().load("a").prepare()
    first = tts.speakers["a"]
    assert tts.load("a").prepare().speakers["a"] is first
    assert tts.load("a", speed=1.5).prepare().speakers["a"] is not first
    tts.close()


@pytest.mark.parametrize(
    "source",
    ["", "mei", "openjtalk", "openjtalk:", "OPENJTALK:mei", "user/repo", "~/voices", "openjtalk:relative.htsvoice"],
)
def test_sources_are_read_strictly(source):
    with pytest.raises(VoiceNotAvailableError):
        TTS().load("x", source=source).prepare()


def test_a_damaged_voice_file_is_named(tmp_path):
    broken = tmp_path / "x.htsvoice"
    broken.write_bytes(b"[GLOBAL]\nnothing")
    with pytest.raises(PrepareError, match=r"x\.htsvoice"):
        TTS().load("x", source=f"openjtalk:{broken}").prepare()


@pytest.mark.parametrize("device", ["gpu", "CPU", "cuda:", "cuda:x", ""])
def test_devices_are_read_strictly(device):
    with pytest.raises(InvalidOptionError, match="cpu, cuda or cuda:N"):
        TTS(device)


def test_nothing_is_compiled_for_the_processor():
    assert TTS("cuda", compile=True)
    with pytest.raises(InvalidOptionError, match="compile is for CUDA devices"):
        TTS(compile=True)


def test_a_speaker_that_is_not_there_is_named_with_those_that_are():
    with TTS().load("a").prepare() as tts:
        with pytest.raises(UnknownSpeakerError, match="no speaker 'b' is ready; ready are a"):
            tts.speakers["b"]
        with pytest.raises(UnknownSpeakerError):
            tts.unload("b")
        tts.unload("a")
        assert not tts.speakers


def test_pronunciation_of_a_text():
    assert TTS().text.kana("洗濯が終わりました。") == "センタクガオワリマシタ。"


def test_a_speaker_that_cannot_be_loaded_again_after_its_rest_is_not_ready_until_it_is_prepared(tmp_path):
    from pathlib import Path

    from engine.text.openjtalk import library

    bundled = Path(library().__file__).parent / "htsvoice" / "mei_normal.htsvoice"
    own = tmp_path / "own.htsvoice"
    own.write_bytes(bundled.read_bytes())
    with TTS().load("a", source=f"openjtalk:{own}").prepare() as tts:
        speaker = tts.speakers["a"]
        sound = speaker.generate("はい。").samples
        assert speaker.release(wait=False)
        assert set(tts.speakers) == {"a"}
        assert np.array_equal(speaker.generate("はい。").samples, sound)
        speaker.release(wait=False)
        own.rename(tmp_path / "away")
        with pytest.raises(VoiceNotAvailableError, match=r"there is no voice file at .*own\.htsvoice"):
            speaker.generate("はい。")
        assert not tts.speakers
        (tmp_path / "away").rename(own)
        assert np.array_equal(tts.prepare().speakers["a"].generate("はい。").samples, sound)


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (MemoryError(), "there is no memory left while speaker a is loaded"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (RuntimeError("Failed to initialize Mecab"), "Failed to initialize Mecab"),
    ],
)
def test_whatever_a_voice_raises_while_it_is_loaded_leaves_the_others_ready(tmp_path, monkeypatch, raised, words):
    from pathlib import Path

    from engine.text.openjtalk import library
    from engine.voices.openjtalk import OpenJTalkFamily

    bundled = Path(library().__file__).parent / "htsvoice" / "mei_normal.htsvoice"
    load = OpenJTalkFamily.load
    broken = True

    def loading(family, model, context):
        if broken and model == str(bundled):
            raise raised
        return load(family, model, context)

    monkeypatch.setattr(OpenJTalkFamily, "load", loading)
    with TTS().load("a", source=f"openjtalk:{bundled}").load("b") as tts:
        with pytest.raises(PrepareError) as caught:
            tts.prepare(warmup=True)
        assert words in str(caught.value.failures["a"])
        assert set(tts.speakers) == {"b"}
        broken = False
        speaker = tts.prepare().speakers["a"]
        speaker.release()
        broken = True
        with pytest.raises(VoiceNotAvailableError, match="speaker a cannot be loaded again"):
            speaker.generate("はい。")
        assert set(tts.speakers) == {"b"}
