import numpy as np
import pytest

from engine.loudness import CEILING, TARGET_LUFS, even_out, limit, loudness, true_peak


def sine(frequency, rate, seconds=5.0, amplitude=1.0):
    t = np.arange(round(seconds * rate)) / rate
    return (amplitude * np.sin(2 * np.pi * frequency * t)).astype(np.float32)


@pytest.mark.parametrize("rate", [48_000, 44_100, 24_000])
def test_a_full_scale_tone_of_997_hertz_is_minus_3_01_lufs(rate):
    # The calibration of BS.1770-4: a 0 dBFS sine in one channel reads -3.01 LKFS.
    assert loudness(sine(997, rate), rate) == pytest.approx(-3.01, abs=0.03)


def test_low_frequencies_weigh_less_and_high_ones_more():
    # The K weighting: a high-pass at 38 Hz and a shelf of +4 dB.
    reference = loudness(sine(997, 48_000), 48_000)
    assert loudness(sine(40, 48_000), 48_000) < reference - 5
    assert loudness(sine(8000, 48_000), 48_000) == pytest.approx(reference + 3.3, abs=0.4)


def test_the_gate_leaves_pauses_out():
    tone = sine(997, 48_000, 4.0, 0.1)
    spaced = np.concatenate([tone, np.zeros(48_000 * 4, np.float32)])
    assert loudness(spaced, 48_000) == pytest.approx(loudness(tone, 48_000), abs=0.4)


@pytest.mark.parametrize("length", [0, 1, 10, 4800, 19_199])
def test_short_sounds_can_be_measured(length):
    samples = sine(997, 48_000)[:length]
    assert loudness(samples, 48_000) == -np.inf or -60 < loudness(samples, 48_000) < 3


@pytest.mark.parametrize("amplitude", [0.9, 0.05, 0.02])
def test_quiet_and_loud_end_at_the_same_loudness(amplitude):
    samples = even_out(sine(997, 48_000, 2.0, amplitude), 48_000)
    assert loudness(samples, 48_000) == pytest.approx(TARGET_LUFS, abs=0.05)


def test_noise_is_not_raised_to_speech():
    hiss = (1e-5 * np.random.default_rng(1).standard_normal(48_000)).astype(np.float32)
    assert np.abs(even_out(hiss, 48_000)).max() < 0.002


def test_silence_stays_silence_and_volume_zero_is_silence():
    assert not even_out(np.zeros(4800, np.float32), 48_000).any()
    assert not even_out(sine(997, 48_000, 0.5), 48_000, volume=0.0).any()


def test_true_peak_sees_between_the_samples():
    # A quarter of the sample rate, 45 degrees off: the samples reach 0.707, the wave 1.
    t = np.arange(4800)
    samples = np.sin(np.pi / 2 * t + np.pi / 4).astype(np.float32)
    assert np.abs(samples).max() == pytest.approx(0.7071, abs=1e-3)
    assert true_peak(samples) == pytest.approx(1.0, abs=0.03)


def test_the_limiter_holds_the_ceiling_and_leaves_the_rest_alone():
    samples = sine(440, 48_000, 1.0, 0.3)
    samples[20_000:20_100] *= 6
    held = limit(samples, 48_000)
    assert true_peak(held) <= CEILING * 1.02
    assert np.array_equal(held[:19_000], samples[:19_000])
    assert np.array_equal(held[21_000:], samples[21_000:])


def test_volume_scales_the_amplitude():
    loud = even_out(sine(997, 48_000, 1.0, 0.1), 48_000)
    half = even_out(sine(997, 48_000, 1.0, 0.1), 48_000, volume=0.5)
    assert np.abs(half - loud / 2).max() < 1e-6
