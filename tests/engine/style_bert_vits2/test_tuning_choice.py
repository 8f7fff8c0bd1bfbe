"""What tuning tries and takes, on figures alone."""

import math

import pytest

from engine.voices.style_bert_vits2.tuning.choose import choose, decibels, expected_snr, nested_sets, next_to_try
from engine.voices.style_bert_vits2.tuning.processor import Processor
from engine.voices.style_bert_vits2.tuning.report import Candidate, Group, Tuning, named

FLOAT = Candidate((), math.inf, 0.0, 3.0, 1.0)


def candidate(name: str, snr: float, speed: float, join: float | None = 0.0) -> Candidate:
    return Candidate((name,), snr, 0.1, 3.0 / speed, speed, join)


def group(name: str, noise: float, saved: float) -> Group:
    return Group(name, "decoder.onnx", 1, noise, saved)


@pytest.mark.parametrize(
    ("candidates", "threshold", "chosen"),
    [
        ([candidate("a", 41.7, 1.4), candidate("b", 39.0, 1.58), candidate("c", 35.8, 1.78)], 35, "c"),
        ([candidate("a", 41.7, 1.4), candidate("b", 39.0, 1.58), candidate("c", 35.8, 1.78)], 38, "b"),
        ([candidate("a", 41.7, 1.4), candidate("c", 35.0, 1.78)], 35, "c"),  # "or better"
        ([candidate("a", 34.99, 2.0)], 35, None),
        ([candidate("a", 50, 1.02)], 35, None),  # faster, but not worth it
        ([candidate("a", 50, 0.8)], 35, None),
        ([candidate("a", 36, 1.5), candidate("b", 40, 1.5)], 35, "b"),
        ([candidate("a", 40, 1.5), candidate("b", 40, 1.9, join=2e-4)], 35, "a"),  # its windows are heard
        ([candidate("a", 40, 1.9, join=None)], 35, None),
        ([candidate("a", -math.inf, 3.0)], 35, None),
        ([], 35, None),
    ],
)
def test_the_fastest_that_is_near_enough_is_taken(candidates, threshold, chosen):
    assert choose([FLOAT, *candidates], threshold).groups == ((chosen,) if chosen else ())


def test_sets_grow_by_what_saves_most_for_its_error():
    groups = [
        group("dear", 4e-4, 0.1),
        group("cheap", 1e-5, 0.1),
        group("big", 6e-5, 0.3),
        group("slower", 1e-9, -0.01),
    ]
    assert nested_sets(groups) == [("cheap",), ("big", "cheap"), ("big", "cheap", "dear")]


def test_a_group_that_changes_the_length_of_the_sound_is_in_no_set():
    assert nested_sets([group("encoder", math.inf, 0.5), group("a", 1e-5, 0.1)]) == [("a",)]


def test_powers_of_errors_add_up():
    groups = [group("a", 1e-4, 0.1), group("b", 1e-4, 0.1), group("c", 1.0, 0.1)]
    assert expected_snr(groups, ("a",)) == pytest.approx(40)
    assert expected_snr(groups, ("a", "b")) == pytest.approx(40 - 3.0103, abs=1e-3)
    assert expected_snr(groups, ()) == decibels(0.0) == math.inf


@pytest.mark.parametrize("sizes", [1, 2, 5, 17])
def test_the_largest_good_set_is_found_whatever_was_guessed(sizes):
    for border in range(sizes + 1):  # so many are good
        for guess in range(-1, sizes + 1):
            tried: dict[int, bool] = {}
            while (at := next_to_try(sizes, tried, guess)) is not None:
                assert at not in tried
                tried[at] = at < border
            assert max((at for at, good in tried.items() if good), default=-1) == border - 1
            assert len(tried) <= 2 + abs(min(max(guess, 0), sizes - 1) - (border - 1))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ((), "float32"),
        (("s0k3", "s0k7", "s1k3", "s1k7"), "stages 0,1"),
        (("s2k11",), "stage 2"),
        (("s0k3", "s0k7", "s1k7", "flow"), "stage 0 (kernel 3) + stages 0,1 (kernel 7) + flow"),
        (("post", "flow"), "flow + post"),
    ],
)
def test_sets_are_called_by_their_stages(groups, words):
    assert named(groups) == words


def tuning(**changes) -> Tuning:
    chosen = candidate("s0k3", 36.5, 1.5)
    facts = {
        "content": "c" * 64,
        "processor": Processor("x86_64", "M", ("avx2",)),
        "onnxruntime": "1.32.0",
        "asagoe": "0.1.0",
        "threshold": 35.0,
        "groups": (group("s0k3", 2e-4, 0.3), group("encoder", math.inf, 0.01)),
        "candidates": (FLOAT, chosen, candidate("flow", -math.inf, 2.0, join=None)),
        "chosen": chosen.groups,
        "graphs": {"decoder.onnx": "d" * 64},
        "made": "2026-11-30T06:45:00+00:00",
        "seconds": 12.5,
        "peak_memory": 10**9,
    }
    return Tuning(**(facts | changes))


def test_a_report_is_strict_json_and_comes_back_as_it_was():
    text = tuning().to_json()
    assert "Infinity" not in text
    assert "NaN" not in text
    back = Tuning.from_json(text)
    assert back.candidates[:2] == tuning().candidates[:2]
    assert back.groups == tuning().groups
    assert back.processor == tuning().processor
    assert back.choice.snr == 36.5
    assert back.summary == "int8, 36.5 dB, 1.50 times as fast"
    assert back.precision == "int8 in stage 0, else float32"


def test_a_report_without_a_choice_says_float32():
    assert tuning(chosen=(), graphs={}).summary == tuning(chosen=(), graphs={}).precision == "float32"


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{}", '{"groups": 1}', tuning(chosen=("nowhere",)).to_json(), tuning().to_json()[:-40]]
)
def test_what_is_no_report_is_told(text):
    with pytest.raises(ValueError):
        Tuning.from_json(text)
