import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.sentences import MAX_CHARACTERS, split_sentences


def texts(text):
    return [sentence.text for sentence in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("はい。そうです。", ["はい。", "そうです。"]),
        ("本当!?すごい！", ["本当!?", "すごい！"]),
        ("えっと…そうです。", ["えっと…そうです。"]),
        ("一行目\n二行目", ["一行目", "二行目"]),
        ("次は「はい。」と言った。", ["次は「はい。」と言った。"]),
        ("「おはよう。」「元気？」", ["「おはよう。」", "「元気？」"]),
        ("はい。……。次。", ["はい。……。", "次。"]),
        ("3.5度です。", ["3.5度です。"]),
        ("", []),
        ("。、！", []),
    ],
)
def test_where_sentences_end(text, expected):
    assert texts(text) == expected


def test_a_line_end_is_a_longer_pause_than_a_full_stop():
    line, stop, _ = split_sentences("一\n二。三")
    assert line.pause > stop.pause > 0


@pytest.mark.parametrize(
    "text",
    [
        "とても" * 500,
        "漢字" * 500,
        "あ" * 5000,
        "、".join(["今日は雨です"] * 300),
        "「" + "あ" * 1000 + "。" * 3,
        "a" * 2000,
    ],
)
def test_no_piece_is_longer_than_the_cap_and_none_is_lost(text):
    pieces = texts(text)
    assert max(len(piece) for piece in pieces) <= MAX_CHARACTERS
    assert "".join(pieces) == text


def test_a_long_sentence_is_cut_at_its_commas():
    pieces = texts("、".join(["今日はとても良い天気でした"] * 12) + "。")
    assert len(pieces) > 1
    assert all(piece.endswith("、") for piece in pieces[:-1])


@given(st.text(alphabet="あ漢a1。、！？\n「」… .", max_size=300))
def test_every_piece_can_be_read(text):
    for sentence in split_sentences(text):
        assert sentence.text.strip()
        assert any(character in "あ漢a1" for character in sentence.text)
        assert len(sentence.text) <= MAX_CHARACTERS
