import json

import pytest

from daemon.cli import alarm as command
from daemon.cli.alarm import definition_of, lines_of_change
from daemon.cli.node import Message, Node, NodeError
from tests.daemon.test_cli import asagoe


def item(at="2026-12-01T06:30:00+09:00", *, enabled=True, left_out=None):
    return {"enabled": enabled, "next": at, "left_out": left_out, "name": "", "state": "armed", "made_here": True}


def house(*, ringing=(), snoozed=None, schedule=None, vacation=None, **alarms):
    return {
        "alarms": alarms,
        "schedule": schedule or {},
        "ringing": list(ringing),
        "snoozed": snoozed or {},
        "vacation": vacation,
        "timezone": "Asia/Tokyo",
    }


def test_options_make_the_object_that_the_service_takes():
    keys = {"at": ["6:30"], "days": ["mon-fri", "not holidays"], "volume": 70, "text": None, "once": None}
    assert definition_of(keys) == {"at": "6:30", "days": ["mon-fri", "not holidays"], "volume": 70}
    both = {"fade_in": "30s", "fade_from": 5, "snooze": "5m", "snooze_count": 3, "then": "morning"}
    assert definition_of(both) == {
        "fade_in": {"length": "30s", "begin": 5},
        "snooze": {"length": "5m", "count": 3},
        "then": {"briefing": "morning"},
    }
    assert definition_of({"fade_in": "30s", "snooze_count": 0}) == {"fade_in": "30s", "snooze": {"count": 0}}


def test_fade_from_alone_still_needs_a_length():
    done = asagoe("alarm", "add", "nap", "--in", "5m", "--fade-from", "5")
    assert done.returncode == 1
    assert done.stderr.strip() == "--fade-from needs --fade-in, how long the volume rises"


@pytest.mark.parametrize(
    ("before", "after", "asked", "lines"),
    [
        (house(), house(nap=item()), "nap", ["nap: next Tue 2026-12-01 06:30"]),
        (house(nap=item()), house(), "nap", ["nap: removed"]),
        (house(nap=item()), house(nap=item()), "nap", ["nap: next Tue 2026-12-01 06:30"]),
        (house(nap=item()), house(nap=item(None, enabled=False)), "nap", ["nap: off"]),
        (house(nap=item()), house(nap=item()), None, ["nothing changed"]),
        (house(nap=item()), house(nap=item(), ringing=["siren"]), None, ["siren: ringing"]),
        (house(nap=item(), ringing=["siren"]), house(nap=item()), None, ["siren: no longer ringing"]),
        (
            house(nap=item(), ringing=["nap"]),
            house(nap=item(), snoozed={"nap": "2026-12-01T06:39:07+09:00"}),
            None,
            ["nap: snoozed until Tue 2026-12-01 06:39:07, next Tue 2026-12-01 06:30"],
        ),
        (
            house(schedule={"bath": item()}),
            house(
                schedule={
                    "bath": item(
                        "2026-12-02T06:30:00+09:00",
                        left_out={"at": "2026-12-01T06:30:00+09:00", "reason": "skipped once"},
                    )
                }
            ),
            None,
            ["bath: next Wed 2026-12-02 06:30, not Tue 2026-12-01 06:30: skipped once"],
        ),
    ],
)
def test_a_change_is_told_by_what_is_now(before, after, asked, lines):
    assert lines_of_change(before, after, asked) == lines


class FakeNode(Node):
    """A node that publishes what a test wants, at the start and after a command."""

    def __init__(self, at_first, answers):
        self.coming, self.answers, self.published = list(at_first), answers, []

    name = "kitchen"

    def publish(self, name, payload):
        self.published.append((name, payload))
        given = payload
        if payload.startswith('{"value"'):
            given = json.loads(payload)["id"]
        self.coming += [Message(m.name, {**m.body, "id": given if m.name == "event" else None}) for m in self.answers]

    def wait(self, timeout):
        return self.coming.pop(0) if self.coming else None


def at_first(state="state"):
    return [Message("availability", "online"), Message("state", {"is": state})]


def test_a_refusal_is_an_error_with_its_reason(monkeypatch):
    monkeypatch.setattr("daemon.cli.node._DONE", "done")
    refusal = Message("event", {"event_type": "failed", "command": "do/snooze", "reason": "no alarm rings"})
    with pytest.raises(NodeError, match="no alarm rings"):
        FakeNode(at_first(), [refusal]).ask("do/snooze")


def test_the_answer_is_the_state_after_the_acknowledgement(monkeypatch):
    monkeypatch.setattr("daemon.cli.node._DONE", "done")
    done = Message("event", {"event_type": "done", "command": "do/snooze"})
    other = Message("event", {"event_type": "failed", "command": "do/stop", "reason": "another's"})
    node = FakeNode(at_first(), [other, Message("state", {"is": "of before"}), done, Message("state", {"is": "new"})])
    assert node.ask("do/snooze", "5m")["is"] == "new"
    assert FakeNode(at_first("the same"), [done]).ask("do/snooze") == {"is": "the same"}


def test_a_service_that_does_not_answer_is_said(monkeypatch):
    monkeypatch.setattr("daemon.cli.node._DONE", "done")
    with pytest.raises(NodeError, match="no answer from node 'kitchen'"):
        FakeNode(at_first(), []).ask("do/snooze")
    with pytest.raises(NodeError, match="no answer from node 'kitchen'"):
        FakeNode([], []).state()


def test_a_node_that_is_stopped_is_not_asked():
    node = FakeNode([Message("state", {}), Message("availability", "stopped")], [])
    with pytest.raises(NodeError, match="node 'kitchen' is stopped; start it with asagoe run"):
        node.ask("do/snooze")
    assert node.published == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["alarm", "on", "a/b"], "an id of letters, digits, - and _ is expected, got 'a/b'"),
        (["alarm", "remove", "a#"], "an id of letters"),
        (["alarm", "list", "--node", "all"], "--node: name one node"),
        (["vacation", "ON"], "no broker answers at 127.0.0.1:1"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(arguments, words, tmp_path):
    path = tmp_path / "house.yaml"
    path.write_text("mqtt: {url: 'mqtt://127.0.0.1:1'}\n")
    done = asagoe(*arguments, "--config", str(path))
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_table_says_what_each_alarm_does(capsys):
    state = house(
        nap=item() | {"name": "昼寝"},
        off=item(None, enabled=False) | {"state": "off", "made_here": False},
        vacation={"from": "2026-12-01", "until": "9999-12-31"},
        snoozed={"nap": "2026-12-01T06:39:00+09:00"},
    )
    command._print_table("kitchen", state)
    assert capsys.readouterr().out.splitlines() == [
        "vacation from 2026-12-01 until it is switched off",
        "nap\t昼寝\ton\tsnoozed until Tue 2026-12-01 06:39\tTue 2026-12-01 06:30\tmade at run time",
        "off\t\toff\toff\t–",
    ]
