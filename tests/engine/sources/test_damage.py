"""What happens to files in the cache after they were complete."""

import json
import os
import shutil
import time

import pytest
from conftest import FILES, VOICE
from test_hub import content, expected

from engine import SourceUnreachableError, VoiceNotAvailableError
from engine.sources.store import cached


def flip(path, at=1000):
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1
    path.write_bytes(data)


def test_a_flipped_byte_is_found_and_only_that_file_is_fetched_again(server, make):
    folder = make().fetch(VOICE)
    flip(folder / "synthesizer.onnx")
    assert make().look(VOICE).faults == ("synthesizer.onnx has another content",)
    with pytest.raises(VoiceNotAvailableError, match=r"is damaged \(synthesizer\.onnx has another content\)"):
        make(download=False).fetch(VOICE)
    server.requests.clear()
    assert content(make().fetch(VOICE)) == expected(VOICE)
    assert [path.rpartition("/")[2] for path in server.downloads()] == ["synthesizer.onnx"]


def test_a_byte_that_flips_without_a_trace_is_found_by_verifying(server, make):
    folder = make().fetch(VOICE)
    state = (folder / "config.json").stat()
    flip(folder / "config.json")
    os.utime(folder / "config.json", ns=(state.st_atime_ns, state.st_mtime_ns))
    assert make().look(VOICE).good  # by size and time alone it looks well
    assert make().look(VOICE, thorough=True).faults == ("config.json has another content",)
    assert content(make().repair(VOICE)) == expected(VOICE)
    assert make().look(VOICE, thorough=True).good


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / "synthesizer.onnx").write_bytes(b"short"),
        shutil.rmtree,
        lambda folder: (folder.parent / "manifest.json").write_text("{}"),
        lambda folder: (folder.parent / "manifest.json").write_bytes(b"\xff\x00"),
        lambda folder: (folder.parent / "manifest.json").unlink(),
        lambda folder: (folder.parent.parent / "@current").write_text("nonsense"),
        lambda folder: (folder.parent.parent / "@current").write_text('{"snapshot": "../../x"}'),
        lambda folder: (folder.parent.parent / "@current").write_bytes(b""),
        lambda folder: shutil.rmtree(folder.parent),
    ],
)
def test_damage_of_any_kind_is_mended(server, make, damage):
    damage(make().fetch(VOICE))
    assert not make().look(VOICE).good
    assert content(make().fetch(VOICE)) == expected(VOICE)
    assert make().look(VOICE, thorough=True).good


def test_damage_without_the_source_says_so(server, make, monkeypatch):
    flip(make().fetch(VOICE) / "synthesizer.onnx")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(SourceUnreachableError):
        make().fetch(VOICE)
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    assert content(make().fetch(VOICE)) == expected(VOICE)


def test_a_copied_cache_is_used_as_it_is(server, make, tmp_path, no_network):
    make().fetch(VOICE)
    shutil.copytree(tmp_path / "cache", tmp_path / "image")  # keeps the times, as images do
    shutil.copytree(tmp_path / "cache", tmp_path / "new", copy_function=shutil.copyfile)  # does not
    no_network()
    assert content(make(cache=tmp_path / "image").fetch(VOICE)) == expected(VOICE)
    folder = make(cache=tmp_path / "new").fetch(VOICE)
    assert content(folder) == expected(VOICE)
    assert all(path.stat().st_mtime_ns % 1_000_000_000 == 0 for path in folder.iterdir())  # not read again next time


def test_a_cached_voice_costs_next_to_nothing_to_find(server, make):
    make().fetch(VOICE)
    tree = make()
    began = time.perf_counter()
    for _ in range(20):
        tree.fetch(VOICE)
    assert (time.perf_counter() - began) / 20 < 0.02


def test_the_cache_tells_what_it_holds_and_can_be_emptied(server, make, tmp_path):
    make().fetch(VOICE)
    folder = make().fetch("bert/tokenizer")
    (folder.parent / "manifest.json").unlink()
    held = list(cached(tmp_path / "cache"))
    assert [(item.source, item.prefix, item.found.good) for item in held] == [
        ("hf://me/voices", "bert/tokenizer", False),
        ("hf://me/voices", VOICE, True),
    ]
    for item in held:
        assert item.tree.remove(item.prefix) > 0
    assert list(cached(tmp_path / "cache")) == []
    assert not (tmp_path / "cache" / "sources" / "hf").exists()
    assert content(make().fetch(VOICE)) == expected(VOICE)


def test_no_link_is_followed_in_the_cache(server, make, tmp_path):
    folder = make().fetch(VOICE)
    (tmp_path / "elsewhere").write_bytes(FILES[f"{VOICE}/config.json"])
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(tmp_path / "elsewhere")
    assert make().look(VOICE).faults == ("config.json is no file",)


def test_the_manifest_says_where_it_came_from(server, make):
    folder = make().fetch(VOICE)
    manifest = json.loads((folder.parent / "manifest.json").read_text("utf-8"))
    assert manifest["source"] == manifest["origin"] == "hf://me/voices"
    assert manifest["revision"] == server.repositories["me/voices"].refs["main"]
    assert {file["path"]: file["size"] for file in manifest["files"]} == {
        path: len(data) for path, data in expected(VOICE).items()
    }
