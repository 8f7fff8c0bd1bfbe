import wave

import numpy as np
import pytest

from engine import Audio, PhonemeTiming
from engine.audio import concatenate


def tone(seconds: float, rate: int = 48_000, amplitude: float = 0.5, frequency: float = 440.0) -> Audio:
    t = np.arange(round(seconds * rate)) / rate
    return Audio((amplitude * np.sin(2 * np.pi * frequency * t)).astype(np.float32), rate)


def test_duration_is_samples_over_rate():
    assert Audio(np.zeros(12_000, np.float32), 48_000).duration == 0.25


def test_samples_cannot_be_changed_and_do_not_alias_the_callers_array():
    mine = np.zeros(10, np.float32)
    audio = Audio(mine, 8000)
    mine[0] = 1.0
    assert audio.samples[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        audio.samples[0] = 1.0


@pytest.mark.parametrize(("shape", "rate"), [((2, 10), 8000), ((10,), 0), ((10,), -1)])
def test_wrong_shape_or_rate_is_refused(shape, rate):
    with pytest.raises(ValueError, match=r"mono|sample rate"):
        Audio(np.zeros(shape, np.float32), rate)


def test_pcm16_scales_and_clips():
    audio = Audio(np.array([0.0, 1.0, -1.0, 2.0, -2.0, 0.5], np.float32), 8000)
    assert audio.pcm16.tolist() == [0, 32767, -32767, 32767, -32768, 16384]


def test_save_writes_a_wav_that_others_read_and_load_reads_it_back(tmp_path):
    audio = tone(0.1)
    path = audio.save(tmp_path / "tone.wav")
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth(), file.getnframes()) == (
            48_000,
            1,
            2,
            4800,
        )
    assert np.abs(Audio.load(path).samples - audio.samples).max() < 1e-4
    assert [p.name for p in tmp_path.iterdir()] == ["tone.wav"]


def test_save_into_a_missing_folder_is_an_os_error_and_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        tone(0.1).save(tmp_path / "nowhere" / "tone.wav")


def test_load_refuses_what_is_no_wav(tmp_path):
    path = tmp_path / "x.wav"
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a PCM WAV"):
        Audio.load(path)


@pytest.mark.parametrize("rate", [44_100, 22_050, 16_000, 48_000])
def test_resampling_keeps_length_and_level(rate):
    audio = tone(1.0).resampled(rate)
    assert audio.sample_rate == rate
    assert audio.duration == pytest.approx(1.0, abs=1e-3)
    middle = audio.samples[rate // 4 : 3 * rate // 4]
    assert np.sqrt((middle**2).mean()) == pytest.approx(0.5 / np.sqrt(2), rel=1e-2)


def test_concatenation_moves_timings():
    one = Audio(np.zeros(100, np.float32), 100, (PhonemeTiming("a", 0.0, 1.0),))
    both = concatenate([one, one])
    assert both.timings == (PhonemeTiming("a", 0.0, 1.0), PhonemeTiming("a", 1.0, 1.0))
    assert both.timings[1].end == 2.0


def test_concatenation_of_different_rates_is_refused():
    with pytest.raises(ValueError, match="one sample rate"):
        concatenate([tone(0.1, 8000), tone(0.1, 16_000)])
