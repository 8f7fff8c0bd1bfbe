"""Text from outside: what is left can be spoken."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest

from daemon.briefings.clean import clean, cut


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<b>首相</b>が<br>辞任", "首相が 辞任"),
        ("<p>一つ目</p><p>二つ目</p>", "一つ目 二つ目"),
        ("A &amp; B &lt;3 &#12354;&#x3042;&nbsp;C", "A & B <3 ああ C"),
        ("&amp;lt;b&amp;gt;太字&amp;lt;/b&amp;gt;", "太字"),
        ("<script>alert('x')</script>本文<style>p{}</style>", "本文"),
        ("本文<script>閉じない", "本文"),
        ("<!-- 隠し -->見出し", "見出し"),
        ('<img src=x onerror="alert(1)">見出し', "見出し"),
        ("A < B で 3>2", "A < B で 3>2"),
        ("詳しくは https://example.org/a?b=c#d まで", "詳しくは まで"),
        ("www.example.co.jp を見る", "を見る"),
        ("「https://x.example/」で公開", "で公開"),
        ("**重要** な [お知らせ](https://a.b/c) と `code`", "重要 な お知らせ と code"),
        ("# 見出し\n- 一つ\n> 引用", "見出し 一つ 引用"),
        ("2 * 3 * 4 と snake_case_name", "2 * 3 * 4 と snake_case_name"),
        ("a\u202egnp.exe\u202c b", "agnp.exe b"),
        ("ゼロ\u200b幅\u2060と\ufeffBOM\u00ad", "ゼロ幅とBOM"),
        ("\x00\x1b[31m赤\x07", "[31m赤"),
        ("行\r\n\t\u2028次", "行 次"),
        ("おめでとう🎉🎉👨\u200d👩\u200d👧🇯🇵！", "おめでとう！"),
        ("1️⃣ 番", "1 番"),
        ("\ue000外字\U000f0000", "外字"),
        ("気温25℃ 〒100 №3 ㈱山田", "気温25℃ 〒100 №3 ㈱山田"),
        ("＝＝＝＝＝＝ 見出し ――――――", "見出し"),
        ("（）「」本文【】", "本文"),
        ("全角　空白\u3000です", "全角 空白 です"),
        ("が\u3099 e\u0301", "が\u3099 e\u0301"),
        ("{{ 7 * 7 }}{% raw %}", "{{ 7 * 7 }}{% raw %}"),
        ("", ""),
        ("🎉🎉", ""),
    ],
)
def test_what_has_no_sound_goes(text, left):
    assert clean(text) == left


def test_the_result_is_one_line_without_silent_characters_whatever_comes():
    rng = random.Random(8)
    pieces = ["<", ">", "&", "&amp;", "&#x202e;", "[", "](", "**", "http://x", "あ", "é", "\u202e", "\x00", "🎉", "<p", "</",
              "<!--", "-->", "\ud800", "\U000e0041", "\n", "、", "。", "　", "&lt;script&gt;"]  # fmt: skip
    for _ in range(400):
        left = clean("".join(rng.choices(pieces, k=rng.randrange(40))), 60)
        assert len(left) <= 60
        assert left == left.strip()
        assert [c for c in left if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Cn", "So", "Zl", "Zp"}] == []


@pytest.mark.parametrize(
    "piece", ["<", "<a ", "<a<", "</", "<!", "<!--", "<![CDATA[", "[", "](", "*a", "_", "```", "&", "&#1", "((", "http:", " ", "- "]
)  # fmt: skip
def test_a_text_made_to_take_long_takes_a_moment(piece):
    started = time.process_time()
    clean(piece * 50_000)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("text", "limit", "left"),
    [
        ("短い。", 10, "短い。"),
        ("一つ目です。二つ目です。三つ目です。", 13, "一つ目です。二つ目です。"),
        ("彼は「そうです。」と言い、帰った。", 12, "彼は「そうです。」"),
        ("長い文の、途中に読点があるだけの文", 10, "長い文の"),
        ("切れ目のない長い文字列がここにある", 8, "切れ目のない長い"),
        ("あ。切れ目のない長い文字列がここにある", 12, "あ。切れ目のない長い文字"),
        ("とうきょうとっきょきょかきょく", 3, "とう"),
        ("One two. Three four five", 12, "One two."),
        ("Version 1.5 is out now", 10, "Version"),
    ],
)
def test_a_long_text_ends_with_a_sentence_or_a_pause(text, limit, left):
    assert cut(text, limit) == left
