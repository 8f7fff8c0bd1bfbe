"""What people choose at run time: validated, told, kept over restarts, given back."""

from datetime import timedelta

import pytest

from daemon.commands import Commands
from daemon.config import parse_config
from daemon.errors import RequestError
from daemon.preferences import Preferences
from daemon.store import Database, Records

CONFIG = """
speakers: {mei: {source: "openjtalk:mei"}, f1: {source: "openjtalk:mei", style: Sad}}
announcements: {defaults: {chime: ding}}
"""


class Desk:
    def __init__(self, records=None, text=CONFIG):
        self.records = records or Records(Database(None))
        self.config = parse_config(text)
        self.changes = 0
        self.preferences = Preferences(
            records=self.records,
            config=lambda: self.config,
            styles=lambda speaker: {"f1": ("Neutral", "Happy", "Sad")}.get(speaker, ("Neutral",)),
            devices=lambda: ["HDMI: 0"],
            on_change=self.changed,
        )
        self.commands = Commands()
        self.preferences.add_to(self.commands)

    def changed(self):
        self.changes += 1

    def ask(self, name, text):
        self.commands.carry_out(f"set/{name}", text)


def test_without_a_choice_the_configuration_holds():
    desk = Desk()
    assert desk.preferences.snapshot() == {
        "speaker": "mei",
        "style": "Neutral",
        "chime": "ding",
        "device": "default",
        "alarm_volume": None,
        "snooze_minutes": None,
    }
    assert desk.preferences.over(desk.config) is desk.config


def test_choices_hold_are_told_and_survive_a_restart():
    desk = Desk()
    chosen = {"speaker": "f1", "style": "Happy", "chime": "rising", "device": "HDMI: 0"}
    for name, value in chosen.items():
        desk.ask(name, value)
    desk.ask("alarm_volume", "70.0")
    desk.ask("snooze_minutes", "5")
    desk.ask("snooze_minutes", "5")
    assert desk.changes == 6  # the last was no change
    again = Desk(desk.records)
    assert again.preferences.snapshot() == chosen | {"alarm_volume": 70, "snooze_minutes": 5}
    assert again.preferences.snooze == timedelta(minutes=5)
    config = again.preferences.over(again.config)
    assert (config.speaker_name, config.announcements.defaults.chime) == ("f1", "rising")
    for name in (*chosen, "alarm_volume", "snooze_minutes"):
        again.ask(name, "")
    assert again.preferences.snapshot() == Desk().preferences.snapshot()
    assert again.records.setting("preferences") is None


@pytest.mark.parametrize("word", ["none", "off"])
def test_no_chime_is_a_choice_of_its_own(word):
    desk = Desk()
    desk.ask("chime", word)
    assert desk.preferences.snapshot()["chime"] == "none"
    assert desk.preferences.over(desk.config).announcements.defaults.chime == "none"


def test_a_style_belongs_to_its_speaker():
    desk = Desk()
    desk.ask("speaker", "f1")
    assert (desk.preferences.style, desk.preferences.shown_style) == (None, "Sad")
    desk.ask("style", "Happy")
    desk.ask("speaker", "mei")
    assert desk.preferences.style is None
    desk.ask("speaker", "f1")
    assert desk.preferences.style == "Happy"


def test_a_choice_that_the_configuration_no_longer_has_is_none():
    desk = Desk()
    for name, value in {"speaker": "f1", "style": "Happy"}.items():
        desk.ask(name, value)
    desk.config = parse_config('speakers: {mei: {source: "openjtalk:mei"}}')
    assert desk.preferences.snapshot()["speaker"] == "mei"
    assert desk.preferences.style is None
    assert desk.preferences.over(desk.config).speaker_name == "mei"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("speaker", "x", "one of mei, f1"),
        ("style", "Angry", "one of Neutral"),
        ("chime", "/etc/passwd", "one of none, "),
        ("device", "file:/tmp", "one of default, HDMI: 0"),
        ("device", "null", "one of default, HDMI: 0"),
        ("alarm_volume", "0", "from 1 to 100"),
        ("alarm_volume", "101", "from 0 to 100"),
        ("snooze_minutes", "0", "from 1 to 180"),
        ("snooze_minutes", "181", "from 1 to 180"),
        ("snooze_minutes", "1.5", "from 1 to 180"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(name, text, said):
    desk = Desk()
    with pytest.raises(RequestError, match=said):
        desk.ask(name, text)
    assert desk.changes == 0


@pytest.mark.parametrize(
    "kept", [7, ["x"], {"speaker": 3, "alarm_volume": True, "snooze_minutes": 500}, {"style": None}]
)
def test_what_is_kept_and_cannot_be_understood_was_not_chosen(kept):
    records = Records(Database(None))
    records.set("preferences", kept)
    assert Desk(records).preferences.snapshot() == Desk().preferences.snapshot()
