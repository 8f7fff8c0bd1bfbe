import json
import wave

import pytest

from tests.daemon.test_cli import asagoe

CONFIG = """
mqtt: {broker: none}
timezone: Asia/Tokyo
audio: {device: "file:OUT"}
briefings:
  morning:
    sections:
      - {kind: text, text: "おはようございます。{{ due | time }}です。"}
      - {kind: date}
      - {kind: mqtt, id: room, topic: home/t, text: "{{ value }}度です。"}
      - {kind: http, url: "https://127.0.0.1:9/KEY123", text: "{{ value }}"}
      - {kind: text, id: sunday, text: 日曜日です。, when: {days: sun}}
  empty: {sections: [{kind: text, text: "{{ '' }}"}]}
"""


@pytest.fixture
def briefing(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text(CONFIG.replace("OUT", str(tmp_path / "out")), encoding="utf-8")

    def call(*arguments):
        return asagoe("briefing", *arguments, "--config", str(path), STATE_DIRECTORY=str(tmp_path / "state"))

    return call


def test_the_text_of_a_briefing_at_a_moment(briefing):
    done = briefing("morning", "--at", "2026-12-31T07:30")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "おはようございます。午前7時半です。\n今日は12月31日、木曜日です。\n"


def test_the_explanation_names_every_section_with_its_reason(briefing):
    done = briefing("morning", "--explain", "--at", "2026-12-31T07:30")
    assert done.returncode == 0
    for words in (
        "morning, Thu 2026-12-31 07:30",
        "room (mqtt)",
        "left out: no value yet of home/t",
        "127.0.0.1",
        "sunday (text)",
        "left out: only on sun",
        "今日は12月31日、木曜日です。",
    ):
        assert words in done.stdout
    assert "KEY123" not in done.stdout + done.stderr


def test_the_same_as_json(briefing):
    done = briefing("morning", "--json", "--at", "2026-12-31T07:30")
    found = json.loads(done.stdout)
    assert found["due"] == "2026-12-31T07:30:00+09:00"
    assert [part["section"] for part in found["sections"]] == ["text", "date", "room", "http", "sunday"]
    assert found["sections"][3]["source"] == "127.0.0.1"
    assert found["text"] == "おはようございます。午前7時半です。今日は12月31日、木曜日です。"
    assert "KEY123" not in done.stdout


def test_a_briefing_can_be_heard_without_the_service(briefing, tmp_path):
    done = briefing("morning", "--play", "--at", "2026-12-31")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").glob("*.wav")
    with wave.open(str(path)) as file:
        assert file.getnframes() / file.getframerate() > 3


def test_the_briefings_that_there_are(briefing):
    done = briefing()
    assert "morning" in done.stdout
    assert "text, date, room, http, sunday" in done.stdout
    assert json.loads(briefing("--json").stdout.splitlines()[1])["briefing"] == "empty"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["evening"], 1, "there is no briefing 'evening'; there are morning, empty"),
        (["morning", "--at", "25:00"], 1, "a moment such as 7:30, 2026-12-31 or 2026-12-31T07:30 is expected"),
        (["empty"], 0, "the briefing has nothing to say; --explain shows why"),
    ],
)
def test_what_cannot_be_told_is_one_sentence(briefing, arguments, code, words):
    done = briefing(*arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
