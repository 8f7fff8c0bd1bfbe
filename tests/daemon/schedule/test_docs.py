"""The user's guide to the schedule says what is so."""

import re
from pathlib import Path

import pytest

from daemon.cli.next import show_next
from daemon.config import RuleConfig, parse_config
from daemon.config.yaml import parse

GUIDE = (Path(__file__).parents[3] / "docs" / "schedule.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `(\{.*?\})` \|", GUIDE, re.MULTILINE)


def test_there_are_examples():
    assert len(EXAMPLES) > 20


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_rule(example):
    document = parse(example)
    assert not document.faults
    RuleConfig.model_validate(document.value).rule()


def test_the_file_at_the_top_is_valid_and_comes_to_what_is_shown(tmp_path, capsys):
    text = "timezone: Asia/Tokyo\n" + re.search(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)[1]
    parse_config(text)
    path = tmp_path / "x.yaml"
    # The morning alone: the printed example leaves the others out.
    path.write_text(re.sub(r"  - \{id: (?:waste|lamps).*\n", "", text))
    assert show_next(path, 2, "2026-05-01", as_json=False) == 0
    shown = re.search(r"```\n\$ asagoe next.*?\n(.*?)```", GUIDE, re.DOTALL)[1]
    assert capsys.readouterr().out.replace("\t", " ").split() == shown.split()
