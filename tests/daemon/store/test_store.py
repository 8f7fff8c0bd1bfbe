"""What is kept is there at the next start, whatever happened to the file or the disk."""

import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from daemon.store import Database, Records

NOW = datetime(2026, 12, 1, 6, 45, tzinfo=UTC)


def opened(path, problems=None):
    database = Database(path, (problems if problems is not None else []).append)
    database.open()
    records = Records(database)
    records.load()
    return database, records


def test_everything_is_there_at_the_next_start(tmp_path):
    path = tmp_path / "new" / "asagoe.db"
    database, records = opened(path)
    records.set("vacation", {"first": "2026-12-28", "last": "2027-01-03"})
    records.put("alarms", "wake-up", {"at": "6:45", "text": "おはよう"})
    records.put("changes", "wake-up", {"enabled": False})
    records.add_happened("wake-up", NOW)
    records.still_alive(NOW)
    database.close()
    database, again = opened(path)
    assert again.setting("vacation") == {"first": "2026-12-28", "last": "2027-01-03"}
    assert again.all("alarms") == {"wake-up": {"at": "6:45", "text": "おはよう"}}
    assert again.all("changes") == {"wake-up": {"enabled": False}}
    assert again.happened("wake-up", NOW)
    assert not again.happened("wake-up", NOW + timedelta(days=1))
    assert again.alive == NOW
    database.close()


def test_what_is_removed_stays_removed(tmp_path):
    database, records = opened(tmp_path / "asagoe.db")
    records.set("vacation", 1)
    records.put("alarms", "a", 1)
    records.set("vacation", None)
    records.remove("alarms", "a")
    records.remove("alarms", "never there")
    database.close()
    database, again = opened(tmp_path / "asagoe.db")
    assert (again.setting("vacation"), dict(again.all("alarms"))) == (None, {})
    database.close()


def test_what_happened_long_ago_is_forgotten(tmp_path):
    database, records = opened(tmp_path / "asagoe.db")
    for day in range(60):
        records.add_happened("wake-up", NOW + timedelta(days=day))
    database.close()
    database, again = opened(tmp_path / "asagoe.db")
    last = NOW + timedelta(days=59)
    assert again.happened("wake-up", last - timedelta(days=40))
    assert not again.happened("wake-up", last - timedelta(days=41))
    assert database.rows("SELECT count(*) FROM happened") == [(41,)]
    database.close()


@pytest.mark.parametrize("content", [b"this is no database at all, only text", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(tmp_path, content):
    path = tmp_path / "asagoe.db"
    path.write_bytes(content)
    database, records = opened(path)
    records.set("x", 1)
    database.close()
    assert (tmp_path / "asagoe.db.aside").read_bytes() == content
    database, again = opened(path)
    assert again.setting("x") == 1
    database.close()


def test_a_file_of_a_newer_version_is_set_aside(tmp_path):
    path = tmp_path / "asagoe.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    database, records = opened(path)
    records.set("x", 1)
    database.close()
    assert (tmp_path / "asagoe.db.aside").exists()


def test_the_service_goes_on_where_nothing_can_be_kept(tmp_path):
    (tmp_path / "file").write_text("")
    problems = []
    database, records = opened(tmp_path / "file" / "asagoe.db", problems)
    records.set("x", 1)
    records.add_happened("a", NOW)
    assert records.setting("x") == 1
    assert records.happened("a", NOW)
    database.close()
    assert "what changes is forgotten at the next start" in problems[0]


def test_a_write_that_fails_is_told_once_and_again_when_it_works(tmp_path):
    problems = []
    database, records = opened(tmp_path / "asagoe.db", problems)
    database.write(("INSERT INTO nowhere VALUES (1)", ()))
    database.write(("INSERT INTO nowhere VALUES (2)", ()))
    records.set("x", 1)
    database.close()
    assert len(problems) == 2
    assert "cannot be written" in problems[0]
    assert problems[1] is None


def test_a_row_that_cannot_be_understood_is_left_out(tmp_path):
    database, records = opened(tmp_path / "asagoe.db")
    records.put("alarms", "good", 1)
    database.write(("INSERT INTO alarms VALUES ('bad', '{')", ()))
    database.close()
    database, again = opened(tmp_path / "asagoe.db")
    assert dict(again.all("alarms")) == {"good": 1}
    database.close()


def damage(path):
    for file in path.parent.glob("asagoe.db*"):
        file.write_bytes(b"damaged " * (file.stat().st_size // 8))


def remove(path):
    for file in path.parent.glob("asagoe.db*"):
        file.unlink()


@pytest.mark.parametrize("lose", [damage, remove])
def test_a_file_that_is_lost_while_it_is_used_is_written_anew_from_what_is_known(tmp_path, lose):
    path = tmp_path / "asagoe.db"
    problems = []
    database, records = opened(path, problems)
    records.set("vacation", {"first": "2026-12-01"})
    records.put("alarms", "nap", {"at": "14:00"})
    records.put("changes", "wake-up", {"enabled": False})
    records.add_happened("wake-up", NOW)
    database._writer.submit(lambda: None).result()
    lose(path)
    records.put("rings", "nap", {"state": "ringing"})
    records.set("later", 1)
    database.close()
    assert [problem for problem in problems if problem] == [problems[0]]
    assert "what is known was written into a new one" in problems[0]
    assert (tmp_path / "asagoe.db.aside").exists() == (lose is damage)
    database, again = opened(path)
    assert again.setting("vacation") == {"first": "2026-12-01"}
    assert again.setting("later") == 1
    assert dict(again.all("alarms")) == {"nap": {"at": "14:00"}}
    assert dict(again.all("changes")) == {"wake-up": {"enabled": False}}
    assert dict(again.all("rings")) == {"nap": {"state": "ringing"}}
    assert again.happened("wake-up", NOW)
    database.close()
