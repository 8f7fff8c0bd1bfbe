"""The user's guide to alarms says what is so."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from daemon import events
from daemon.agenda.agenda import Agenda
from daemon.agenda.commands import AgendaCommands
from daemon.alarms.made import made_alarm, normalised
from daemon.cli.alarm_commands import app
from daemon.commands import Commands
from daemon.config import parse_config
from daemon.config.alarms import AlarmConfig
from daemon.config.yaml import parse
from daemon.schedule.calendar import Calendar
from daemon.store import Database, Records
from tests.fakes.alarms import TOKYO
from tests.fakes.clock import FakeClock

GUIDE = (Path(__file__).parents[3] / "docs" / "alarms.md").read_text(encoding="utf-8")
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_file_at_the_top_is_valid():
    config = parse_config("timezone: Asia/Tokyo\n" + re.search(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)[1])
    assert list(config.alarms) == ["wake-up", "weekend"]


def test_every_key_is_there_and_no_other():
    rows = [line.split(" | ")[0] for line in section("Keys").splitlines() if line.startswith("| `")]
    told = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert told == {field.alias or name for name, field in AlarmConfig.model_fields.items()} | {"once", "in"}


@pytest.mark.parametrize(
    ("key", "default"),
    [("volume", 60), ("repeat_every", 20), ("max_ring", 900), ("grace", 900), ("sound", "rising")],
)
def test_defaults_are_as_told(key, default):
    assert AlarmConfig.model_fields[key].default == default
    told = re.search(rf"^\| `{key}` .*\| (.*) \|$", section("Keys"), re.MULTILINE)[1].strip("`")
    assert told in (str(default), f"{default}s", f"{default // 60 if default != 'rising' else ''}m")


def test_messages_of_the_guide_make_alarms():
    found = re.findall(r"set/alarm/(\w+) +-m '(\{.*\})'", GUIDE)
    assert len(found) == 3
    calendar = Calendar(TOKYO)
    for name, text in found:
        made_alarm(name, normalised(json.loads(text), NOW, calendar), calendar, NOW)


def test_topics_of_the_guide_are_commands():
    commands = Commands()
    agenda = Agenda(clock=FakeClock(NOW), records=Records(Database(None)), on_plan=lambda *_: None)
    AgendaCommands(agenda, None).add_to(commands)
    told = set(re.findall(r"`((?:do|set)/[\w/<>]+)`", section("By MQTT").partition("```")[0]))
    known = {name.replace("+", "<id>") for name in commands.names}
    assert told - {"set/schedule/<id>/", "set/schedule/<id>"} == {
        name for name in known if not name.startswith("set/schedule")
    }


def test_events_of_the_guide_are_those_there_are():
    lines = [json.loads(line) for line in section("Events").splitlines() if line.startswith("{")]
    kinds = {value for name, value in vars(events).items() if name.startswith("ALARM_")}
    assert {line["event_type"] for line in lines} == kinds
    assert set(re.findall(r"^\| `(alarm_\w+)`", section("Events"), re.MULTILINE)) == kinds


def test_commands_of_the_guide_are_those_there_are():
    told = set(re.findall(r"`asagoe alarm (\w+)", section("On the command line"))) | {"off"}
    assert told == {command.name for command in app.registered_commands}


def test_automations_are_yaml():
    document = parse(re.search(r"```yaml\n(automation:.*?)```", GUIDE, re.DOTALL)[1])
    assert not document.faults
    assert len(document.value["automation"]) == 4
