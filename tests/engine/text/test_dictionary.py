from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import DictionaryError
from engine.text import Dictionary, TextPipeline, Word, describe, load_dictionary
from engine.text.dictionary import PARTS_OF_SPEECH, parse_dictionary, with_word, without_word

FILE = """\
# Words of our house
東横線: とうよこせん
Wi-Fi: {reading: わいふぁい, accent: 0}
7:30: しちじはん
on: おん
愛犬ポチ: {reading: あいけんぽち, part of speech: given name, priority: 9}   # the dog
"""


def test_a_file_holds_surfaces_and_readings(tmp_path: Path) -> None:
    path = tmp_path / "dictionary.yaml"
    path.write_text(FILE, "utf-8")
    assert load_dictionary(path).words == (
        Word("東横線", "とうよこせん"),
        Word("Wi-Fi", "わいふぁい", 0),
        Word("7:30", "しちじはん"),
        Word("on", "おん"),
        Word("愛犬ポチ", "あいけんぽち", None, "given name", 9),
    )


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}\n", "---\n"])
def test_an_empty_file_is_an_empty_dictionary(text: str) -> None:
    assert not parse_dictionary(text)


@pytest.mark.parametrize(
    ("surface", "text", "kana"),
    [
        ("GPT-4o", "gpt-4Oです", "ヨミデス"),
        ("5G", "5Gの電波", "ヨミノデンパ"),
        ("℃", "25℃", "ニジューゴヨミ"),
        ("7:30", "7:30に起きる", "ヨミニオキル"),
        ("C++", "C++で書く", "ヨミデカク"),
        ("朝声", "朝声です", "ヨミデス"),
        ("朝声子", "朝声子です", "ヨミデス"),
        ("首都高湾岸線", "首都高湾岸線は渋滞です", "ヨミワジュータイデス"),
        ("新首都高", "新首都高を通る", "ヨミヲトール"),
        ("Ｗｉ－Ｆｉ", "wi-fiが切れた", "ヨミガキレタ"),
        ("2階の人", "2階の人です", "ヨミデス"),
        ("😊", "はい😊", "ハイヨミ"),
        ("😊👍", "はい😊👍😊", "ハイヨミ"),
        ("東京特許許可局", "東京特許許可局です", "ヨミデス"),
    ],
)
def test_any_surface_is_read_as_told(surface: str, text: str, kana: str) -> None:
    pipeline = TextPipeline(Dictionary((Word(surface, "よみ"),)))
    assert pipeline.kana(text) == kana


def test_a_word_around_one_of_the_house_leaves_that_one_alone() -> None:
    pipeline = TextPipeline(Dictionary((Word("朝声子", "あさこ"),)))
    assert pipeline.kana("朝声子が朝声と首都高で") == "アサコガアサゴエトシュトコーデ"


def test_a_word_of_letters_is_not_found_within_another() -> None:
    pipeline = TextPipeline(Dictionary((Word("on", "おん"), Word("12", "じゅうに"))))
    assert "オン" not in pipeline.kana("London")
    assert pipeline.kana("112円") == "ヒャクジューニエン"
    assert pipeline.kana("12:30") == "ジューニジサンジュップン"


def test_accent_and_part_of_speech_reach_the_front_end() -> None:
    for accent in (0, 1, 3):
        pipeline = TextPipeline(Dictionary((Word("謎駅名", "なぞえき", accent, "place"),)))
        (phrase, *_) = describe("謎駅名が", pipeline).sentences[0].phrases
        assert (phrase.kana, phrase.accent) == ("ナゾエキガ", accent)


def test_every_part_of_speech_can_be_compiled() -> None:
    words = tuple(Word(f"謎語{name[0]}型", "なぞ", None, name) for name in PARTS_OF_SPEECH)
    japanese = tuple(Word("謎語" + "一二三四五六七八"[i], "なぞ", None, name) for i, name in enumerate(PARTS_OF_SPEECH))
    assert TextPipeline(Dictionary(words + japanese)).kana("謎語三です") == "ナゾデス"


def test_a_strong_word_beats_the_usual_cut() -> None:
    assert TextPipeline(Dictionary((Word("今日は", "こんにちは"),))).kana("今日はいい天気").startswith("コンニチハ")


