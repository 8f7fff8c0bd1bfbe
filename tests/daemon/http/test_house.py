"""What holds for the node, commands by name, briefings, the doctor, speakers and words, by HTTP."""

import time

import pytest

from tests.daemon.http.conftest import Node


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    config = {
        "timezone": "Asia/Tokyo",
        "speakers": {"mei": {"source": "openjtalk:mei"}, "second": {"source": "openjtalk:mei"}},
        "default_speaker": "mei",
        "briefings": {
            "morning": {
                "sections": [
                    {"kind": "text", "text": "一つ目です。とても長い一つ目です。"},
                    {"kind": "mqtt", "topic": "home/t", "text": "{{ value }}度です。"},
                    {"kind": "text", "id": "end", "text": "二つ目です。"},
                ]
            }
        },
    }
    with Node(tmp_path_factory.mktemp("house"), **config) as node:
        yield node


def until(condition, timeout=15):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def story(house, name):
    return [event.type for event in house.events if event.id == name]


def test_settings_are_changed_together(house):
    wanted = {
        "volume": 35,
        "mute": True,
        "quiet_mode": "on",
        "vacation": {"from": "2026-12-28", "until": "2027-01-03"},
    }
    changed = house.ask("PATCH", "/api/settings", body=wanted).json
    assert {name: changed[name] for name in wanted} == wanted
    assert changed["quiet"] is True
    assert house.ask("GET", "/api/settings").json == changed
    back = house.ask("PATCH", "/api/settings", body={"mute": False, "quiet_mode": "auto", "vacation": None}).json
    assert (back["volume"], back["mute"], back["quiet"], back["vacation"]) == (35, False, False, None)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"volume": 101}, "volume"),
        ({"volume": 20, "vacation": {"from": "2027-01-03", "until": "2026-12-28"}}, "it ends"),
        ({"volume": 20, "vacation": {"from": "2026-02-30"}}, "vacation"),
        ({"volume": 20, "colour": "red"}, "colour"),
    ],
)
def test_settings_that_cannot_be_change_nothing(house, body, reason):
    before = house.ask("GET", "/api/settings").json
    answer = house.ask("PATCH", "/api/settings", body=body, status=422)
    assert reason in answer.json["detail"]
    assert house.ask("GET", "/api/settings").json == before


def test_a_vacation_without_dates_begins_today(house):
    found = house.ask("PATCH", "/api/settings", body={"vacation": {}}).json["vacation"]
    assert found["until"] == "9999-12-31"
    house.ask("PATCH", "/api/settings", body={"vacation": None})


def test_any_command_of_the_table(house):
    house.ask("POST", "/api/commands", body={"command": "set/volume", "value": "50"})
    assert house.ask("GET", "/api/state").json["volume"] == 50
    name = house.ask("POST", "/api/announce", body={"text": "長い文です。" * 10, "chime": "none"}, status=202).json[
        "id"
    ]
    until(lambda: "started" in story(house, name))
    assert house.ask("POST", "/api/commands", body={"command": "do/stop"}).json == {"ids": [name]}
    until(lambda: story(house, name)[-1] == "dropped")
    answer = house.ask("POST", "/api/commands", body={"command": "do/dance"}, status=422)
    assert "there is no command 'do/dance'" in answer.json["detail"]


def test_a_briefing_is_shown_with_the_reason_for_each_section(house):
    assert house.ask("GET", "/api/briefings").json == [
        {
            "name": "morning",
            "sections": [
                {"section": "text", "kind": "text"},
                {"section": "mqtt", "kind": "mqtt"},
                {"section": "end", "kind": "text"},
            ],
        }
    ]
    before = len(house.events)
    found = house.ask("GET", "/api/briefings/morning").json
    assert found["text"] == "一つ目です。とても長い一つ目です。二つ目です。"
    assert [part["left_out_because"] for part in found["sections"]] == [None, "no value yet of home/t", None]
    assert len(house.events) == before
    assert house.ask("GET", "/api/briefings/evening", status=404).json["status"] == 404


def test_a_briefing_is_told_paused_and_gone_on_with(house):
    [name] = house.ask("POST", "/api/briefings/morning/play").json["ids"]
    until(lambda: "started" in story(house, name))
    assert house.ask("POST", "/api/briefings/pause").json == {"ids": [name]}
    until(lambda: "interrupted" in story(house, name))
    assert house.ask("POST", "/api/briefings/resume").json == {"ids": [name]}
    until(lambda: story(house, name).count("started") == 2)
    assert house.ask("POST", "/api/briefings/next_section").json == {"ids": [name]}
    until(lambda: story(house, name)[-1] == "finished")
    for action in ("pause", "resume", "next_section"):
        assert house.ask("POST", f"/api/briefings/{action}", status=422).json["detail"].startswith("no briefing is")
    house.ask("POST", "/api/briefings/evening/play", status=404)


