import json
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

import pytest
from rich.console import Console

from daemon.agenda.agenda import Agenda
from daemon.cli import next as command
from daemon.cli.next import entries_now, lines_of, show_next
from daemon.config import parse_config
from daemon.schedule.plan import Exceptions, Vacation
from daemon.store import Database, Records
from tests.fakes.clock import FakeClock

HOUSE = """
timezone: Asia/Tokyo
holidays: {added: {08-13..08-15: お盆}}
schedule:
  - {id: wake, at: "6:45", days: workdays, say: "おはよう[1]"}
  - {id: waste, at: "7:30", days: 第2・第4土曜, say: ごみの日です}
  - {id: old, at: "6:45", days: 2020-01-01, say: 昔}
  - {id: off, at: "5:00", say: しずか, enabled: false}
"""


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """The file of what the service keeps; it is not there."""
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    return tmp_path / "state" / "asagoe.db"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "house.yaml"
    path.write_text(HOUSE)
    return path


def rows(file, capsys, count, start):
    assert show_next(file, count, start, as_json=True) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [(row["at"][5:16], row["id"], row["holiday"], row["reason"], row["times"]) for row in found]


def test_what_comes_and_what_is_left_out_in_order(file, capsys):
    assert rows(file, capsys, 3, "2026-05-01") == [
        ("05-01T05:00", "off", None, "disabled", 1),
        ("05-01T06:45", "wake", None, None, 1),
        ("05-04T06:45", "wake", "みどりの日", "holiday: みどりの日", 1),
        ("05-05T06:45", "wake", "こどもの日", "holiday: こどもの日", 1),
        ("05-06T06:45", "wake", "振替休日", "holiday: 振替休日", 1),
        ("05-07T06:45", "wake", None, None, 1),
        ("05-08T06:45", "wake", None, None, 1),
    ]


def test_days_that_one_holiday_leaves_out_are_one_line(file, capsys):
    assert rows(file, capsys, 2, "2026-08-12T12:00") == [
        ("08-13T05:00", "off", "お盆", "disabled", 1),
        ("08-13T06:45", "wake", "お盆", "holiday: お盆", 2),
        ("08-17T06:45", "wake", None, None, 1),
        ("08-18T06:45", "wake", None, None, 1),
    ]


@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("2026-05-07", "05-07T06:45"),
        ("2026-05-07T06:45", "05-07T06:45"),
        ("2026-05-07 06:45:01", "05-08T06:45"),
        ("2026-05-06T21:45:00Z", "05-07T06:45"),
        ("2026-05-06T21:45:01+00:00", "05-08T06:45"),
    ],
)
def test_from_is_local_time_and_included(file, capsys, start, first):
    assert [row for row in rows(file, capsys, 1, start) if row[1] == "wake"][-1][0] == first


@pytest.mark.parametrize("start", ["tomorrow", "", "25:00", "2026-02-29", "9999-12-31", "0001-01-01"])
def test_a_time_that_cannot_be_is_one_sentence(file, capsys, start):
    assert show_next(file, 1, start, as_json=False) == 1
    assert capsys.readouterr().err == (
        f"--from wants a date or a time such as 2026-12-24 or 2026-12-24T06:45, got {start!r}\n"
    )


def test_in_a_pipe_it_is_plain_lines(file, capsys):
    assert show_next(file, 2, "2026-05-08", as_json=False) == 0
    assert capsys.readouterr().out.splitlines() == [
        "old is never due again.",
        "Fri 2026-05-08 05:00\t5 h 0 min\toff\tしずか\tnot: disabled",
        "Fri 2026-05-08 06:45\t6 h 45 min\twake\tおはよう[1]",
        "Sat 2026-05-09 07:30\t1 d 7 h\twaste\tごみの日です",
    ]


def test_on_a_terminal_it_is_a_table(file, capsys, monkeypatch):
    monkeypatch.setattr(command, "out", Console(force_terminal=True, width=120, markup=False))
    assert show_next(file, 2, "2026-05-01", as_json=False) == 0
    shown = capsys.readouterr().out
    for words in ("Next (Asia/Tokyo)", "Fri 2026-05-01 06:45", "not: holiday: 振替休日", "おはよう[1]", "┃"):
        assert words in shown


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("[]", "The schedule is empty.\n"),
        ("[{at: 7:00, days: 2020-01-01, say: x}]", "schedule-1 is never due again.\nNothing is due.\n"),
    ],
)
def test_without_occurrences(tmp_path, capsys, schedule, words):
    path = tmp_path / "x.yaml"
    path.write_text(f"schedule: {schedule}\n")
    assert show_next(path, 5, None, as_json=False) == 0
    assert capsys.readouterr().out == words
    assert show_next(path, 5, None, as_json=True) == 0
    assert capsys.readouterr().out == ""


