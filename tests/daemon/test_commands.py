import pytest

from daemon.commands import Commands
from daemon.errors import RequestError


def test_a_plus_stands_for_one_part_that_the_handler_gets():
    heard = []
    commands = Commands()
    commands.add("do/stop", lambda text: heard.append(("stop", text)))
    commands.add("set/alarm/+/enabled", lambda text, alarm: heard.append((alarm, text)))
    commands.carry_out("do/stop", "now")
    commands.carry_out("set/alarm/wake-up/enabled", "OFF")
    assert heard == [("stop", "now"), ("wake-up", "OFF")]


@pytest.mark.parametrize("name", ["do", "do/stop/now", "set/alarm/enabled", "do/dance", ""])
def test_an_unknown_command_names_those_that_there_are(name):
    commands = Commands()
    commands.add("do/stop", lambda text: None)
    commands.add("set/alarm/+/enabled", lambda text, alarm: None)
    with pytest.raises(RequestError, match=r"there are do/stop, set/alarm/\+/enabled"):
        commands.carry_out(name, "")
