import contextlib
import time
import tracemalloc
from datetime import datetime

import pytest

from daemon.briefings.words.plain import plain
from daemon.briefings.words.template import compile_condition, compile_template
from daemon.errors import TemplateFault

DUE = datetime(2026, 12, 1, 7, 30)


def say(source, **facts):
    return compile_template(source).render({"due": DUE} | facts)


def test_a_template_sees_facts_and_filters():
    assert say("{{ due | time }}、{{ n | temperature }}です。", n=-2) == "午前7時半、マイナス2度です。"
    assert say("{% for x in xs %}{{ x }}{{ '、' if not loop.last }}{% endfor %}", xs=["A", "B"]) == "A、B"
    assert say("{{ xs | map('time') | listed }}", xs=["7:00", "8:30"]) == "午前7時と午前8時半"
    assert say("{{ a.get('b') ~ 'x' }}", a={"b": 1}) == "1x"


def test_the_lines_of_a_template_are_one_text():
    assert say("\n今日は\n  {% if true %}\n  晴れ\n  {% endif %}\nです。\n") == "今日は晴れです。"
    assert compile_template("It is\n  fine.", "en").render({}) == "It is fine."


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ x", "the template cannot be read: unexpected end"),
        ("a\n{% if %}", "in line 2"),
        ("{{ 1 | sparkle }}", "No filter named 'sparkle'"),
        ("{% include 'x' %}", "knows if, for and set"),
        ("{% macro f() %}{% endmacro %}", "knows if, for and set"),
        ("{% for x in y recursive %}{% endfor %}", "knows if, for and set"),
        ("x" * 10_001, "longer than 10,000 characters"),
    ],
)
def test_what_cannot_be_compiled_is_told_at_once(source, words):
    with pytest.raises(TemplateFault, match=words):
        compile_template(source)


@pytest.mark.parametrize("depth", [10, 99, 200, 2000])
@pytest.mark.parametrize(
    ("start", "middle", "end"),
    [
        ("{% for i in [1] %}", "x", "{% endfor %}"),
        ("{% if 1 %}", "x", "{% endif %}"),
        ("{{ 1", "", "+ 1"),
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("not ", "1", ""),
    ],
)
def test_what_is_nested_too_deeply_is_told_too(depth, start, middle, end):
    source = start * depth + middle + end * depth
    if not start.startswith("{%"):
        source = "{{ " + source.replace("{{", "") + " }}"
    for compile_it in (compile_template, lambda text: compile_condition(text.strip("{ }"))):
        with contextlib.suppress(TemplateFault):  # the only way to refuse it
            compile_it(source)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ missing }}", "the template fails: 'missing' is undefined"),
        ("a\nb{{ missing }}", "fails in line 2: 'missing' is undefined"),
        ("{{ due.nothing }}", "has no attribute 'nothing'"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ 'x' | temperature }}", "a number is expected, got 'x'"),
        ("{{ 'x' + 1 }}", "can only concatenate"),
        ("{{ due.__class__ }}", "unsafe"),
        ("{{ ''.join(['a']) }}", "unsafe"),
        ("{{ due.strftime('%Y') }}", "unsafe"),
        ("{{ '{:>9}'.format(1) }}", "unsafe"),
        ("{{ xs.append(1) }}", "unsafe"),
        ("{{ cycler('a') }}", "'cycler' is undefined"),
    ],
)
def test_what_fails_is_one_sentence(source, words):
    with pytest.raises(TemplateFault, match=words) as caught:
        say(source, xs=[])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 1000000000 }}",
        "{{ ['a'] * 1000000000 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ 10 ** 1000000 }}",
        "{{ range(1000000000) | list }}",
        "{% for i in range(1000) %}{% for j in range(1000) %}{% for k in range(1000) %}{% endfor %}{% endfor %}{% endfor %}",
        "{% set a = 'xxxxxxxxxxxxxxxx' %}" + "{% set a = a ~ a %}" * 100 + "{{ a }}",
        "{% set a = 'xxxxxxxxxxxxxxxx' %}" + "{% set a = a + a %}" * 100 + "{{ a }}",
        "{% set a = 'xxxxxxxxxxxxxxxx' %}" + "{% set a = [a, a] | join %}" * 100 + "{{ a }}",
        "{% set a = 'xxxxxxxxxxxxxxxx' %}" + "{% set a = a | replace('x', a) %}" * 100 + "{{ a }}",
        "{% set a = 3 %}" + "{% set a = a * a %}" * 100 + "{{ a }}",
        "{% for i in range(900) %}{{ due | date }}{% endfor %}",
        "{% for i in range(900) %}0123456789{% endfor %}",
        "{{ xs | map('replace', 'x', big) | join }}",
    ],
)
def test_a_template_is_bounded_in_time_and_memory(source):
    tracemalloc.start()
    started = time.monotonic()
    with pytest.raises(TemplateFault):
        say(source, xs=["x" * 3000], big="y" * 3000)
    seconds = time.monotonic() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000_000
    assert seconds < 3


@pytest.mark.parametrize("source", ["{% for i in [1] %}" * 21 + "{% endfor %}" * 21, "{{ 1" + "+ a" * 200 + " }}"])
def test_the_limits_of_pythons_compiler_are_one_sentence(source):
    with pytest.raises(TemplateFault, match="the template is nested too deeply"):
        compile_template(source)


def test_conditions_are_strict():
    cold = compile_condition("low < 3")
    assert cold.names == {"low"}
    assert cold.holds({"low": 2}) is True
    assert cold.holds({"low": 3}) is False
    with pytest.raises(TemplateFault, match="'low' is undefined"):
        cold.holds({})
    with pytest.raises(TemplateFault, match="cannot be read"):
        compile_condition("low <")
    with pytest.raises(TemplateFault, match="cannot be read"):
        compile_condition("1 }} {{ 2")
    with pytest.raises(TemplateFault, match="'x' is undefined"):
        compile_condition("x").holds({})


def test_a_condition_names_its_topics():
    condition = compile_condition('topics["home/away"] != "ON" and topics["home/door"] == "x" and topics["home/away"]')
    assert condition.topics == ("home/away", "home/door")
    assert condition.holds({"topics": {"home/away": "OFF", "home/door": "x"}}) is True


@pytest.mark.parametrize(
    ("raw", "spoken"),
    [
        ("<p>雨の<b>東京</b>&amp;大阪</p>", "雨の東京&大阪"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;残り", "残り"),
        ("<script>x</script>a<style>y</style>b<!-- c -->", "ab"),
        ("3 < 5 and 7 > 2", "3 < 5 and 7 > 2"),
        ("a\x00b\x1b[31mc\u202ed\u200be\ud800f", "ab[31mcdef"),
        ("a\tb  c", "a b c"),
        ("一行\r\n二行\u2028三行", "一行二行三行"),
        ("<" * 5000, "<" * 5000),
    ],
)
def test_text_is_cleaned_before_it_is_spoken(raw, spoken):
    started = time.monotonic()
    assert plain(raw) == spoken
    assert time.monotonic() - started < 1
