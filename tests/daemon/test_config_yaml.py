import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.config.yaml import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7:30", "7:30"),
        ("07:30", "07:30"),
        ("17:30:00", "17:30:00"),
        ("24:00", "24:00"),
        ("on", "on"),
        ("no", "no"),
        ("yes", "yes"),
        ("NO", "NO"),
        ("2026-12-01", "2026-12-01"),
        ("010", "010"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("=", "="),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("2.5", 2.5),
        ("'12'", "12"),
        ('"true"', "true"),
        ("asagoe 朝声", "asagoe 朝声"),
    ],
)
def test_values_are_what_they_look_like(text, value):
    document = parse(f"key: {text}\n")
    assert document.faults == []
    assert document.value == {"key": value}
    assert type(document.value["key"]) is type(value)


@pytest.mark.parametrize("key", ["on", "off", "yes", "no", "7:30", "12"])
def test_keys_are_text(key):
    assert parse(f"{key}: 1").value == {key: 1}


def test_repeated_keys_are_faults_with_both_lines():
    document = parse("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert [(f.mark.line, f.path) for f in document.faults] == [(4, ("b", "c")), (5, ("a",))]
    assert "already stands on line 1" in document.faults[1].message


def test_places_are_kept_for_keys_and_items():
    document = parse("a:\n  - x\n  - {b: 1}\n")
    assert document.mark(("a", 1, "b")).line == 3
    assert document.mark(("a", 0)).line == 2
    assert document.mark(("a", 7, "unknown")).line == 1


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, 2",
        "a: b: c",
        "\tkey: 1",
        "a: 'x",
        "{",
        "a: !!python/object:os.system x",
        "a: !foo x",
        "? [a]\n: 1",
        "a: \x00",
    ],
)
def test_what_is_no_yaml_is_a_fault_with_a_line(text):
    document = parse(text)
    assert len(document.faults) == 1
    assert document.faults[0].mark.line >= 1


def test_an_alias_that_contains_itself_and_one_that_multiplies_end():
    assert "contains itself" in parse("a: &x [*x]").faults[0].message
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"{c}: &{c} [{','.join(['*' + p] * 9)}]" for p, c in zip("abcdefg", "bcdefgh")
    )
    assert any("aliases of aliases" in fault.message for fault in parse(bomb).faults)


def test_deep_nesting_is_a_fault():
    assert parse("[" * 20_000).faults


@given(st.text(max_size=200))
def test_no_text_raises(text):
    parse(text)
