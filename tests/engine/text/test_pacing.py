"""How the beginning of a text is cut, and that a long text is read as it is asked for."""

import random
import time

import pytest

from engine.text import Sentence, TextPipeline
from engine.text import blocks as blocks_module
from engine.text.blocks import LENGTH, blocks
from engine.text.pacing import COST, OVERHEAD, RATE, SHORTEST, WHOLE, paced
from engine.text.sentences import PAUSE_CLAUSE, PAUSE_SENTENCE


def cut(*texts):
    return list(paced(Sentence(text, PAUSE_SENTENCE) for text in texts))


def test_a_long_first_sentence_is_heard_after_its_first_clause():
    first, rest = cut("今日の東京は朝から晴れますが、夕方からは雲が広がって雨になる見込みです。")
    assert (first.text, first.pause) == ("今日の東京は朝から晴れますが、", PAUSE_CLAUSE)
    assert (rest.text, rest.pause) == ("夕方からは雲が広がって雨になる見込みです。", PAUSE_SENTENCE)


@pytest.mark.parametrize(
    "text",
    [
        "洗濯が終わりましたので、取り出してください。",  # not long
        "今日の東京は朝から晴れますが夕方からは雲が広がって雨になる見込みです。",  # no comma
        "はい、今日の東京は朝から晴れますが夕方からは雲が広がって雨になる見込みです。",  # a fragment before the comma
        "今日の東京は朝から晴れますが夕方からは雲が広がって雨になる見込み、です。",  # and after it
    ],
)
def test_a_sentence_stays_whole_where_a_cut_would_cost_more_than_it_gives(text):
    assert cut(text) == [Sentence(text, PAUSE_SENTENCE)]


def test_pieces_grow_with_the_lead_and_later_sentences_stay_whole():
    clause = "今日の東京は朝から良く晴れて、"
    long = clause * 5 + "終わり。"
    pieces = cut("はい。", long, "短い文がいくつか続いてから。" * 2, "もう少し話が続いてから。" * 2, long)
    assert pieces[0].text == "はい。"
    assert pieces[1].text == clause  # 0.8 s are heard meanwhile
    assert pieces[-1] == Sentence(long, PAUSE_SENTENCE)
    assert "".join(piece.text for piece in pieces).endswith(long)


def test_a_machine_that_is_fast_enough_speaks_clauses_without_a_gap():
    clause = "今日の東京は朝から良く晴れて、"
    pieces = cut(*[clause * 5 + "終わり。"] * 3)
    heard = len(pieces[0].text) / RATE + pieces[0].pause
    ready = 0.0
    for piece in pieces[1:]:
        ready += OVERHEAD + COST * len(piece.text) / RATE
        assert ready <= heard
        heard += len(piece.text) / RATE + piece.pause


def test_nothing_is_lost_and_no_piece_is_a_fragment():
    generator = random.Random(1)
    for _ in range(500):
        texts = [
            "".join(generator.choice("あいう漢字、、") for _ in range(generator.randint(1, 90))) + "。"
            for _ in range(4)
        ]
        pieces = cut(*texts)
        assert "".join(piece.text for piece in pieces) == "".join(texts)
        assert all(len(piece.text) >= SHORTEST for piece in pieces if piece.pause == PAUSE_CLAUSE)
        assert all(len(piece.text) >= SHORTEST or piece.text in texts for piece in pieces)
        assert len(pieces) == 4 or max(map(len, texts)) > WHOLE


def test_sentences_are_read_no_further_than_they_are_asked_for():
    read = []

    def source():
        for text in ("一つ目。", "二つ目。", "三つ目。"):
            read.append(text)
            yield Sentence(text, PAUSE_SENTENCE)

    next(paced(source()))
    assert read == ["一つ目。"]


FRAGMENTS = [
    "今日は晴れです。", "12:30に集合。", "気温は25.5℃、", "「はい。」と言った。", "1. パン\n", "・牛乳\n", "2026/12/24", "😀", "\n",
    "\n\n", "3.14", "。", "！？", "…", "約3km", "（例。あ）", '"引用。"', "『本。』", "100", "円", "です。", "※注意。", "-3度", "→",
    "  ", "10", "～20分", "、", "本日休業。", "そして「次。」の", "】",
]  # fmt: skip


@pytest.mark.parametrize("length", [5, 20, 60])
def test_a_text_that_is_read_in_stretches_has_the_sentences_of_the_whole(monkeypatch, length):
    monkeypatch.setattr(blocks_module, "LENGTH", length)
    pipeline, generator, cuts = TextPipeline(), random.Random(length), 0
    for _ in range(400):
        text = "".join(generator.choice(FRAGMENTS) for _ in range(generator.randint(1, 2 * length + 50)))
        cuts += len(list(blocks(text))) - 1
        lazy, whole = list(pipeline.read(text)), list(pipeline.script(text).sentences)
        assert [sentence.text for sentence in lazy] == [sentence.text for sentence in whole], text
        assert lazy[:-1] == whole[:-1], text  # a pause after the last sentence is never heard
    assert cuts > 100  # else the test would show nothing


def test_stretches_are_the_text_and_short_texts_are_one():
    text = "今日は良い天気です。" * 100
    assert "".join(blocks(text)) == text
    assert {len(block) for block in blocks(text)} == {LENGTH, 1000 % LENGTH}
    assert list(blocks("はい。" * 10)) == ["はい。" * 10]
    assert list(blocks("")) == [""]


def test_the_first_sentence_of_a_book_takes_no_longer_than_that_of_a_page():
    pipeline = TextPipeline()
    pipeline.script("はい。")

    def seconds(text):
        begun = time.perf_counter()
        next(pipeline.read(text))
        return time.perf_counter() - begun

    page, book = "今日は12月24日、気温は25.5℃です。" * 20, "今日は12月24日、気温は25.5℃です。" * 4000
    assert min(seconds(book) for _ in range(3)) < 5 * min(seconds(page) for _ in range(3)) + 0.01
