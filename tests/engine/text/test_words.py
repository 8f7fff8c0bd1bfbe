"""The word lists hold what the rules expect."""

from __future__ import annotations

import pytest

from engine.text.data import pairs
from engine.text.kana import is_reading, moras
from engine.text.rules.latin import LETTERS, curated, known, word
from engine.text.rules.units import UNITS


def test_hundreds_of_names_of_a_house_are_known() -> None:
    assert len(curated()) >= 500


@pytest.mark.parametrize("name", ["words.txt", "digit_words.txt", "letters.txt"])
def test_every_reading_can_be_spoken(name: str) -> None:
    assert [surface for surface, reading in pairs(name) if not is_reading(reading)] == []


@pytest.mark.parametrize(
    "name", ["words.txt", "digit_words.txt", "letters.txt", "units.txt", "japanese.txt", "signs.txt", "endings.txt"]
)
def test_no_word_is_listed_twice(name: str) -> None:
    surfaces = [surface for surface, _ in pairs(name)]
    assert [surface for surface in set(surfaces) if surfaces.count(surface) > 1] == []


def test_accents_of_japanese_words_lie_within_them() -> None:
    for surface, entry in pairs("japanese.txt"):
        kana, _, accent = entry.partition(":")
        assert 0 <= int(accent) <= len(moras(kana)), surface


def test_every_letter_has_a_name() -> None:
    assert "".join(LETTERS) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_units_have_names_with_their_prefixes() -> None:
    assert UNITS["kWh"] == "キロワット時"
    assert UNITS["μg"] == "マイクログラム"
    assert UNITS["hPa"] == "ヘクトパスカル"
    assert UNITS["mm2"] == "平方ミリメートル"


def test_names_are_found_in_any_case_and_joint() -> None:
    assert {known(form) for form in ("Wi-Fi", "WiFi", "wi fi", "WI-FI", "wi_fi")} == {"ワイファイ"}
    assert known("Raspberry Pi") == known("raspberrypi") == "ラズベリーパイ"


def test_short_capitals_are_not_taken_for_words() -> None:
    assert known("IT") is None
    assert known("it") == "イット"
    assert known("ON") == known("on") == "オン"


def test_unknown_words_are_read_and_unknown_capitals_spelled() -> None:
    assert word("blanket") == "ブランケット"
    assert word("XQJ") == "{XQJ|エックスキュージェー:7}"
    assert word("bcdfg") == "{bcdfg|ビーシーディーエフジー:9}"
