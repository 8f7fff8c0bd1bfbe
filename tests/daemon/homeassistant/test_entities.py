"""What Home Assistant makes of what it is told: ids, categories, and templates with real and nasty values."""

import json
import re
from dataclasses import replace

import jinja2
import pytest

from daemon import events
from daemon.homeassistant.entities import ALARM_EVENTS, ANNOUNCEMENT_EVENTS, STATES, device_id, entities
from daemon.homeassistant.facts import AlarmFact
from daemon.homeassistant.names import _NAMES, device_name
from tests.daemon.homeassistant.facts import FULL, told, with_locale

NASTY = "彼は\"はい\"と{{ 言った }}。\\ '終'\n<&>"
ENVIRONMENT = jinja2.Environment()
ENVIRONMENT.filters["to_json"] = lambda value: json.dumps(value, ensure_ascii=False)
ALL = entities(FULL)


def render(template, value_json=None, **values):
    return ENVIRONMENT.from_string(template).render(value_json=value_json, **values)


def state(component, value_json, key="value_template"):
    return render(ALL[component].keys[key], value_json)


def test_ids_are_ascii_and_do_not_depend_on_names():
    for entity in ALL.values():
        assert re.fullmatch(r"asagoe_kitchen_[A-Za-z0-9_-]+", entity.keys["unique_id"])
        assert re.fullmatch(rf"{entity.platform}\.[a-z0-9_]+", entity.keys["default_entity_id"])
    english = entities(with_locale("en"))
    assert [e.keys["unique_id"] for e in english.values()] == [e.keys["unique_id"] for e in ALL.values()]
    assert len({e.keys["unique_id"] for e in ALL.values()}) == len(ALL)


def test_two_bases_never_share_an_id():
    bases = ["asagoe/kitchen", "家/台所", "家/居間", "a.b/c", "a,b/c"]
    assert len({device_id(base) for base in bases}) == len(bases)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", device_id(base)) for base in bases)


def test_all_names_are_there_in_both_languages_and_none_repeats_the_device():
    for locale in ("ja", "en"):
        names = [e.keys["name"] for e in entities(with_locale(locale)).values()]
        assert len(set(names)) == len(names)
        assert not any(device_name(locale, "kitchen") in name for name in names)
    assert ALL["alarm_wake-up"].keys["name"] == "アラーム 平日の起床"
    assert all(japanese and english for japanese, english in _NAMES.values())


def test_categories_are_those_that_home_assistant_allows():
    for name, entity in ALL.items():
        category = entity.keys.get("entity_category")
        assert category in (None, "config", "diagnostic")
        if entity.platform in ("sensor", "binary_sensor", "event"):
            assert category != "config", name
    uncategorised = {name for name, e in ALL.items() if e.keys.get("entity_category") is None}
    assert {"stop", "snooze", "dismiss", "next_alarm", "volume", "alarm_wake-up", "announce"} <= uncategorised
    assert {name for name, e in ALL.items() if e.keys.get("enabled_by_default") is False} == {
        "queue",
        "memory",
        "synthesis_time",
        "quiet_mode",
        "version",
    }


def test_commands_are_never_retained():
    assert not any("retain" in entity.keys for entity in ALL.values())


@pytest.mark.parametrize(("said", "shown"), [("online", "online"), ("offline", "offline"), ("stopped", "offline")])
def test_availability_knows_all_three_words(said, shown):
    assert render(told().head["availability_template"], value=said) == shown


def test_texts_survive_with_quotes_braces_and_line_ends():
    last = {"last_announcement": {"text": NASTY, "outcome": "finished"}}
    assert state("last_announcement", last) == NASTY
    assert json.loads(state("last_announcement", last, "json_attributes_template"))["text"] == NASTY
    assert state("last_error", {"last_error": {"reason": NASTY}}) == NASTY
    assert json.loads(render(ALL["announce"].keys["command_template"], value=NASTY)) == {"text": NASTY}
    event = json.dumps({"event_type": "accepted", "text": NASTY})
    assert render(ALL["announcement_event"].keys["value_template"], json.loads(event), value=event) == event


def test_long_texts_are_cut_to_what_a_state_may_hold():
    assert state("last_announcement", {"last_announcement": {"text": "あ" * 300}}) == "あ" * 255


def test_what_is_not_there_is_none():
    nothing = {"next_alarm": None, "last_announcement": None, "alarm_volume": None, "alarms": {}, "vacation": None}
    for component in ("next_alarm", "last_announcement", "synthesis_time", "alarm_volume", "one_off"):
        assert state(component, nothing) == "None"
    assert state("last_error", {"last_error": None}) == "None"
    assert state("alarm_time_wake-up", nothing) == "None"
    assert state("alarm_wake-up", nothing) == "OFF"
    assert state("vacation", nothing) == "OFF"


def test_the_word_none_is_no_state_for_home_assistant_so_no_chime_is_off():
    assert ALL["chime"].keys["options"][0] == "off"
    assert state("chime", {"chime": "none"}) == "off"
    assert state("chime", {"chime": "ding"}) == "ding"


def test_every_event_is_listed_once_and_answers_to_commands_are_not():
    types = [value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)]
    assert sorted([*ANNOUNCEMENT_EVENTS, *ALARM_EVENTS, events.DONE]) == sorted(types)
    template = ALL["announcement_event"].keys["value_template"]
    for body in ({"event_type": "done", "command": "do/stop"}, {"event_type": "failed", "command": "set/volume"}):
        assert render(template, body, value=json.dumps(body)) == ""
    failed = {"event_type": "failed", "id": None, "reason": "x"}
    assert render(template, failed, value="as it came") == "as it came"


def test_every_state_of_the_service_is_an_option():
    assert set(STATES) >= {"idle", "synthesizing", "playing", "ringing", "snoozed"}


def test_what_there_is_none_of_has_no_entity():
    bare = entities(replace(FULL, styles=("Neutral",), alarms=(), entries=(), briefings=()))
    assert "style" not in bare
    assert not [name for name in bare if name.startswith(("alarm_w", "alarm_time", "schedule", "run_briefing"))]


def test_an_alarm_of_the_configuration_keeps_its_name_from_the_one_off_alarm():
    assert "one_off" in ALL
    taken = replace(FULL, alarms=(AlarmFact("one-off", "x", True),))
    assert "one_off" not in entities(taken)
