from __future__ import annotations

import random
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text import Kind, TextPipeline, normalize
from engine.text.characters import fold
from engine.text.rules import RULES
from tests.engine.text.canonical import cases

TEXTS = [text for text, _, _ in cases("house_readings.tsv")]
PIECES = st.lists(
    st.one_of(
        st.sampled_from(TEXTS),
        st.text(max_size=8),
        st.text(
            "0123456789:/.-〜~+=%℃°,()「」、。 \n!?…→#@&*_'\"¥$€{}|<>×÷±①Ⅱ½²月火水日時分円kgmWhVAxX㎡ー−あのカ東",
            max_size=10,
        ),
    ),
    max_size=4,
).map("".join)


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("14:30に会議です", "14時30分に会議です"),
        ("12/1(火)", "12月1日火曜日"),
        ("気温は-3℃です", "気温はマイナス3度です"),
        ("湿度60%", "湿度60パーセント"),
        ("1,234円", "1234円"),
        ("¥1,500", "1500円"),
        ("1/2カップ", "2分の1カップ"),
        ("1/2(金)", "1月2日金曜日"),
        ("9:00〜17:45", "9時から17時45分"),
        ("No.5", "ナンバー5"),
        ("燃えるごみ(可燃)の日", "燃えるごみ、可燃の日"),
        ("Home Assistantからのお知らせ", "ホームアシスタントからのお知らせ"),
        ("USBメモリ", "USBメモリ"),
        ("室温：26℃／湿度：50％", "室温、26度、湿度、50パーセント"),
        ("【重要】停電", "重要、停電"),
        ("本当!?", "本当?"),
        ("あれ......", "あれ…"),
        ("0:30", "{0時|レイジ:1}30分"),
    ],
)
def test_normalized_text_is_natural_japanese(text: str, normalized: str) -> None:
    assert normalize(text)[0] == normalized


def test_a_katakana_word_beside_another_is_marked_as_a_word_of_its_own() -> None:
    assert normalize("Zigbeeの電池")[0] == "ジグビーの電池"
    assert normalize("Zigbeeセンサー")[0] == "{Zigbee|ジグビー:2}センサー"


def test_context_decides_between_a_fraction_and_a_date() -> None:
    assert normalize("牛乳1/2本")[0] == "牛乳2分の1本"
    assert normalize("残り1/3")[0] == "残り3分の1"
    assert normalize("1/3は休み")[0] == "1月3日は休み"
    assert normalize("5/32")[0] == "32分の5"
    assert normalize("1 1/2カップ")[0] == "1と2分の1カップ"
    assert normalize("2と1/2")[0] == "2と2分の1"


def test_context_decides_between_a_version_and_a_date() -> None:
    assert normalize("2026.12.1の予定")[0] == "2026年12月1日の予定"
    assert "年" not in normalize("Home Assistant 2026.12.1")[0]


def test_context_decides_between_a_minus_and_a_hyphen() -> None:
    assert normalize("外気-3℃")[0] == "外気マイナス3度"
    assert "マイナス" not in normalize("センサー-3が切れました")[0]
    assert "マイナス" not in normalize("A-1")[0]


@pytest.mark.parametrize(
    ("text", "dropped", "reason"),
    [
        ("안녕하세요", "안녕하세요", "script without a reading"),
        ("Приветです", "Привет", "script without a reading"),
        ("洗濯\x00が終わりました", "\x00", "control character"),
        ("\ud800です", "\ufffd", "no character"),
        ("値は⌘です", None, ""),
        ("a\u0489b", "\u0489", "combining mark"),
        ("谠です", "谠", "kanji without a reading"),
    ],
)
def test_what_has_no_reading_is_reported(pipeline: TextPipeline, text: str, dropped: str | None, reason: str) -> None:
    reported = [(entry.text, entry.reason) for entry in pipeline.script(text).dropped]
    assert reported == ([] if dropped is None else [(dropped, reason)])


