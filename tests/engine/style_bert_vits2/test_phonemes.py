import re

import pytest

from engine.voices.style_bert_vits2.text.phonemes import SYLLABLES, kana_phonemes
from engine.voices.style_bert_vits2.text.reading import FrontEnd

# Kana that Open JTalk reads otherwise by itself, or with phonemes that models do not have.
_NOT_IN_LABELS = {"クヮ", "グヮ", "フュ", "ヂェ", "ヷ", "ヸ", "ヹ", "ヺ", "ヵ", "ヶ"}


def test_syllables_are_those_of_open_jtalk(front_end: FrontEnd):
    for kana, phonemes in SYLLABLES.items():
        if kana in _NOT_IN_LABELS:
            continue
        labels = front_end.labels(front_end.features("ア、" + kana))
        spoken = [re.search("-(.+?)\\+", label)[1] for label in labels][3:-1]
        plain = ["q" if p == "cl" else p.lower() if p in "AIUEO" else p for p in spoken]
        assert plain == list(phonemes), kana


@pytest.mark.parametrize(
    ("kana", "before", "phonemes"),
    [
        ("コーヒー", "_", "k o o h i i"),
        ("ー", "a", "a"),
        ("ンー", "_", "N N"),
        ("ッー", "_", "q q"),
        ("ー", "_", "-"),
        ("ーア", ",", "- a"),
        ("キャッ", "_", "ky a q"),
        ("キャァ", "_", "ky a a"),
        ("、ア漢", "_", "a"),
        ("", "_", ""),
    ],
)
def test_kana_to_phonemes(kana: str, before: str, phonemes: str):
    assert kana_phonemes(kana, before) == phonemes.split()
