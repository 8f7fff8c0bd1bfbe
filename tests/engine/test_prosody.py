"""Prosody out of the file of the embedded voice, held against what the voice does."""

from pathlib import Path

import numpy as np
import pytest

from engine.prosody import HtsModel, predict
from engine.text import TextPipeline, parse_kana
from engine.text.openjtalk import library


@pytest.fixture(scope="module")
def voice():
    path = Path(str(library().__file__)).parent / "htsvoice" / "mei_normal.htsvoice"
    return HtsModel(path), library().HTSEngine(str(path).encode())


@pytest.mark.parametrize(
    "text", ["今日は、いい天気ですか?", "箸を置く。", "12月24日の最低気温は氷点下3.5度です。", "ん"]
)
def test_durations_add_up_to_the_length_of_the_sound(voice, text):
    model, engine = voice
    front_end = TextPipeline().front_end
    labels = front_end.labels(front_end.features(text))
    expected = sum(model.sound(label)[0] for label in labels)
    assert len(engine.synthesize(labels)) / 48_000 == pytest.approx(expected, abs=1e-6)


def test_pitch_is_that_of_the_sound(voice):
    world = pytest.importorskip("pyworld")
    phrases = parse_kana("アオイ'/アオオ'ニ")
    from engine.text.labels import labels_of_phrases

    wave = np.asarray(voice[1].synthesize(labels_of_phrases(phrases)), np.float64) / 32768
    f0, _ = world.harvest(wave, 48_000)
    heard = np.log(np.median(f0[f0 > 0]))
    told = np.median([sound.pitch for phrase in predict(phrases) for sound in phrase if sound.pitch])
    assert told == pytest.approx(heard, abs=0.12)  # ln Hz: two semitones


def test_one_entry_a_mora_and_no_pitch_where_nothing_sounds():
    phrases = parse_kana("テ'ンキデ_ス、サッ'カ")
    predicted = predict(phrases)
    assert [len(phrase) for phrase in predicted] == [5, 3]
    (te, n, ki, de, su), (sa, q, ka) = predicted
    assert (su.pitch, q.pitch) == (0.0, 0.0)
    assert all(sound.pitch > 5 for sound in (te, n, ki, de, sa, ka))
    assert (n.consonant, q.consonant) == (0.0, 0.0)
    assert all(sound.consonant > 0.01 for sound in (te, ki, de, su, sa, ka))
    assert predict(()) == []


def test_an_accent_is_heard_in_the_pitch():
    (falling,), (high,) = predict(parse_kana("マ'ナマナマナ")), predict(parse_kana("マナマナマ'ナ"))
    assert falling[0].pitch > high[0].pitch + 0.1
    assert high[4].pitch > falling[4].pitch + 0.05