def test_many_words_are_compiled_at_once() -> None:
    kanji = "".join(chr(0x4E00 + i) for i in range(60))
    words = tuple(Word(f"謎{a}{b}", "なぞ") for a in kanji[:40] for b in kanji[:25])
    assert TextPipeline(Dictionary(words)).kana(words[-1].surface + "だ") == "ナゾダ"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("東急: とうきゅう\n東急: とうきゅー\n", "words.yaml:2: '東急' already stands in line 1"),
        ("Wi-Fi: a\n", "words.yaml:1: 'Wi-Fi': reading 'a' must be 1 to 40 kana"),
        ("\n\n東急:\n  reading: とうきゅう\n  akcent: 1\n", "words.yaml:3: '東急' has 'akcent'; known are accent"),
        ("東急: {reading: とう, accent: 3}\n", "words.yaml:1: '東急': accent '3' must be a whole number from 0 to 2"),
        ("東急: {reading: とう, priority: high}\n", "words.yaml:1: '東急': priority 'high' must be a whole number"),
        ("東急: {reading: とう, part of speech: verb}\n", "words.yaml:1: '東急': part of speech 'verb' is not known"),
        ("東急: {[reading]: とう}\n", "words.yaml:1: '東急' has a list or mapping as a key; known are accent"),
        ("東急: [とう]\n", "words.yaml:1: '東急' needs a reading"),
        ('"a|b": あ\n', "words.yaml:1: surface 'a|b' must have"),
        ('"": あ\n', "words.yaml:1: surface '' must have"),
        ("- 東急\n", "words.yaml:1: expected lines of the form"),
        ("東急: とう\n  x: [\n", "words.yaml:2: not YAML"),
        ("[" * 100_000, "words.yaml"),
        ("東急: \x00\n", "words.yaml:1: not YAML"),
        ("東急: とう\n京急: \x07\n", "words.yaml:2: not YAML"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(DictionaryError) as caught:
        parse_dictionary(text, "words.yaml")
    assert message in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(DictionaryError) as caught:
        parse_dictionary("a: x\nb: y\nc: し\n", "words.yaml")
    assert [line.split(":")[1] for line in str(caught.value).splitlines()] == ["1", "2"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DictionaryError, match=r"missing\.yaml: cannot be read"):
        load_dictionary(tmp_path / "missing.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes("東急: とう".encode("cp932"))
    with pytest.raises(DictionaryError, match="not UTF-8"):
        load_dictionary(path)


def test_a_word_is_added_and_changed_without_touching_the_rest() -> None:
    added = with_word(FILE, Word("7:00", "しちじ", 2))
    assert added == FILE + '"7:00": {reading: しちじ, accent: 2}\n'
    changed = with_word(FILE, Word("wi-fi", "ワイファイ"))
    assert changed == FILE.replace("Wi-Fi: {reading: わいふぁい, accent: 0}", "wi-fi: ワイファイ")
    assert parse_dictionary(with_word("", Word("no", "のー"))).words == (Word("no", "のー"),)
    assert parse_dictionary(with_word("{}\n", Word("a: b", "え"))).words == (Word("a: b", "え"),)


def test_a_word_is_removed_without_touching_the_rest() -> None:
    assert without_word(FILE, "7:30") == FILE.replace("7:30: しちじはん\n", "")
    block = "東急:\n  reading: とうきゅう\n  accent: 0\n\n# next\n京王: けいおう\n"
    assert without_word(block, "東急") == "\n# next\n京王: けいおう\n"
    with pytest.raises(DictionaryError, match="'京急' is not in the dictionary"):
        without_word(FILE, "京急")


def test_a_comment_behind_a_changed_word_stays() -> None:
    changed = with_word(FILE, Word("愛犬ポチ", "ぽち"))
    assert changed.splitlines()[-1] == "愛犬ポチ: ぽち   # the dog"
    assert changed.splitlines()[:-1] == FILE.splitlines()[:-1]


def test_a_reading_in_a_block_of_text_goes_with_its_word_alone() -> None:
    text = "東急: とうきゅう\n京急: |-\n  けいきゅう\n京王: けいおう\n"
    assert without_word(text, "京急") == "東急: とうきゅう\n京王: けいおう\n"
    assert with_word(text, Word("京急", "ケイキュー")) == "東急: とうきゅう\n京急: ケイキュー\n京王: けいおう\n"


@pytest.mark.parametrize("text", ["{東急: とうきゅう, 京急: けいきゅう}\n", "{東急: とうきゅう,\n京急: けいきゅう}\n"])
def test_what_cannot_be_changed_without_harm_to_others_is_left_alone(text: str) -> None:
    for change in (lambda: without_word(text, "京急"), lambda: with_word(text, Word("京急", "けい"))):
        with pytest.raises(DictionaryError, match="give every entry lines of its own"):
            change()


def test_every_mistake_is_there_for_programs() -> None:
    with pytest.raises(DictionaryError) as caught:
        parse_dictionary("a: x\nb: y\n", "words.yaml")
    assert [(mistake.source, mistake.line) for mistake in caught.value.mistakes] == [
        ("words.yaml", 1),
        ("words.yaml", 2),
    ]


def test_no_room_for_the_compiler_is_an_error_of_the_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    with pytest.raises(DictionaryError, match=r"cannot compile the dictionary: .*No such file"):
        TextPipeline().use_dictionary(Dictionary((Word("謎町", "なぞまち"),)))


def test_words_that_are_in_use_are_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = TextPipeline()
    pipeline.use_dictionary(Dictionary((Word("謎町", "あまち"),)))
    before = pipeline.front_end
    pipeline.use_dictionary(Dictionary((Word("謎町", "あまち"),), source="elsewhere"))
    assert pipeline.front_end is before
    pipeline.use_dictionary(None)
    assert pipeline.kana("謎町") != "アマチ"


def test_a_wrong_word_is_not_added() -> None:
    with pytest.raises(DictionaryError, match="must be 1 to 40 kana"):
        with_word(FILE, Word("東急", "tokyu"))


def test_a_dictionary_that_cannot_be_used_leaves_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = TextPipeline(Dictionary((Word("謎町", "あまち"),)))
    monkeypatch.setattr("engine.text.dictionary._COMPILE", "raise SystemExit('no')")
    with pytest.raises(DictionaryError, match="cannot compile"):
        pipeline.use_dictionary(Dictionary((Word("謎町", "いまち"),)))
    monkeypatch.undo()
    assert pipeline.kana("謎町") == "アマチ"
    assert "dictionary" in pipeline.revision
