import json
import random

import pytest

from engine.voices.style_bert_vits2.text.model_input import symbol_ids, symbols_per_token
from engine.voices.style_bert_vits2.text.normalize import normalize, respell
from engine.voices.style_bert_vits2.text.phonemes import PHONEME_IDS
from engine.voices.style_bert_vits2.text.reading import FrontEnd, read

from .conftest import DATA

GOLDEN = json.loads((DATA / "text.json").read_text("utf-8"))


@pytest.mark.parametrize("row", GOLDEN, ids=[row["text"] for row in GOLDEN])
def test_text_is_read_as_models_were_trained(row: dict, front_end: FrontEnd):
    assert normalize(row["text"]) == row["normalized"]
    reading = read(row["normalized"], front_end)
    assert list(reading.phonemes) == row["phones"]
    assert list(reading.tones) == row["tones"]
    assert list(reading.word2ph) == row["word2ph"]
    assert reading.bert_text == row["bert_text"]


@pytest.mark.parametrize("row", GOLDEN, ids=[row["text"] for row in GOLDEN])
def test_ids_stand_between_blanks(row: dict, front_end: FrontEnd):
    reading = read(normalize(row["text"]), front_end)
    phonemes, tones, languages = symbol_ids(reading, add_blank=True)
    assert phonemes.tolist() == row["phone_ids"]
    assert tones.tolist() == row["tone_ids"]
    assert languages.tolist() == row["language_ids"]
    assert symbols_per_token(reading, add_blank=True) == row["word2ph_blank"]


def test_a_model_without_blanks_gets_the_bare_ids(front_end: FrontEnd):
    reading = read("はい.", front_end)
    phonemes, tones, languages = symbol_ids(reading, add_blank=False)
    assert phonemes.tolist() == [0, 37, 8, 40, 107, 0]
    assert tones.tolist() == [6, 7, 7, 6, 6, 6]
    assert languages.tolist() == [1] * 6
    assert symbols_per_token(reading, add_blank=False) == [1, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("二〇二四年", "2024年"),
        ("〇〇さん", "マルマルさん"),
        ("二三日", "二三日"),
        ("注意:熱い", "注意、熱い"),
        ("東京→大阪", "東京、大阪"),
        ("Café", "Cafe"),
        ("\ud800あ", "\ufffdあ"),
    ],
)
def test_what_is_heard_is_respelled_so_that_it_stays(text: str, spoken: str):
    assert respell(text) == spoken


def test_readings_in_the_text_are_left_to_the_front_end():
    text = "{橋|はし:2}:を{Wi-Fi|ワイファイ}。{壊れ|:"
    assert normalize(respell(text)) == "{橋|はし:2},を{Wi-Fi|ワイファイ}.壊れ,"


def test_numbers_keep_their_sound_changes(front_end: FrontEnd):
    reading = read(normalize("10分後に3.5度、1,234円"), front_end)
    assert "".join(reading.phonemes) == "_juqpuNgonisaNteNgodo,seNnihyakusaNjuuyoeN_"
    assert reading.bert_text == "十分後に三点五度,千二百三十四円"


def test_a_character_without_a_reading_is_a_short_break(front_end: FrontEnd):
    reading = read("あヷ々", front_end)
    assert list(reading.phonemes) == ["_", "a", "'", "'", "_"]
    assert not read("ヷ", front_end).has_speech
    assert not read("...", front_end).has_speech
    assert not read("", front_end).has_speech


def test_a_syllable_that_labels_write_otherwise_keeps_the_tones_around_it(front_end: FrontEnd):
    reading = read("クヮを話す", front_end)  # labels have kw, models do not
    assert reading.phonemes[:4] == ("_", "k", "w", "a")
    assert reading.tones[-5:] == read("過を話す", front_end).tones[-5:]


_POOLS = [
    [chr(code) for code in range(0x3041, 0x3097)],
    [chr(code) for code in range(0x30A1, 0x30FF)],
    list("日本語東京今日何人一二三十百千万〇々時分年月生上下行来見食飲話仝𠮷丂髙﨑"),
    [chr(code) for code in range(0x20, 0x7F)],
    list("ｱｲｳﾞｶﾞﾊﾟｯｰ０１２ＡＢｃ　！？。、・…ー〜～「」『』（）【】%℃㎡①㈱㍿½‥—―−－"),
    list("\n\t\r\x00\x07\u200b\u200d\ufeff\ud800\udc00é ü ß Ж 한 ا 😀👨‍👩‍👧゙゚か゚"),
    [chr(code) for code in range(0x4E00, 0x9FFF, 37)],
    list("ゃゅょっーんァィゥェォャュョッヮヶヵヴ"),
    [chr(code) for code in range(0xA0, 0x3000, 17)],
    [chr(code) for code in range(0xF900, 0xFFFF, 29)],
]


def test_6000_random_strings_have_consistent_readings(front_end: FrontEnd):
    chance = random.Random(20240229)
    for _ in range(6000):
        text = "".join(chance.choice(chance.choice(_POOLS)) for _ in range(chance.randint(1, 25)))
        reading = read(normalize(respell(text) if chance.random() < 0.5 else text), front_end)
        assert sum(reading.word2ph) == len(reading.phonemes) == len(reading.tones), repr(text)
        assert len(reading.word2ph) == len(reading.characters) + 2, repr(text)
        assert set(reading.phonemes) <= set(PHONEME_IDS), repr(text)
        assert all(len(character) == 1 and not character.isspace() for character in reading.characters), repr(text)
        assert sum(symbols_per_token(reading, add_blank=True)) == 2 * len(reading.phonemes) + 1
