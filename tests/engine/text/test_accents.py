"""Accent phrases: out of labels, into labels, and as kana."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text import AccentPhrase, KanaError, Mora, TextPipeline, parse_kana, write_kana
from engine.text.accents import PAUSE_COMMA, PHONEMES, reading_of
from engine.text.labels import labels_of_phrases, phrases_of_labels
from engine.text.utterances import MAX_MORAS, fits, phrases_of_sentence
from engine.voices.style_bert_vits2.text.phonemes import SYLLABLES

TEXTS = [
    "今日は、いい天気ですか?",
    "箸を置く。",
    "12月24日の最低気温は氷点下3.5度、最高気温は8度、降水確率は40%です。",
    "それは、違う、と思います、が、どうでしょうか?",
    "ピッツァとヴァイオリンとクヮルテットとフューチャー。",
    "彼は「はい。」と言った。",
    "ティーシャツ、ドゥー、フィクション、シェア、チェック、ツァーリ、ウィーン、ウェブ、ウォーク",
    "菊池さんが来ました",
    "あーーー",
    "っ",
    "ん",
    "、".join(["きょうはとてもいいてんきですね"] * 30),  # more than the counts of the format
    "ーー".join(["生麦生米生卵"] * 5),
]


@pytest.fixture(scope="module")
def pipeline():
    return TextPipeline()


@pytest.mark.parametrize("text", TEXTS)
def test_labels_become_phrases_and_the_same_labels_again(pipeline, text):
    front_end = pipeline.front_end
    labels = front_end.labels(front_end.features(text))
    assert labels
    assert labels_of_phrases(phrases_of_labels(labels), labels) == labels


def test_labels_of_phrases_alone_have_everything_but_the_parts_of_speech(pipeline):
    front_end = pipeline.front_end
    labels = front_end.labels(front_end.features("箸を、置きますか?"))

    def without_words(label):
        return label[: label.index("/B:")] + label[label.index("/E:") :]

    again = labels_of_phrases(phrases_of_labels(labels))
    assert [without_words(label) for label in again] == [without_words(label) for label in labels]
    assert "/B:02-xx_xx/C:02_xx+xx/D:xx+xx_xx/" in again[-2]


def test_an_edited_accent_is_in_the_labels_of_the_phrase_and_of_its_neighbours(pipeline):
    first, second = phrases_of_sentence("箸を置く。", pipeline.front_end)
    assert (first.kana, first.accent, second.kana) == ("ハシオ", 1, "オク")
    labels = labels_of_phrases((replace(first, accent=3), second))
    assert "/A:-2+1+3/" in labels[1]
    assert "/F:3_3#" in labels[1]
    assert "/E:3_3!" in labels[-2]
    assert "/G:3_3%" in labels[0]


def test_a_phrase_knows_where_it_is_high():
    def tones(kana):
        (phrase,) = parse_kana(kana)
        return "".join("H" if phrase.is_high(index) else "L" for index in range(len(phrase.moras)))

    assert [tones(kana) for kana in ("ア'メガ", "アメ'ガ", "アメガ'", "ア'")] == ["HLL", "LHL", "LHH", "L"]


@pytest.mark.parametrize("accent", [0, 4, -1])
def test_an_accent_outside_its_phrase_is_refused(accent):
    moras = tuple(Mora.of_kana(kana) for kana in "カタナ")
    with pytest.raises(ValueError, match=rf"accent must be from 1 to 3, the moras of カタナ; got {accent}"):
        AccentPhrase(moras, accent)


def test_every_mora_is_found_by_its_kana_and_by_its_phonemes_and_neural_voices_have_it():
    for kana, (consonant, vowel) in PHONEMES.items():
        assert Mora.of_kana(kana) == Mora.of_phonemes(consonant, vowel) == Mora(kana, consonant, vowel)
        assert kana in SYLLABLES
    assert Mora.of_phonemes("k", "U") == Mora.of_kana("ク", voiced=False) == Mora("ク", "k", "U")
    assert not Mora.of_kana("ク", voiced=False).is_voiced


@pytest.mark.parametrize(("consonant", "vowel"), [("qq", "a"), ("k", "x"), ("", ""), ("k", "N"), ("", "pau")])
def test_phonemes_that_are_no_mora_are_refused(consonant, vowel):
    with pytest.raises(ValueError, match="no mora has the phonemes"):
        Mora.of_phonemes(consonant, vowel)


def test_the_notation_says_everything_but_the_lengths_of_pauses():
    kana = "キョ'オワ、イ'イ/テ'ンキデ_スカ？"
    phrases = parse_kana(kana)
    assert [(p.kana, p.accent, p.pause, p.is_interrogative) for p in phrases] == [
        ("キョオワ", 1, PAUSE_COMMA, False),
        ("イイ", 1, None, False),
        ("テンキデスカ", 1, None, True),
    ]
    assert phrases[2].moras[4] == Mora("ス", "s", "U")
    assert write_kana(phrases) == kana


def test_other_ways_to_write_a_sound_are_read():
    assert write_kana(parse_kana("コーヒー'オ")) == "コオヒイ'オ"
    assert write_kana(parse_kana("ハ'ナヂ/ミ'カヅキオ/ヲ'")) == "ハ'ナジ/ミ'カズキオ/オ'"


@pytest.mark.parametrize(
    ("kana", "name", "arguments"),
    [
        ("アクセント", "ACCENT_NOTFOUND", {"text": "アクセント"}),
        ("'アクセント", "ACCENT_TOP", {"text": "'アクセント"}),
        ("ア'ク'セント", "ACCENT_TWICE", {"text": "ア'ク'セント"}),
        ("ひ'らがな", "UNKNOWN_TEXT", {"text": "ひ'らがな"}),
        ("カ'ナ漢字", "UNKNOWN_TEXT", {"text": "漢字"}),
        ("カ'ナ//カ'ナ", "EMPTY_PHRASE", {"position": "2"}),
        ("", "EMPTY_PHRASE", {"position": "1"}),
        ("カ'？ナ", "INTERROGATION_MARK_NOT_AT_END", {"text": "カ'？ナ"}),
        ("_ン'", "UNKNOWN_TEXT", {"text": "_ン'"}),
        ("ー'", "UNKNOWN_TEXT", {"text": "ー'"}),
        ("_'ア", "UNKNOWN_TEXT", {"text": "_'ア"}),
    ],
)
def test_what_breaks_the_notation_is_named(kana, name, arguments):
    with pytest.raises(KanaError) as error:
        parse_kana(kana)
    assert (error.value.name, dict(error.value.arguments)) == (name, arguments)


@given(st.text(alphabet="アカキャッンーシ_'/、？ヴォ", max_size=30))
def test_kana_have_phrases_or_an_error_and_what_is_written_is_read_again(text):
    try:
        phrases = parse_kana(text)
    except KanaError:
        return
    assert parse_kana(write_kana(phrases)) == phrases


def test_sentences_keep_the_words_of_their_text(pipeline):
    text = "今日は、いい天気ですか?箸を置く。"
    phrases = pipeline.accent_phrases(text)
    first, second = pipeline.sentences(phrases, text)
    assert (first.text, first.pause) == ("今日は、いい天気ですか?", 0.4)
    assert (second.text, second.pause) == ("箸を置く。", 0.0)
    assert fits(first, pipeline.front_end)
    assert write_kana(first.phrases) == "キョ'オワ、イ'イ/テ'ンキデ_スカ？"
    alone = pipeline.sentences(phrases)
    assert [s.text for s in alone] == ["キョオワ、イイテンキデスカ", "ハシオオク"]
    assert [s.phrases for s in alone] == [first.phrases, second.phrases]


def test_words_that_do_not_fit_are_not_kept(pipeline):
    phrases = pipeline.accent_phrases("箸を置く。")
    (sentence,) = pipeline.sentences(phrases, "橋を渡る。")
    assert sentence.text == "ハシオオク"


def test_an_edited_pause_is_silence_between_two_pieces_with_their_words(pipeline):
    text = "今日は、いい天気です。"
    first, *rest = pipeline.accent_phrases(text)
    pieces = pipeline.sentences((replace(first, pause=1.0), *rest), text)
    assert [(piece.text, piece.pause) for piece in pieces] == [("今日は、", 1.0), ("いい天気です。", 0.0)]


def test_pieces_are_bounded_and_nothing_is_lost(pipeline):
    phrases = parse_kana("/".join(["ナマムギ'"] * 100))
    pieces = pipeline.sentences(phrases)
    assert max(sum(len(p.moras) for p in piece.phrases) for piece in pieces) <= MAX_MORAS
    assert "".join(p.kana for piece in pieces for p in piece.phrases) == "ナマムギ" * 100
    assert len(pieces) == 4


def test_the_reading_is_the_same_with_other_accents(pipeline):
    phrases = pipeline.accent_phrases("今日は、いい天気です。")
    other = tuple(replace(phrase, accent=len(phrase.moras)) for phrase in phrases)
    assert reading_of(phrases) == reading_of(other)
    assert reading_of(phrases) != reading_of([replace(phrases[0], pause=None), *phrases[1:]])
