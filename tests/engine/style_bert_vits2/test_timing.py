import itertools

import numpy as np
import pytest

from engine.voices.style_bert_vits2.timing import MAX_PAUSE, MIN_PAUSE, final_pause, phoneme_timings


def frames(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_timings_follow_each_other_and_fill_the_audio():
    #                 blank _ blank a blank . blank _ blank
    durations = frames(1, 2, 3, 10, 1, 5, 2, 4, 1)
    timings = phoneme_timings(("_", "a", ".", "_"), durations, 0.01)
    assert [t.phoneme for t in timings] == ["_", "a", ".", "_"]
    assert [round(t.duration, 6) for t in timings] == [0.06, 0.11, 0.07, 0.05]
    assert timings[-1].end == pytest.approx(durations.sum() * 0.01)
    for before, after in itertools.pairwise(timings):
        assert before.end == pytest.approx(after.start)


def test_timings_without_blanks():
    assert [t.duration for t in phoneme_timings(("_", "a", "_"), frames(1, 2, 3), 1.0)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("phonemes", "seconds"),
    [
        ("_ a . _", 0.20),
        ("_ a ! ? _", 0.40),
        ("_ a . . . . _", 0.80),
        ("_ n o . g o . _", 0.20),
        ("_ a . ' _", 0.40),
        ("_ a _", None),
        ("_ a - i _", None),
    ],
)
def test_the_pause_is_that_of_the_last_run_of_marks(phonemes: str, seconds: float | None):
    names = tuple(phonemes.split())
    durations = frames(*[10] * (2 * len(names) + 1))
    pause = final_pause(names, durations, 0.01)
    assert pause == (None if seconds is None else pytest.approx(seconds))


def test_the_pause_stays_within_bounds():
    assert final_pause(("_", "a", ".", "_"), frames(*[0] * 9), 0.01) == MIN_PAUSE
    assert final_pause(("_", "a", ".", "_"), frames(*[999] * 9), 0.01) == MAX_PAUSE