def test_skips_and_vacations_are_between_what_happens():
    config = parse_config("timezone: Asia/Tokyo\nschedule: [{id: wake, at: 7:00, say: x}]")
    skipped = frozenset({datetime(2026, 8, 1, 22, tzinfo=UTC)})
    exceptions = Exceptions(skipped=skipped, vacation=Vacation(date(2026, 8, 4), date(2026, 8, 9)))
    entries = [(replace(entry, exceptions=exceptions), text) for entry, text in entries_now(config)]
    lines = lines_of(entries, config.calendar, datetime(2026, 7, 31, 16, tzinfo=UTC), 3)
    assert [((line.item.due + timedelta(hours=9)).day, line.item.reason, line.times) for line in lines] == [
        (1, None, 1),
        (2, "skipped once", 1),
        (3, None, 1),
        (4, "vacation until 2026-08-09", 6),
        (10, None, 1),
    ]


class Far(FakeClock):
    """So early that nothing of the test is past."""

    def __init__(self):
        super().__init__(datetime(2026, 5, 7, 20, tzinfo=UTC))


@pytest.fixture
def changed(file, kept, monkeypatch):
    """What people changed at run time: a skip, a vacation, a time, a switch, an alarm; the file is open still."""
    monkeypatch.setattr(command, "SystemClock", Far)
    file.write_text(HOUSE + "alarms: {up: {at: '8:00', days: mon-wed}}\n")
    database = Database(kept)
    database.open()
    records = Records(database)
    agenda = Agenda(clock=Far(), records=records, on_plan=lambda *_: None)
    agenda.configure(parse_config(file.read_text()))
    agenda.skip("wake")
    agenda.set_vacation(Vacation(date(2026, 5, 11), date(2026, 5, 12)))
    agenda.enable("off", True)
    agenda.set_times("off", [time(5, 30)])
    agenda.make("nap", {"at": "2026-05-08T14:00", "text": "昼寝", "ignore_vacation": True})
    yield database
    database.close()


CHANGED = [
    ("05-08T05:30", "off", None, None, 1),
    ("05-08T06:45", "wake", None, "skipped once", 1),
    ("05-08T14:00", "nap", None, None, 1),
    ("05-09T05:30", "off", None, None, 1),
    ("05-09T07:30", "waste", None, None, 1),
    ("05-10T05:30", "off", None, None, 1),
    ("05-11T05:30", "off", None, None, 1),
    ("05-11T06:45", "wake", None, None, 1),
    ("05-11T08:00", "up", None, "vacation until 2026-05-12", 2),
    ("05-12T05:30", "off", None, None, 1),
]


def test_what_people_changed_is_shown_while_the_service_runs(file, kept, changed, capsys):
    changed.write()  # waits behind what was written before
    changed._writer.submit(lambda: None).result()
    before = {path.name: path.stat().st_mtime_ns for path in kept.parent.iterdir()}
    assert before.keys() == {"asagoe.db", "asagoe.db-wal", "asagoe.db-shm"}
    assert rows(file, capsys, 8, "2026-05-08") == CHANGED
    after = {path.name: path.stat().st_mtime_ns for path in kept.parent.iterdir()}
    assert after.keys() == before.keys()
    assert after["asagoe.db"] == before["asagoe.db"]
    changed.write(("INSERT OR REPLACE INTO settings VALUES ('free', '1')", ()))
    changed._writer.submit(lambda: None).result()
    assert changed.problem is None  # nothing is locked


def test_what_people_changed_is_shown_when_the_service_is_stopped(file, kept, changed, capsys):
    changed.close()
    assert rows(file, capsys, 8, "2026-05-08") == CHANGED
    assert [path.name for path in kept.parent.iterdir()] == ["asagoe.db"]


def test_nothing_is_made_where_nothing_is_kept(file, kept, capsys):
    assert len(rows(file, capsys, 3, "2026-05-08")) == 4
    assert not kept.parent.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"damaged" * 500, "file is not a database"), (b"", "its schema is 0, this version of Asagoe knows 1")],
)
def test_what_cannot_be_read_is_said_in_one_line(file, kept, capsys, content, words):
    kept.parent.mkdir()
    kept.write_bytes(content)
    assert show_next(file, 1, "2026-05-08", as_json=False) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        f"{kept} cannot be read: {words}; skips, the vacation and alarms made at run time are not shown"
    ]
    assert "wake" in shown.out
    assert kept.read_bytes() == content
