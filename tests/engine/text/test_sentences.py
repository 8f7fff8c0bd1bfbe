from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text import TextPipeline
from engine.text.readings import NOTATION
from engine.text.sentences import (
    MAX_CHARACTERS,
    PAUSE_CLAUSE,
    PAUSE_LINE,
    PAUSE_SENTENCE,
    split_sentences,
)


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(text)]


def test_sentences_end_at_their_marks_and_at_line_ends() -> None:
    sentences = split_sentences("おはよう。\n今日は晴れです!傘は?")
    assert [sentence.text for sentence in sentences] == ["おはよう。", "今日は晴れです!", "傘は?"]
    assert [sentence.pause for sentence in sentences] == [PAUSE_LINE, PAUSE_SENTENCE, PAUSE_SENTENCE]


@pytest.mark.parametrize(
    "text", ["3.14です", "No.5です", "v1.2.3です", "example.comです", "192.168.0.1です", "U.S.A.です"]
)
def test_a_full_stop_within_a_number_or_an_abbreviation_ends_nothing(pipeline: TextPipeline, text: str) -> None:
    assert len(pipeline.script(text).sentences) == 1


def test_an_ellipsis_ends_nothing_and_an_interrobang_ends_once(pipeline: TextPipeline) -> None:
    assert [s.text for s in pipeline.script("えっと…そうです。").sentences] == ["えっと…そうです。"]
    assert [s.text for s in pipeline.script("本当!?うそ!!").sentences] == ["本当?", "うそ!"]


def test_a_quotation_stays_with_its_frame() -> None:
    assert texts("次は「はい。」と言った。そして寝た。") == ["次は「はい。」と言った。", "そして寝た。"]


def test_list_items_are_sentences_without_their_marks(pipeline: TextPipeline) -> None:
    script = pipeline.script("買い物:\n・牛乳\n- 卵2個\n1. パン\n(2) 塩")
    assert [s.text for s in script.sentences] == ["買い物", "牛乳", "卵2個", "1、パン", "2、塩"]
    assert {s.pause for s in script.sentences[:-1]} == {PAUSE_LINE}


def test_a_long_sentence_is_cut_at_a_comma() -> None:
    first, second = split_sentences("あ" * 60 + "、" + "い" * 60 + "。")
    assert (first.text, first.pause) == ("あ" * 60 + "、", PAUSE_CLAUSE)
    assert second.text == "い" * 60 + "。"


@pytest.mark.parametrize("kept", ["25.5度", "マイナス3度", "1500キロワット", "{東横線|トーヨコセン:0}", "12月24日"])
@pytest.mark.parametrize("lead", range(75, 92, 3))
def test_a_cut_never_falls_within_a_quantity_or_a_reading(kept: str, lead: int) -> None:
    pieces = texts("漢" * lead + kept + "漢" * 80)
    assert sum(kept[-5:] in piece and kept in piece for piece in pieces) == 1


@settings(max_examples=300, deadline=None)
@given(st.text("あい漢字カナ0123456789.度、。「」 \n{}|:", max_size=400))
def test_no_piece_is_too_long_and_none_is_empty(text: str) -> None:
    for piece in texts(text):
        assert 0 < len(piece) <= MAX_CHARACTERS


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["{東急|トーキュー}", "漢字", "かな", "25.5度", "、"]), max_size=60).map("".join))
def test_no_reading_is_ever_cut(text: str) -> None:
    assert sum(len(NOTATION.findall(piece)) for piece in texts(text)) == text.count("{")


def test_nothing_of_the_text_is_lost_between_the_pieces() -> None:
    text = "これは長い文です" * 40
    assert "".join(texts(text)) == text
