import sys

import numpy as np
import pytest

from engine.errors import InvalidOptionError
from engine.voices.style_bert_vits2.pitch import change_pitch, require_vocoder

RATE = 24000


def tone(*frequencies: float) -> np.ndarray:
    pitch = np.concatenate([np.full(RATE // 2, frequency) for frequency in frequencies])
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    return (0.1 * sum(np.sin(k * phase) / k for k in range(1, 20))).astype(np.float32)


def mean_f0(samples: np.ndarray) -> float:
    world = pytest.importorskip("pyworld")
    f0, _ = world.harvest(samples.astype(np.float64), RATE)
    return float(np.median(f0[f0 > 0]))


def test_nothing_changes_without_a_change():
    samples = tone(200)
    assert change_pitch(samples, RATE, semitones=0, intonation=1) is samples


def test_semitones_move_the_pitch():
    pytest.importorskip("pyworld")
    assert mean_f0(change_pitch(tone(200), RATE, semitones=12, intonation=1)) == pytest.approx(400, rel=0.02)


def test_no_intonation_is_monotonous():
    pytest.importorskip("pyworld")
    flat = change_pitch(tone(180, 220), RATE, semitones=0, intonation=0)
    assert mean_f0(flat[: RATE // 3]) == pytest.approx(mean_f0(flat[-RATE // 3 :]), rel=0.02)


def test_audio_without_voice_stays_as_it_is():
    pytest.importorskip("pyworld")
    silence = np.zeros(RATE, np.float32)
    assert change_pitch(silence, RATE, semitones=2, intonation=1) is silence


def test_without_the_library_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyworld", None)
    with pytest.raises(InvalidOptionError, match=r"run: pip install 'asagoe\[world\]'"):
        change_pitch(tone(200), RATE, semitones=1, intonation=1)
    with pytest.raises(InvalidOptionError, match=r"run: pip install 'asagoe\[world\]'"):
        require_vocoder()
