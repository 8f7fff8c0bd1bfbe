"""Texts of a house and how they are read. The tables hold right Japanese, not what the program happens to say."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.text import TextPipeline
from tests.engine.text.canonical import canonical, cases

HANDED = cases("handed_readings.tsv")
HOUSE = cases("house_readings.tsv")


@pytest.mark.parametrize(("text", "accepted", "group"), HANDED, ids=[case[0] for case in HANDED])
def test_handed_text_is_read_as_accepted(pipeline: TextPipeline, text: str, accepted: list[str], group: str) -> None:
    assert canonical(pipeline.kana(text)) in {canonical(reading) for reading in accepted}


@pytest.mark.parametrize(("text", "accepted", "group"), HOUSE, ids=[case[0] for case in HOUSE])
def test_text_of_a_house_is_read_as_accepted(
    pipeline: TextPipeline, text: str, accepted: list[str], group: str
) -> None:
    assert canonical(pipeline.kana(text)) in {canonical(reading) for reading in accepted}


def test_the_table_holds_hundreds_of_texts_in_every_group() -> None:
    groups = Counter(group for _, _, group in HOUSE)
    assert set(groups) == {group for _, _, group in HANDED} | {"money"}
    assert sum(groups.values()) >= 300
    assert len({text for text, _, _ in HOUSE}) == len(HOUSE)
