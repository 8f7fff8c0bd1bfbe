"""Alarms and the schedule by HTTP."""

import json
import time

import pytest

from tests.daemon.http.conftest import Node


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    config = {
        "timezone": "Asia/Tokyo",
        "alarms": {
            "wake-up": {"at": "06:45", "days": ["mon-fri"], "name": "起床", "text": "{{ now | time }}です。"},
            "sun": {"at": "sunrise+10m", "enabled": False},
        },
        "place": {"latitude": 35.68, "longitude": 139.77},
        "schedule": [
            {"id": "bath", "cron": "0 20 * * *", "say": "お風呂の時間です。"},
            {"id": "tea", "at": "15:00", "say": "お茶です。", "volume": 30},
        ],
    }
    with Node(tmp_path_factory.mktemp("house"), **config) as node:
        yield node


def alarm(house, name):
    return house.ask("GET", f"/api/alarms/{name}").json


def until(condition, timeout=15):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def test_the_alarms_with_all_that_a_page_shows(house):
    found = {item["id"]: item for item in house.ask("GET", "/api/alarms").json}
    wake = found["wake-up"]
    assert (wake["name"], wake["at"], wake["days"], wake["volume"]) == ("起床", ["06:45:00"], ["mon-fri"], 60)
    assert wake["next"].endswith("T06:45:00+09:00")
    assert (wake["state"], wake["made_here"], wake["enabled"]) == ("armed", False, True)
    assert (found["sun"]["at"], found["sun"]["state"], found["sun"]["next"]) == (["sunrise+10m"], "off", None)


def test_an_alarm_from_making_to_removing(house):
    definition = {"at": "07:00", "days": ["sat"], "text": "週末です。", "volume": 40}
    made = house.ask("POST", "/api/alarms", body=definition, status=201).json
    path = f"/api/alarms/{made['id']}"
    assert (made["days"], made["volume"], made["made_here"]) == (["sat"], 40, True)
    changed = house.ask("PATCH", path, body={"at": ["08:30"], "days": [], "name": "朝"}).json
    assert (changed["at"], changed["days"], changed["name"], changed["text"]) == (
        ["08:30:00"],
        [],
        "朝",
        "週末です。",
    )
    again = house.ask("PUT", path, body={"in": "2h"}).json
    assert (again["once"], again["text"]) == (True, "{{ now | time }}です。")
    house.ask("DELETE", path, status=204)
    assert house.ask("GET", path, status=404).json["detail"].startswith("there is no alarm of that id")
    assert house.ask("PUT", "/api/alarms/mine", body=definition).json["id"] == "mine"
    house.ask("DELETE", "/api/alarms/mine", status=204)


def test_switched_off_skipped_and_at_another_time(house):
    path = "/api/alarms/wake-up"
    assert house.ask("PUT", f"{path}/enabled", body={"enabled": False}).json["state"] == "off"
    assert house.ask("PUT", f"{path}/enabled", body={"enabled": True}).json["state"] == "armed"
    due = alarm(house, "wake-up")["next"]
    skipped = house.ask("PUT", f"{path}/skip", body={"skip": True}).json
    assert skipped["left_out"] == {"at": due, "reason": "skipped once"}
    assert skipped["next"] > due
    assert house.ask("PUT", f"{path}/skip", body={"skip": False}).json["next"] == due
    assert house.ask("PUT", f"{path}/time", body={"time": ["05:10", "05:00"]}).json["at"] == ["05:00:00", "05:10:00"]
    assert house.ask("PATCH", path, body={"at": ["06:45"]}).json["at"] == ["06:45:00"]


def test_an_alarm_that_rings_is_snoozed_and_dismissed(house):
    house.ask("POST", "/api/alarms/wake-up/ring")
    assert alarm(house, "wake-up")["state"] == "ringing"
    assert house.ask("POST", "/api/alarms/wake-up/snooze", body={"length": "5m"}).json == {"ids": ["wake-up"]}
    snoozed = alarm(house, "wake-up")
    assert snoozed["state"] == "snoozed"
    assert snoozed["until"]
    house.ask("POST", "/api/alarms/wake-up/dismiss")
    assert alarm(house, "wake-up")["state"] == "armed"
    until(lambda: house.ask("GET", "/api/state").json["state"] == "idle")


def test_entries_of_the_schedule(house):
    found = {item["id"]: item for item in house.ask("GET", "/api/schedule").json}
    assert (found["bath"]["cron"], found["bath"]["at"]) == ("0 20 * * *", [])
    assert (found["tea"]["text"], found["tea"]["volume"]) == ("お茶です。", 30)
    assert house.ask("PUT", "/api/schedule/tea/enabled", body={"enabled": False}).json["next"] is None
    assert house.ask("PUT", "/api/schedule/tea/enabled", body={"enabled": True}).json["next"]
    assert house.ask("PUT", "/api/schedule/tea/time", body={"time": ["15:30"]}).json["at"] == ["15:30:00"]
    assert house.ask("PUT", "/api/schedule/bath/skip", body={}).json["left_out"]["reason"] == "skipped once"
    [said] = house.ask("POST", "/api/schedule/tea/run").json["ids"]
    until(lambda: ("finished", said) in [(event.type, event.id) for event in house.events])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("DELETE", "/api/alarms/wake-up", None, 422, "in the configuration: switch it off instead"),
        ("PATCH", "/api/alarms/wake-up", {"text": "x"}, 422, "only its time can be changed here"),
        ("PUT", "/api/alarms/wake-up", {"at": "7:00"}, 422, "is in the configuration"),
        ("POST", "/api/alarms", {}, 422, "give either at"),
        ("POST", "/api/alarms", {"at": "7:00", "volumes": 3}, 422, "unknown key 'volumes'"),
        ("POST", "/api/alarms", {"at": "25:00"}, 422, "a time such as 7:30"),
        ("PATCH", "/api/alarms/nobody", {"volume": 3}, 404, "there is no alarm of that id"),
        ("PUT", "/api/alarms/nobody/enabled", {"enabled": True}, 404, "there is no alarm of that id"),
        ("PUT", "/api/alarms/bath/enabled", {"enabled": True}, 404, "there is no alarm of that id"),
        ("POST", "/api/alarms/wake-up/snooze", {}, 422, "neither rings nor is snoozed"),
        ("POST", "/api/alarms/wake-up/snooze", {"length": "5 years"}, 422, "snooze"),
        ("PUT", "/api/schedule/bath/time", {"time": ["7:00"]}, 422, "is due by cron"),
        ("PUT", "/api/schedule/wake-up/skip", {}, 404, "there is no entry of that id"),
        ("POST", "/api/schedule/nobody/run", None, 404, "there is no entry of that id"),
        ("PUT", "/api/alarms/wake-up/enabled", {"enabled": "perhaps"}, 422, "enabled"),
    ],
)
def test_what_cannot_be_is_a_problem_that_says_why(house, method, path, body, status, reason):
    answer = house.ask(method, path, body=body, status=status)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert reason in answer.json["detail"]


def test_a_definition_that_no_json_can_hold_twice(house):
    deep = json.loads("[" * 60 + "]" * 60)
    answer = house.ask("POST", "/api/alarms", body={"at": deep}, status=422)
    assert answer.headers["Content-Type"] == "application/problem+json"
