"""Figures of tuning on sounds whose distance is known."""

import numpy as np
import pytest

from engine.voices.style_bert_vits2.tuning.measure import in_turns, log_mel_distance, noise_to_signal
from engine.voices.style_bert_vits2.tuning.processor import Processor, this_processor

RATE = 44_100


@pytest.fixture(scope="module")
def sound() -> np.ndarray:
    return np.random.default_rng(1).standard_normal(RATE).astype(np.float32) * np.float32(0.1)


def test_noise_to_signal_is_a_ratio_of_powers(sound):
    assert noise_to_signal(sound, sound) == 0
    assert noise_to_signal(sound, sound * np.float32(1.01)) == pytest.approx(1e-4, rel=1e-3)  # 40 dB
    assert noise_to_signal(sound, sound[:-1]) == np.inf
    assert noise_to_signal(sound * 0, sound) == np.inf
    assert noise_to_signal(sound * 0, sound * 0) == 0


def test_the_log_mel_distance_of_a_louder_sound_is_the_difference_in_decibels(sound):
    assert log_mel_distance(sound, sound, RATE) == 0
    assert log_mel_distance(sound, sound * np.float32(2), RATE) == pytest.approx(6.02, abs=0.01)
    assert log_mel_distance(sound, sound[:-1], RATE) == np.inf


def test_a_sound_that_is_shorter_than_a_spectrum_is_measured():
    short = np.random.default_rng(2).standard_normal(1500).astype(np.float32)
    assert log_mel_distance(short, short * np.float32(0.1), RATE) == pytest.approx(20, abs=0.1)


def test_the_shortest_of_turns_counts():
    times = iter([0, 5, 5, 6, 10, 12, 12, 15])  # first: 5, 2; second: 1, 3
    order = []
    taken = in_turns(lambda: order.append("a"), lambda: order.append("b"), 2, clock=lambda: next(times))
    assert taken == (2, 1)
    assert order == ["a", "b", "a", "b"]


PI = """processor	: 0
BogoMIPS	: 108.00
Features	: fp asimd evtstrm crc32 cpuid
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x0
CPU part	: 0xd08
CPU revision	: 3

Model		: Raspberry Pi 4 Model B Rev 1.4
"""
X86 = "processor : 0\nmodel name : Some CPU @ 2 GHz\nflags : fpu {} sse2 avx2 fma smep misalignsse\nprocessor : 1\nmodel name : Some CPU @ 2 GHz\n"


def test_a_processor_is_known_by_its_model_and_vector_instructions(tmp_path):
    (tmp_path / "pi").write_text(PI)
    (tmp_path / "x86").write_text(X86.format(""))
    (tmp_path / "vnni").write_text(X86.format("avx512_vnni"))
    pi, x86, vnni = (this_processor(tmp_path / name) for name in ("pi", "x86", "vnni"))
    assert (pi.model, pi.features) == ("0x41 8 0x0 0xd08", ("asimd",))
    assert (x86.model, x86.features) == ("Some CPU @ 2 GHz", ("avx2", "fma", "sse2"))
    assert len({pi.id, x86.id, vnni.id}) == 3
    assert this_processor(tmp_path / "x86").id == x86.id


def test_a_system_that_tells_nothing_has_a_processor_too(tmp_path):
    assert this_processor(tmp_path / "none").features == ()


@pytest.mark.parametrize(
    ("architecture", "features", "signed", "bits"),
    [
        ("x86_64", ("avx2",), False, 7),  # pairs of 8-bit products would overflow 16 bits
        ("x86_64", ("avx2", "avx_vnni"), False, 8),
        ("aarch64", ("asimd", "asimddp"), True, 8),
    ],
)
def test_numbers_are_those_that_the_processor_multiplies_exactly(architecture, features, signed, bits):
    numbers = Processor(architecture, "", features).numbers
    assert (numbers.signed, numbers.weight_bits) == (signed, bits)
