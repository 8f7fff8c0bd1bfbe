"""`asagoe alarm` and `asagoe vacation` with a running service."""

import json
import re

import pytest

from tests.daemon.test_cli import asagoe
from tests.system.house import wait_for


@pytest.fixture
def alarm(house):
    def call(*arguments, code=0, command=("alarm",)):
        done = asagoe(*command, *arguments, "--config", str(house.service.path))
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return (done.stdout if code == 0 else done.stderr).strip()

    return call


def test_an_alarm_from_its_making_to_its_end(house, alarm):
    assert alarm("list") == "There are no alarms."
    made = alarm("add", "nap", "--at", "3:00", "--text", "起きて。", "--name", "昼寝", "--repeat-every", "2s")
    assert re.fullmatch(r"nap: next \w{3} \d{4}-\d\d-\d\d 03:00", made)
    (listed,) = [json.loads(line) for line in alarm("list", "--json").splitlines()]
    assert (listed["id"], listed["name"], listed["state"], listed["made_here"]) == ("nap", "昼寝", "armed", True)
    assert alarm("off", "nap") == "nap: off"
    assert alarm("on", "nap") == made
    assert alarm("on", "nap") == made  # nothing changes, and it is told all the same
    assert f"{made.removeprefix('nap: next ')}: skipped once" in alarm("skip")
    assert alarm("unskip", "nap") == made
    assert alarm("time", "nap", "03:10").endswith(" 03:10")
    assert alarm("ring", "nap").startswith("nap: ringing, next ")
    wait_for(lambda: house.listener.state()["state"] == "ringing", 5, "ringing")
    assert alarm("snooze", "5m").startswith("nap: snoozed until ")
    assert alarm("snooze", code=1) == "no alarm rings: there is nothing to snooze"
    assert "\tsnoozed until " in alarm("list")
    assert alarm("dismiss", "nap").endswith(" 03:10")
    assert alarm("remove", "nap") == "nap: removed"
    assert alarm("remove", "nap", code=1) == "the alarm 'nap' is not there"


def test_what_the_service_refuses_is_said_as_it_says_it(house, alarm):
    assert "a time such as 7:30" in alarm("add", "x", "--at", "26:00", code=1)
    assert alarm("add", "x", "--in", "5m", "--at", "7:00", code=1) == (
        "in stands alone; it makes an alarm for one occurrence"
    )
    assert "there is no alarm or schedule entry 'nobody'" in alarm("on", "nobody", code=1)
    assert house.listener.state()["alarms"] == {}


def test_a_vacation(house, alarm):
    assert alarm(command=("vacation",)) == "no vacation"
    assert alarm("2031-01-01..2031-01-09", command=("vacation",)) == "vacation from 2031-01-01 to 2031-01-09"
    assert alarm("ON", command=("vacation",)).endswith(" until it is switched off")
    assert alarm("OFF", command=("vacation",)) == "no vacation"
    assert alarm("soon", command=("vacation",), code=1).startswith("vacation: ON, OFF or dates such as")


def test_a_service_that_was_stopped_is_not_asked(house, alarm):
    house.service.stop()
    assert alarm("list", code=1) == "node 'kitchen' is stopped; start it with asagoe run"
