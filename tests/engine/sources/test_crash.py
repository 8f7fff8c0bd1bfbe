"""A death at any moment leaves a folder complete or absent, and the next run completes it."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from conftest import FILES, QUICK, VOICE, big
from test_hub import content, expected

from engine import CacheError
from engine.sources.hub import HubRemote
from engine.sources.tree import CachedTree, Settings

CRASH = Path(__file__).with_name("crash.py")


def crash(*arguments):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, str(CRASH), *map(str, arguments)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def write_tree(root, files=FILES):
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def test_killed_at_every_tenth_of_a_download_the_second_run_completes(server, make, tmp_path):
    died = crash("bytes", tmp_path, VOICE)
    assert died == [[str(tenth), "True"] for tenth in range(1, 10)]
    total = sum(len(data) for data in expected(VOICE).values())
    for tenth in range(1, 10):
        cache = tmp_path / str(tenth)
        assert make(cache=cache, download=False).look(VOICE).folder is None  # absent, though a part is there
        steps = []
        folder = make(cache=cache, progress=steps.append).fetch(VOICE)
        assert content(folder) == expected(VOICE)
        assert make(cache=cache).look(VOICE, thorough=True).good
        first = next(step.done for step in steps if step.total)
        assert first >= total * tenth / 10 - 70_000  # what had come was not fetched again


SMALL = {f"{VOICE}/config.json": b"{}", f"{VOICE}/graph.onnx": b"graph", "x": b""}
NEWER = SMALL | {f"{VOICE}/config.json": b"{1}", f"{VOICE}/more": b"more"}


def versioned(root, cache):
    sys.path.insert(0, str(CRASH.parent))
    from crash import Versioned

    return CachedTree(Versioned(root), cache, settings=Settings(policy=QUICK))


@pytest.fixture
def memory(tmp_path):
    """A folder in memory, where there is one: bringing files to the disk is not what is tested here."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


def test_killed_before_any_change_of_the_file_system_a_fetch_can_be_done_again(memory):
    source = write_tree(memory / "tree", SMALL)
    runs = crash("calls", memory / "caches", VOICE, source)
    assert len(runs) > 25
    assert runs[-1][1:] == ["False", "0"]
    for nth, died, _ in runs:
        tree = versioned(source, memory / "caches" / nth)
        before = tree.look(VOICE, thorough=True)
        assert before.folder is None or (before.good and content(before.folder) == expected(VOICE, SMALL))
        assert died == "True" or before.good
        assert content(tree.fetch(VOICE)) == expected(VOICE, SMALL)
        assert not tree.entry(VOICE).work.exists()


def test_killed_before_any_change_of_the_file_system_an_update_leaves_the_old_or_the_new(memory):
    old, new = write_tree(memory / "old", SMALL), write_tree(memory / "new", NEWER)
    runs = crash("calls", memory / "caches", VOICE, old, new)
    assert len(runs) > 25
    assert runs[-1][1:] == ["False", "0"]
    seen = set()
    for nth, _, _ in runs:
        tree = versioned(new, memory / "caches" / nth)
        before = tree.look(VOICE, thorough=True)
        assert before.good
        is_new = content(before.folder) == expected(VOICE, NEWER)
        assert is_new or content(before.folder) == expected(VOICE, SMALL)
        seen.add(is_new)
        tree.update(VOICE)
        assert content(tree.fetch(VOICE)) == expected(VOICE, NEWER)
    assert seen == {False, True}


def test_two_processes_at_once_fetch_it_once(server, tmp_path):
    server.delay = 0.005
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        folders = pool.starmap(_fetch, [(str(tmp_path / "cache"),)] * 2)
    pool.join()
    assert folders[0] == folders[1]
    assert content(Path(folders[0])) == expected(VOICE)
    assert set(server.downloads().values()) == {1}


def _fetch(cache):
    settings = Settings(policy=QUICK)
    return str(CachedTree(HubRemote("me/voices"), Path(cache), settings=settings).fetch(VOICE))


def test_two_threads_at_once_fetch_it_once_and_the_second_says_that_it_waits(server, make):
    server.delay = 0.01
    steps, folders = [], []
    threads = [
        threading.Thread(target=lambda: folders.append(make(progress=steps.append).fetch(VOICE))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(folders)) == 1
    assert set(server.downloads().values()) == {1}
    assert "another process is at it" in {step.waiting for step in steps}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting a small file system needs root: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_download_that_would_not_fit_is_not_begun(server, make, small_disk):
    with pytest.raises(CacheError, match=r"needs 0\.4 MB in .* the disk has 1\.\d MB; free some, or set ASAGOE_CACHE"):
        make(cache=small_disk).fetch(VOICE)
    assert not server.downloads()


def test_a_disk_that_fills_on_the_way_is_left_and_the_next_run_completes(server, make, small_disk, monkeypatch):
    monkeypatch.setattr("engine.sources.download.SPARE", -10_000_000)  # as if another program took the space meanwhile
    server.repositories["me/voices"].commit(FILES | {f"{VOICE}/synthesizer.onnx": big(5, 1_500_000)})
    with pytest.raises(CacheError, match="is full; free some"):
        make(cache=small_disk).fetch(VOICE)
    assert os.statvfs(small_disk).f_bfree * os.statvfs(small_disk).f_frsize > 600_000  # given back
    assert make(cache=small_disk).look(VOICE).folder is None
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    assert (make(cache=small_disk).fetch(VOICE) / "synthesizer.onnx").read_bytes() == big(5, 1_500_000)


def test_a_cache_that_cannot_be_written_to(server, make, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(CacheError, match="make it writable, or set ASAGOE_CACHE"):
        make(cache=tmp_path / "file").fetch(VOICE)
