import math

import pytest

from engine import OPTION_RANGES, InvalidOptionError, SpeechOptions


@pytest.mark.parametrize("name", OPTION_RANGES)
def test_the_ends_of_every_range_are_allowed(name):
    allowed = OPTION_RANGES[name]
    assert SpeechOptions.of({name: allowed.low}).number(name) == allowed.low
    assert SpeechOptions.of({name: allowed.high}).number(name) == allowed.high
    assert SpeechOptions().number(name) == allowed.default


@pytest.mark.parametrize("name", OPTION_RANGES)
@pytest.mark.parametrize("wrong", ["below", "above", "text", "nan", "inf", "bool", "huge"])
def test_anything_else_is_refused_with_name_value_and_range(name, wrong):
    allowed = OPTION_RANGES[name]
    value = {
        "below": allowed.low - 1,
        "above": allowed.high + 1,
        "text": "1",
        "nan": math.nan,
        "inf": math.inf,
        "bool": True,
        "huge": 10**400,
    }[wrong]
    with pytest.raises(InvalidOptionError) as caught:
        SpeechOptions.of({name: value})
    assert name in str(caught.value)
    assert f"from {allowed.low:g} to {allowed.high:g}" in str(caught.value)


def test_unknown_options_are_named_with_the_known_ones():
    with pytest.raises(InvalidOptionError, match=r"unknown option 'sped'; known are .*speed"):
        SpeechOptions.of({"sped": 1})


def test_fractions_are_refused_where_a_whole_number_is_meant():
    with pytest.raises(InvalidOptionError, match="whole number"):
        SpeechOptions(seed=1.5)


def test_a_request_goes_over_the_defaults():
    settled = SpeechOptions(speed=2.0).over(SpeechOptions(speed=0.5, style="Happy"))
    assert settled.given() == {"speed": 2.0, "style": "Happy"}
