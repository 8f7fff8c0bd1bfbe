import os
import time

import numpy as np

from daemon.phrases import PhraseCache
from engine import Audio, Spoken

KEY = "ab" * 32


def spoken(seconds=0.1, pause=0.4):
    return Spoken(Audio((0.5 * np.sin(np.arange(round(8000 * seconds)))).astype(np.float32), 8000), pause)


def test_what_is_put_is_got(tmp_path):
    cache = PhraseCache(tmp_path, 10**6)
    assert cache.get(KEY) is None
    cache.put(KEY, spoken())
    found = PhraseCache(tmp_path, 10**6).get(KEY)
    assert (found.pause, found.audio.sample_rate) == (0.4, 8000)
    assert np.abs(found.audio.samples - spoken().audio.samples).max() < 1e-4


def test_a_damaged_entry_is_removed_and_not_played(tmp_path):
    cache = PhraseCache(tmp_path, 10**6)
    for damage in (
        lambda d: d[:-1],
        lambda d: d[:40] + bytes([d[40] ^ 1]) + d[41:],
        lambda d: b"",
        lambda d: d[:20],
        lambda d: d + b"x",
    ):
        cache.put(KEY, spoken())
        (path,) = tmp_path.glob("*/*.phrase")
        path.write_bytes(damage(path.read_bytes()))
        assert cache.get(KEY) is None
        assert not path.exists()


def test_the_size_is_bounded_and_the_oldest_use_goes_first(tmp_path):
    size = len(b"") + 28 + 1600
    cache = PhraseCache(tmp_path, 5 * size + 10)
    keys = [f"{n:02d}" * 32 for n in range(5)]
    for number, key in enumerate(keys):
        cache.put(key, spoken())
        (path,) = tmp_path.glob(f"{key[:2]}/*.phrase")
        os.utime(path, (number, number))
    assert cache.get(keys[0]) is not None  # used now
    time.sleep(0.01)
    cache.put("ff" * 32, spoken())
    left = {p.stem for p in tmp_path.glob("*/*.phrase")}
    assert keys[0] in left
    assert "ff" * 32 in left
    assert keys[1] not in left
    assert sum(p.stat().st_size for p in tmp_path.glob("*/*.phrase")) <= 5 * size


def test_a_cache_of_size_zero_is_off(tmp_path):
    cache = PhraseCache(tmp_path, 0)
    cache.put(KEY, spoken())
    assert cache.get(KEY) is None
    assert list(tmp_path.iterdir()) == []


def test_an_entry_larger_than_the_cache_is_not_kept(tmp_path):
    cache = PhraseCache(tmp_path, 1000)
    cache.put(KEY, spoken())
    assert list(tmp_path.glob("*/*")) == []


def test_a_folder_that_cannot_be_written_is_reported_once(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    cache = PhraseCache(tmp_path / "file", 10**6)
    cache.put(KEY, spoken())
    cache.put(KEY, spoken())
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert cache.get(KEY) is None


def test_nothing_half_written_is_left(tmp_path):
    PhraseCache(tmp_path, 10**6).put(KEY, spoken())
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [f"{KEY}.phrase"]