def test_emoji_are_silent_and_no_loss(pipeline: TextPipeline) -> None:
    script = pipeline.script("洗濯が終わりました😊👨‍👩‍👧🇯🇵1️⃣")
    assert script.dropped == ()
    assert next(token.rule for token in script.tokens if token.kind is Kind.SILENT) == "emoji"
    assert pipeline.script("😊").sentences == ()


@pytest.mark.parametrize("text", ["", " ", "\n", "。", "……", "()", "「」", "😊🎉", "한국어", "・", "\u200b", "-", "ー"])
def test_text_without_a_reading_has_no_sentence(pipeline: TextPipeline, text: str) -> None:
    assert pipeline.script(text).sentences == ()


def test_a_script_names_the_rules_that_were_applied(pipeline: TextPipeline) -> None:
    rules = pipeline.script("12/1(火) 14:30の気温は-3℃です").rules
    assert rules == ("date", "time", "sign", "unit")


def test_tokens_tell_what_a_stretch_of_text_is(pipeline: TextPipeline) -> None:
    tokens = pipeline.script("14:30にWi-Fiが90%").tokens
    assert [(token.kind, token.text, token.spoken) for token in tokens] == [
        (Kind.TIME, "14:30", "14時30分"),
        (Kind.TEXT, "に", "に"),
        (Kind.WORD, "Wi-Fi", "ワイファイ"),
        (Kind.TEXT, "が", "が"),
        (Kind.QUANTITY, "90%", "90パーセント"),
    ]


def test_every_rule_has_a_name_and_says_what_it_is_for() -> None:
    assert len(RULES) > 80
    assert all(rule.name and rule.read.__doc__ and rule.starts for rule in RULES)


@settings(max_examples=400, deadline=None)
@given(PIECES)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    normalized, _ = normalize(text)
    assert normalize(normalized)[0] == normalized


@settings(max_examples=400, deadline=None)
@given(PIECES)
def test_every_character_is_in_a_token(text: str) -> None:
    _, tokens = normalize(text)
    assert Counter("".join(token.text for token in tokens)) == Counter(fold(text))


@settings(max_examples=300, deadline=None)
@given(PIECES)
def test_a_letter_digit_or_kana_is_never_silent_without_a_report(text: str) -> None:
    _, tokens = normalize(text)
    for token in tokens:
        if not token.spoken.strip() and token.kind in {Kind.TEXT, Kind.NUMBER, Kind.DIGITS, Kind.WORD, Kind.QUANTITY}:
            assert token.rule == "long vowel"


def _random_text(rng: random.Random) -> str:
    ranges = [(0, 0x2FFF), (0, 0x10FFFF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0x20, 0x7E), (0x1F300, 0x1FAFF)]
    return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(0, 25)))


def test_no_random_text_raises(pipeline: TextPipeline) -> None:
    rng = random.Random(20261201)
    for _ in range(10_000):
        normalize(_random_text(rng))
    for _ in range(300):
        pipeline.kana(_random_text(rng))


def _milliseconds(text: str) -> float:
    # Of the processor: other work on the machine does not count.
    best = float("inf")
    for _ in range(5):
        start = time.thread_time()
        normalize(text)
        best = min(best, time.thread_time() - start)
    return best * 1000


def test_five_thousand_characters_take_less_than_a_tenth_of_a_second() -> None:
    text = "。".join(TEXTS * 3)
    assert _milliseconds(text[:5000]) < 100


@pytest.mark.parametrize(
    "unit", ["1", "1-", "1.", "1:", "1/2/", "a", "(", "{", "{a|", "〜", "月・", "1,111", "東", "1+", "a.b."]
)
def test_the_time_grows_with_the_length_alone(unit: str) -> None:
    short, long = unit * (2000 // len(unit)), unit * (16000 // len(unit))
    assert _milliseconds(long) < 8 * 3 * _milliseconds(short) + 5
