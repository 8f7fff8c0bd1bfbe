from __future__ import annotations

import threading

import pytest

from engine.text import Dictionary, TextPipeline, Word, describe
from engine.text.kana import default_accent, is_reading, moras, pronunciation


def accents(pipeline: TextPipeline, text: str) -> list[tuple[str, int]]:
    return [(p.kana, p.accent) for sentence in describe(text, pipeline).sentences for p in sentence.phrases]


def test_a_reading_is_given_within_the_text(pipeline: TextPipeline) -> None:
    assert pipeline.kana("{御徒町|おかちまち}で降ります") == "オカチマチデオリマス"
    assert pipeline.kana("｛御徒町｜おかちまち｝") == "オカチマチ"


def test_a_reading_may_give_the_accent(pipeline: TextPipeline) -> None:
    assert accents(pipeline, "{はし|はし:0}を")[0] == ("ハシヲ", 0)
    assert accents(pipeline, "{はし|はし:1}を")[0] == ("ハシヲ", 1)
    assert accents(pipeline, "{はし|はし:2}を")[0] == ("ハシヲ", 2)


def test_hiragana_is_spelling_and_katakana_is_sound() -> None:
    assert pronunciation("とうきゅう") == "トーキュー"
    assert pronunciation("おおさか") == "オーサカ"
    assert pronunciation("トウキュウ") == "トウキュウ"


@pytest.mark.parametrize(
    "text", ["{a|b}", "{東急|tokyu}", "{東急|とうきゅう:99}", "{|あ}", '{"a": 1}', "{東急|ーあ}", "{{ x | time }}"]
)
def test_other_braces_are_brackets(pipeline: TextPipeline, text: str) -> None:
    assert "{" not in pipeline.script(text).normalized.replace("{a|エー:1}", "").replace("{b|ビー:1}", "").replace(
        "{x|エックス:1}", ""
    )


def test_the_written_word_stays_visible_to_language_models(pipeline: TextPipeline) -> None:
    words = pipeline.front_end.features("{東横線|トーヨコセン:0}と{NTP|エヌティーピー:5}")
    assert [word["string"] for word in words] == ["東横線", "と", "エヌティーピー"]


def test_a_text_that_holds_the_placeholders_is_still_read(pipeline: TextPipeline) -> None:
    assert pipeline.kana("鵺と{東急|とうきゅう}") == "ヌエトトーキュー"
    assert pipeline.kana("鵺と鼯と{東急|とうきゅう}").endswith("トーキュー")


def test_digits_are_not_drawn_out(pipeline: TextPipeline) -> None:
    assert pipeline.kana("2.5") == "ニテンゴ"
    features = pipeline.front_end.features("2.5")
    assert all(f["mora_size"] == len(moras(f["pron"])) for f in features)


def test_an_accent_falls_within_its_phrase(pipeline: TextPipeline) -> None:
    text = "12.25、2.55、0.52、25.25キロメートル、090-2525-5252、Wi-FiのSSIDは{家|いえ:2}です"
    for kana, accent in accents(pipeline, text):
        assert 0 <= accent <= len(moras(kana)), kana


def test_moras_and_usual_accents() -> None:
    assert moras("キュージョー") == ["キュ", "ー", "ジョ", "ー"]
    assert moras("ファックス") == ["ファ", "ッ", "ク", "ス"]
    assert default_accent("ネットフリックス") == 5
    assert default_accent("ルーター") == 1
    assert is_reading("ヴァイオリン")
    assert not is_reading("ーア")
    assert not is_reading("abc")


def test_reading_says_nothing_on_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    pipeline = TextPipeline(Dictionary((Word("東急東横線", "とうきゅうとうよこせん"),)))
    for text in ("東急東横線", "", "。", "ー", "{東急|とうきゅう}", "한국어", "ヵ", "谠"):
        pipeline.kana(text)
    assert capfd.readouterr() == ("", "")


def test_describe_tells_everything(pipeline: TextPipeline) -> None:
    told = describe("12/1(火)はWi-Fi 안", pipeline)
    assert told.normalized == "12月1日火曜日はワイファイ"
    assert told.kana == "ジューニガツツイタチカヨービワワイファイ"
    assert told.rules == ("date", "known name", "script without a reading")
    assert [d.text for d in told.dropped] == ["안"]
    assert [p.kana for p in told.sentences[0].phrases][-1] == "ワイファイ"


def test_words_change_while_others_read() -> None:
    pipeline = TextPipeline()
    before = pipeline.revision
    dictionaries = [Dictionary((Word("謎町", f"{reading}まち"),)) for reading in ("あ", "い")]
    stop = threading.Event()
    heard: set[str] = set()

    def read() -> None:
        while not stop.is_set():
            heard.add(pipeline.kana("謎町です"))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for dictionary in dictionaries * 2:
        pipeline.use_dictionary(dictionary)
    stop.set()
    for reader in readers:
        reader.join()
    assert pipeline.kana("謎町です") == "イマチデス"
    assert heard <= {"ナゾマチデス", "ナゾチョーデス", "アマチデス", "イマチデス"}
    assert pipeline.revision != before
    pipeline.use_dictionary(None)
    assert pipeline.revision == before