def test_what_was_announced_is_in_the_history_with_its_sound(house):
    name = house.ask("POST", "/api/announce", body={"text": "洗濯が終わりました。", "chime": "none"}, status=202).json[
        "id"
    ]
    until(lambda: "finished" in story(house, name))
    entry = house.ask("GET", "/api/history", params={"count": 1}).json[0]
    assert (entry["id"], entry["text"], entry["outcome"], entry["origin"]) == (
        name,
        "洗濯が終わりました。",
        "finished",
        "http",
    )
    assert 1.0 < entry["seconds"] < 3.0
    assert 50 < len(entry["waveform"]) <= 200
    assert 20 < max(entry["waveform"]) <= 100
    assert 0 < entry["timings"]["first_sample_ms"] < entry["timings"]["ended_ms"]


def test_the_doctor_examines_from_within(house):
    found = house.ask("GET", "/api/doctor", timeout=120).json
    checks = {finding["check"]: finding for finding in found}
    assert {"configuration", "voices", "clock", "memory", "disk", "folders"} <= checks.keys()
    assert checks["configuration"]["level"] == "ok"
    assert {finding["level"] for finding in found} <= {"ok", "warn", "fail"}


def test_speakers_give_their_memory_back_and_load_again(house):
    def state(name):
        return next(one for one in house.ask("GET", "/api/speakers").json if one["name"] == name)

    house.ask("POST", "/api/speakers/second/load", status=204)
    assert (state("second")["state"], state("second")["default"], state("mei")["default"]) == ("ready", False, True)
    house.ask("POST", "/api/speakers/second/unload", status=204)
    house.ask("POST", "/api/speakers/second/unload", status=204)  # harmless
    assert state("second") | {"options": []} == {
        "name": "second",
        "state": "released",
        "default": False,
        "family": "openjtalk",
        "memory_mb": 0.0,
        "styles": ["Normal"],
        "options": [],
        "reason": None,
    }
    house.ask("POST", "/api/say", body={"text": "はい。", "speaker": "second"})
    assert state("second")["state"] == "ready"
    assert state("second")["memory_mb"] > 0
    for action in ("load", "unload"):
        assert "there is no speaker 'x'" in house.ask("POST", f"/api/speakers/x/{action}", status=404).json["detail"]


def test_how_a_text_is_read(house):
    found = house.ask("POST", "/api/read", body={"text": "箸を置く。"}).json
    assert found["kana"] == "ハシヲオク。"
    assert found["sentences"][0]["phrases"] == [{"kana": "ハシヲ", "accent": 1}, {"kana": "オク", "accent": 0}]
    assert house.ask("POST", "/api/read", body={"text": ""}, status=422).json["status"] == 422


def test_a_word_is_added_read_at_once_and_taken_out(house):
    word = {"surface": "謎町", "reading": "ナゾチョー", "accent": 2}
    assert house.ask("POST", "/api/dictionary", body=word).json["surface"] == "謎町"
    assert "# ours" in house.words.read_text("utf-8")
    found = house.ask("GET", "/api/dictionary").json
    assert found["configured"] is True
    assert {"surface": "謎町", "reading": "ナゾチョー", "accent": 2, "part_of_speech": "proper noun"} in found["words"]
    assert house.ask("POST", "/api/read", body={"text": "謎町。"}).json["sentences"][0]["phrases"] == [
        {"kana": "ナゾチョー", "accent": 2}
    ]
    house.ask("DELETE", "/api/dictionary", params={"surface": "謎町"}, status=204)
    assert house.ask("POST", "/api/read", body={"text": "謎町。"}).json["kana"] != "ナゾチョー。"
    house.ask("DELETE", "/api/dictionary", params={"surface": "謎町"}, status=404)
    refused = house.ask("POST", "/api/dictionary", body={"surface": "x", "reading": "漢字"}, status=422)
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert "アマチ" not in refused.json["detail"]


def test_without_a_dictionary_that_is_said(make_node):
    with make_node(dictionary=None) as node:
        assert node.ask("GET", "/api/dictionary").json == {"configured": False, "words": []}
        word = {"surface": "朝声", "reading": "アサゴエ"}
        assert (
            "no dictionary is configured" in node.ask("POST", "/api/dictionary", body=word, status=409).json["detail"]
        )
