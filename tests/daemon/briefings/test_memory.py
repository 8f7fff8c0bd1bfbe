import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from daemon.briefings import memory
from daemon.briefings.memory import Kept, LastGood
from daemon.briefings.sections.http import HttpSettings
from tests.fakes.briefings import at

NOW = at("2026-12-01T07:00:00")


def settings(url="https://h/KEY123", **keys):
    return HttpSettings(url=url, text="a", **keys)


def test_what_was_kept_is_there_after_a_restart(tmp_path):
    LastGood(tmp_path / "b").put("http", settings(), Kept({"value": "晴れ"}, NOW, "h"))
    assert LastGood(tmp_path / "b").get("http", settings()) == Kept({"value": "晴れ"}, NOW, "h")


@pytest.mark.parametrize("processes", [1, 8])
@pytest.mark.parametrize("links", [True, False])
def test_what_is_kept_at_once_in_a_new_folder_is_all_found_again(tmp_path, monkeypatch, processes, links):
    """The first briefing of all keeps the data of its sections side by side; two services may share a folder."""
    real = memory.secrets.token_bytes
    if not links and processes > 1:
        pytest.skip("without links the key of the last process counts")

    def slowly(size):
        time.sleep(0.05)
        return real(size)

    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(memory.secrets, "token_bytes", slowly)
    if not links:
        monkeypatch.setattr(memory.os, "link", refused)
    stores = [LastGood(tmp_path / "b") for _ in range(processes)]
    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(stores[number % processes].put, "http", settings(f"https://h/{number}"), Kept(number, NOW))
    found = LastGood(tmp_path / "b")
    assert [found.get("http", settings(f"https://h/{number}")) for number in range(8)] == [
        Kept(number, NOW) for number in range(8)
    ]
    assert sorted(path.name for path in (tmp_path / "b").iterdir() if path.suffix != ".json") == ["key"]


def test_a_damaged_key_is_replaced(tmp_path):
    tmp_path.joinpath("key").write_bytes(b"short")
    LastGood(tmp_path).put("http", settings(), Kept(1, NOW))
    assert LastGood(tmp_path).get("http", settings()) == Kept(1, NOW)
    assert len(tmp_path.joinpath("key").read_bytes()) == 32


def test_changed_settings_never_tell_what_the_old_ones_brought(tmp_path, monkeypatch):
    kept = LastGood(tmp_path)
    kept.put("http", settings(), Kept(1, NOW))
    assert kept.get("http", settings("https://h/KEY124")) is None
    assert kept.get("http", settings(path="a.b")) is None
    assert kept.get("calendar", settings()) is None
    monkeypatch.setenv("URL_A", "https://h/KEY123")
    kept.put("http", settings({"env": "URL_A"}), Kept(2, NOW))
    monkeypatch.setenv("URL_A", "https://h/KEY125")
    assert kept.get("http", settings({"env": "URL_A"})) is None


def test_neither_names_nor_files_give_away_a_secret_and_others_cannot_read_them(tmp_path):
    folder = tmp_path / "b"
    LastGood(folder).put("http", settings(), Kept(1, NOW))
    names = {path.name for path in folder.iterdir()}
    other = tmp_path / "c"
    LastGood(other).put("http", settings(), Kept(1, NOW))
    assert names.isdisjoint({path.name for path in other.iterdir()} - {"key"})  # the digests have a key of their own
    assert all(b"KEY123" not in path.read_bytes() for path in folder.iterdir())
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b'{"fetched": "x", "data": 1}', b'{"data": 1}', b"[" * 100_000, b"\xff"]
)
def test_a_damaged_entry_is_none(tmp_path, damage):
    kept = LastGood(tmp_path)
    kept.put("http", settings(), Kept(1, NOW))
    (entry,) = tmp_path.glob("*.json")
    entry.write_bytes(damage)
    assert kept.get("http", settings()) is None
    kept.put("http", settings(), Kept(2, NOW))
    assert kept.get("http", settings()).data == 2


def test_an_entry_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    kept = LastGood(tmp_path)
    kept.put("http", settings(), Kept("old", NOW))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    kept.put("http", settings(), Kept("new", NOW))
    monkeypatch.undo()
    assert kept.get("http", settings()).data == "old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_disk_that_cannot_be_written_is_reported_once(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    kept = LastGood(tmp_path / "file" / "b")
    for _ in range(3):
        kept.put("http", settings(), Kept(1, NOW))
    assert caplog.text.count("cannot be kept") == 1
    assert kept.get("http", settings()) is None


def test_the_folder_is_bounded(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(memory, "MAX_ENTRIES", 3)
    kept = LastGood(tmp_path)
    for number in range(5):
        kept.put("http", settings(f"https://h/{number}"), Kept(number, NOW))
        for path in tmp_path.glob("*.json"):
            if json.loads(path.read_bytes())["data"] == number:
                os.utime(path, (number, number))
    left = {json.loads(path.read_bytes())["data"] for path in tmp_path.glob("*.json")}
    assert left == {2, 3, 4}
    kept.put("http", settings(), Kept("x" * memory.MAX_ENTRY, NOW))
    assert kept.get("http", settings()) is None
    assert "too large to be kept" in caplog.text


def test_data_that_are_not_fit_for_json_are_a_defect(tmp_path):
    for data in (NOW, {1, 2}, timedelta(1), b"x"):
        with pytest.raises(TypeError):
            LastGood(tmp_path).put("http", settings(), Kept(data, NOW))
