"""Readings of accent phrases for neural voices: the words stay, the tones change."""

from dataclasses import replace

import pytest

from engine.text import TextPipeline, parse_kana
from engine.voices.style_bert_vits2.text.normalize import normalize, respell
from engine.voices.style_bert_vits2.text.phonemes import PAD
from engine.voices.style_bert_vits2.text.reading import read, read_phrases

TEXTS = [
    "今日は、いい天気ですね。",
    "いい天気ですか?",
    "コンピューターとファイルを買った!",
    "12月24日です…",
    "東京、大阪、京都",
]


@pytest.fixture(scope="module")
def pipeline():
    return TextPipeline()


def both(pipeline, text):
    sentence = pipeline.script(text).sentences[0].text
    return pipeline.accent_phrases(text), read(normalize(respell(sentence)), pipeline.front_end)


@pytest.mark.parametrize("text", TEXTS)
def test_phrases_that_were_not_edited_change_nothing(pipeline, text):
    phrases, words = both(pipeline, text)
    assert read_phrases(phrases, words) == words


def test_an_edited_accent_changes_the_tones_of_its_phrase_alone(pipeline):
    phrases, words = both(pipeline, "今日は、いい天気ですね。")
    assert (phrases[0].kana, phrases[0].accent) == ("キョオワ", 1)
    edited = read_phrases((replace(phrases[0], accent=3), *phrases[1:]), words)
    assert replace(edited, tones=words.tones) == words
    # PAD ky o o w a: ＨＬＬ becomes ＬＨＨ.
    assert words.phonemes[:6] == (PAD, "ky", "o", "o", "w", "a")
    assert words.tones[:6] == (0, 1, 1, 0, 0, 0)
    assert edited.tones[:6] == (0, 0, 0, 1, 1, 1)
    assert edited.tones[6:] == words.tones[6:]


@pytest.mark.parametrize(("text", "ends"), [("いい天気です。", "."), ("いい天気です", ""), ("いい天気ですか?", "?")])
def test_a_question_ends_with_its_mark_and_no_other_does(pipeline, text, ends):
    phrases, words = both(pipeline, text)
    asking = read_phrases((*phrases[:-1], replace(phrases[-1], is_interrogative=True)), words)
    telling = read_phrases((*phrases[:-1], replace(phrases[-1], is_interrogative=False)), words)
    assert asking.phonemes[-2:] == ("?", PAD)
    assert asking.characters[-1] == "?"
    assert telling.phonemes[-2] == ("." if ends in ("?", ".") else words.phonemes[-2])
    for reading in (asking, telling):
        assert sum(reading.word2ph) == len(reading.phonemes) == len(reading.tones)
        assert len(reading.word2ph) == len(reading.characters) + 2


def test_without_words_bert_sees_the_katakana():
    reading = read_phrases(parse_kana("キョ'オワ、イ'イ/テ'ンキデ_スカ？"))
    assert reading.bert_text == "キョオワ,イイテンキデスカ?"
    assert " ".join(reading.phonemes) == f"{PAD} ky o o w a , i i t e N k i d e s u k a ? {PAD}"
    assert reading.tones == (0, *(1, 1, 0, 0, 0), 0, *(1, 0), *(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0), 0, 0)
    assert sum(reading.word2ph) == len(reading.phonemes)
    assert len(reading.word2ph) == len(reading.characters) + 2
