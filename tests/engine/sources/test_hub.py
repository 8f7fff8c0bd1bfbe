import json
import shutil
import time

import pytest
from conftest import FILES, QUICK, VOICE, big
from hub_server import Repository

from engine import SourceUnreachableError, VoiceNotAvailableError
from engine.sources import LocalSource
from engine.sources.hub import HubRemote
from engine.voices.style_bert_vits2.layout import needed


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def expected(prefix, files=FILES):
    return {path.removeprefix(f"{prefix}/"): data for path, data in files.items() if path.startswith(f"{prefix}/")}


def test_a_folder_comes_whole_and_alone(server, make, tmp_path):
    folder = make().fetch(VOICE)
    assert content(folder) == expected(VOICE)
    assert folder.is_relative_to(tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("@work"))


def test_only_needed_files_are_fetched(server, make):
    folder = make(select=needed).fetch(VOICE)
    assert set(content(folder)) == {"config.json", "style_vectors.npy", "synthesizer.onnx"}
    assert not any("duration_predictor" in path for _, path, _ in server.requests)


def test_once_cached_no_network_call_is_made(server, make, no_network):
    first = make().fetch(VOICE)
    no_network()
    assert make().fetch(VOICE) == first
    assert make(download=False).fetch(VOICE) == first


def test_without_permission_to_download_nothing_is_asked(server, make, no_network):
    no_network()
    with pytest.raises(VoiceNotAvailableError, match="has not been downloaded yet; run: asagoe voices download"):
        make(download=False).fetch(VOICE)


def test_large_files_come_from_the_storage_without_the_token(server, make, monkeypatch):
    server.repositories["me/voices"].tokens = {"good"}
    monkeypatch.setenv("HF_TOKEN", "good")
    make().fetch(VOICE)
    storage = [headers for _, path, headers in server.requests if path.startswith("/storage/")]
    hub = [headers for _, path, headers in server.requests if "/resolve/" in path]
    assert storage
    assert all("Authorization" not in headers for headers in storage)
    assert hub
    assert all(headers["Authorization"] == "Bearer good" for headers in hub)


def test_the_token_may_come_from_a_file_or_a_credential_at_any_time(server, make, monkeypatch, tmp_path):
    server.repositories["me/voices"].tokens = {"good"}
    (tmp_path / "hf-token").write_text("good\n")
    with pytest.raises(VoiceNotAvailableError, match="it is private and needs a token"):
        make().fetch(VOICE)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "hf-token"))
    make().fetch(VOICE)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(VoiceNotAvailableError, match=r"HF_TOKEN_PATH names .*none, which cannot be read"):
        make().fetch("bert/tokenizer")
    monkeypatch.delenv("HF_TOKEN_PATH")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    make().fetch("bert/tokenizer")


def test_a_revoked_token_is_named_and_the_cache_serves_on(server, make, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "good")
    server.repositories["me/voices"].tokens = {"good"}
    cached = make().fetch("bert/tokenizer")
    monkeypatch.setenv("HF_TOKEN", "revoked")
    with pytest.raises(VoiceNotAvailableError, match=r"refuses the token for me/voices \(401\); renew HF_TOKEN"):
        make().fetch(VOICE)
    assert make().fetch("bert/tokenizer") == cached
    with pytest.raises(VoiceNotAvailableError, match="refuses the token"):
        make().update("bert/tokenizer")
    assert content(cached) == {"vocab.txt": b"[CLS]\n"}


@pytest.mark.parametrize(
    ("remote", "prefix", "words"),
    [
        (HubRemote("me/nothing"), VOICE, "shows no repository me/nothing"),
        (HubRemote("me/voices", "v9"), VOICE, "the hub has no revision 'v9' of me/voices; name a branch"),
        (HubRemote("me/voices"), "onnx/speakers/x", "has no onnx/speakers/x; onnx/speakers has f1, f2"),
        (HubRemote("me/voices"), "empty", "is empty; check the name"),
        (HubRemote("me/voices"), "../x", "'../x', which is not a plain path"),
        (HubRemote("me/voices"), "/etc", "not a plain path"),
        (HubRemote("me/voices"), "a//b", "not a plain path"),
    ],
)
def test_what_is_not_there_is_one_sentence_at_once(server, make, remote, prefix, words, tmp_path):
    with pytest.raises(VoiceNotAvailableError) as caught:
        make(remote).fetch(prefix)
    assert words in str(caught.value)
    assert len(server.requests) <= 2
    assert not list((tmp_path / "cache").rglob("@*"))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_an_answer_that_may_change_is_asked_for_again(server, make, status):
    for path in ("/api/models/me/voices", "/tree/", "/resolve/", "/storage/"):
        server.fail(path, 1, status=status)
    assert content(make().fetch(VOICE)) == expected(VOICE)


def test_after_so_many_failures_it_is_given_up_and_the_next_run_goes_on(server, make):
    server.fail("/storage/", 1000, status=500)
    with pytest.raises(SourceUnreachableError, match="answers 500"):
        make().fetch(VOICE)
    assert sum(path.startswith("/storage/") for _, path, _ in server.requests) == QUICK.attempts
    server.faults.clear()
    server.requests.clear()
    assert content(make().fetch(VOICE)) == expected(VOICE)
    assert not any("config.json" in path for _, path, _ in server.requests)  # that had come before


def test_a_pause_that_is_asked_for_is_kept(server, make):
    server.fail("/tree/", 1, status=429, headers={"Retry-After": "1"})
    began = time.monotonic()
    make().fetch("bert/tokenizer")
    assert 1.0 <= time.monotonic() - began < 2.5
    server.fail("/tree/", 1, status=429, headers={"Retry-After": "3600"})
    began = time.monotonic()
    with pytest.raises(SourceUnreachableError):  # longer than the patience: not waited for
        make().fetch(VOICE)
    assert time.monotonic() - began < 1.0


def test_cut_connections_are_resumed_where_they_broke(server, make):
    server.fail("/storage/", 3, cut_after=70_000)
    assert content(make(select=needed).fetch(VOICE)) == expected_needed()
    ranges = [headers.get("Range") for _, path, headers in server.requests if path.startswith("/storage/")]
    assert ranges[0] is None
    starts = [int(value.removeprefix("bytes=").removesuffix("-")) for value in ranges[1:]]
    assert len(starts) == 3
    assert starts == sorted(starts)
    assert starts[0] > 0
    assert starts[-1] <= 3 * 70_000


def expected_needed():
    return {k: v for k, v in expected(VOICE).items() if k != "duration_predictor.onnx"}


def test_many_cuts_are_survived_as_long_as_bytes_come(server, make):
    server.fail("/storage/", 12, cut_after=30_000)  # far more than the attempts without progress
    assert content(make(select=needed).fetch(VOICE)) == expected_needed()


def test_a_server_without_ranges_begins_anew(server, make):
    server.fail("/storage/", 1, cut_after=70_000)
    server.fail("/storage/", 1, ignore_range=True)
    assert content(make().fetch(VOICE)) == expected(VOICE)


def test_a_cut_in_the_listing_is_asked_for_again(server, make):
    server.fail("/tree/", 1, cut_after=20)
    server.fail("/api/models/me/voices/rev|/api/models/me/voices$", 1, cut_after=5)
    assert content(make().fetch(VOICE)) == expected(VOICE)


def test_a_listing_of_many_pages_is_read_to_its_end(server, make):
    server.page_size = 1
    assert content(make().fetch(VOICE)) == expected(VOICE)


def test_a_silent_server_is_left_after_the_timeout(server, make, short_timeouts):
    server.delay = 1.0
    began = time.monotonic()
    with pytest.raises(SourceUnreachableError, match="cannot be reached"):
        make().fetch(VOICE)
    assert time.monotonic() - began < 8


def test_nobody_there(server, make, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(SourceUnreachableError, match=r"cannot be reached at http://127\.0\.0\.1:9"):
        make().fetch(VOICE)


def test_a_login_page_is_no_hub(server, make):
    server.fail("/api/", 99, body=b"<html>Welcome to the hotel</html>")
    with pytest.raises(SourceUnreachableError, match="does not answer as a hub does"):
        make().fetch(VOICE)
    server.faults.clear()
    server.fail("/storage/", 1, body=b"<html>Welcome to the hotel</html>")
    server.fail("config.json", 1, body=b"<html>")
    assert content(make().fetch(VOICE)) == expected(VOICE)


@pytest.mark.parametrize("path", ["/storage/", "config.json"])
def test_bytes_that_are_not_those_of_the_listing_never_get_in(server, make, path, tmp_path):
    wrong = big(99) if path == "/storage/" else b'{"data": []}'
    server.fail(path, 99, body=wrong)
    with pytest.raises(VoiceNotAvailableError, match=r"arrives damaged: its (SHA-256|content) is another"):
        make(select=needed).fetch(VOICE)
    assert make(download=False).look(VOICE).folder is None


def test_a_listing_that_leaves_the_folder_is_refused(server, make, tmp_path):
    for bad in (
        "onnx/speakers/f1/../../../../evil",
        "/evil",
        "onnx/speakers/f1/a//b",
        "other/evil",
        "onnx/speakers/f1/@x",
    ):
        server.repositories["me/voices"].commit(FILES | {f"!{bad}": b"evil"})
        with pytest.raises(VoiceNotAvailableError, match="not a plain path below its folder"):
            make().fetch(VOICE)
    assert not list(tmp_path.rglob("evil"))


def test_pickles_are_never_fetched(server, make):
    server.repositories["me/voices"].commit(FILES | {f"{VOICE}/model.pth": b"x", "p/model.bin": b"x"})
    assert content(make().fetch(VOICE)) == expected(VOICE)
    with pytest.raises(VoiceNotAvailableError, match="only pickles"):
        make().fetch("p")


def test_a_pinned_revision_stays_and_another_is_another(server, make, no_network):
    repository = server.repositories["me/voices"]
    old = repository.refs["main"]
    repository.refs["v1"] = old
    changed = FILES | {f"{VOICE}/config.json": b'{"data": 2}'}
    new = repository.commit(changed)
    assert content(make(HubRemote("me/voices", "v1")).fetch(VOICE)) == expected(VOICE)
    assert content(make(HubRemote("me/voices", old)).fetch(VOICE)) == expected(VOICE)
    assert content(make(HubRemote("me/voices")).fetch(VOICE)) == expected(VOICE, changed)
    assert make(HubRemote("me/voices")).look(VOICE).manifest.revision == new
    no_network()
    assert not make(HubRemote("me/voices", old)).update(VOICE).any  # a commit never changes: nobody is asked


def test_an_update_tells_what_it_changes_fetches_only_that_and_can_be_undone(server, make):
    first = make().fetch(VOICE)
    assert not make().changes(VOICE).any
    files = FILES | {f"{VOICE}/config.json": b'{"data": 2}', f"{VOICE}/LICENSE": b"free"}
    del files[f"{VOICE}/duration_predictor.onnx"]
    old, new = server.repositories["me/voices"].refs["main"], server.repositories["me/voices"].commit(files)

    changes = make().changes(VOICE)
    assert (changes.old, changes.new) == (old, new)
    assert (changes.added, changes.changed, changes.removed) == (
        ("LICENSE",), ("config.json",), ("duration_predictor.onnx",),
    )  # fmt: skip
    assert changes.size == len(b'{"data": 2}') + len(b"free")
    assert make().fetch(VOICE) == first  # looking changes nothing

    server.requests.clear()
    assert make().update(VOICE) == changes
    assert not any(path.startswith("/storage/") for _, path, _ in server.requests)
    second = make(download=False).fetch(VOICE)
    assert content(second) == expected(VOICE, files)
    assert content(first) == expected(VOICE)  # who reads the old one reads on

    assert make().undo(VOICE).revision == old
    assert make(download=False).fetch(VOICE) == first
    assert make().undo(VOICE).revision == new


def test_an_update_that_breaks_off_leaves_the_old_one_in_force(server, make):
    first = make().fetch(VOICE)
    server.repositories["me/voices"].commit(FILES | {f"{VOICE}/synthesizer.onnx": big(7)})
    server.fail("/storage/", 1000, status=500)
    with pytest.raises(SourceUnreachableError):
        make().update(VOICE)
    assert make(download=False).fetch(VOICE) == first
    server.faults.clear()
    assert make().update(VOICE).changed == ("synthesizer.onnx",)
    assert (make(download=False).fetch(VOICE) / "synthesizer.onnx").read_bytes() == big(7)


def test_a_new_revision_of_other_files_is_only_noted(server, make):
    first = make().fetch(VOICE)
    new = server.repositories["me/voices"].commit(FILES | {"README.md": b"other"})
    assert not make().update(VOICE).any
    assert make().look(VOICE).manifest.revision == new
    assert make().fetch(VOICE) == first


def test_mirrors_are_asked_in_turn(server, make, tmp_path):
    server.repositories["you/copy"] = Repository()
    server.repositories["you/copy"].commit(FILES)
    server.fail("/api/models/me/voices", 99, status=500)
    tree = make(mirrors=[HubRemote("you/nothing"), HubRemote("you/copy")])
    assert content(tree.fetch(VOICE)) == expected(VOICE)
    assert tree.look(VOICE).manifest.origin == "hf://you/copy"


def test_a_folder_can_be_a_mirror_also_when_the_source_breaks_in_the_middle(server, make, tmp_path):
    for path, data in FILES.items():
        (tmp_path / "copy" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / path).write_bytes(data)
    server.fail("/storage/", 99, status=503)
    tree = make(mirrors=[LocalSource(tmp_path / "copy")])
    assert content(tree.fetch(VOICE)) == expected(VOICE)
    assert tree.look(VOICE).manifest.origin.startswith("file:///")
    shutil.rmtree(tmp_path / "copy")
    with pytest.raises(SourceUnreachableError, match=r"answers 503.*there is no folder"):
        tree.fetch("onnx/bert/q8")


def test_progress_never_goes_back_and_ends_at_the_total(server, make):
    steps = []
    make(progress=steps.append).fetch(VOICE)
    done = [step.done for step in steps if step.total]
    total = sum(len(data) for data in expected(VOICE).values())
    assert done == sorted(done)
    assert done[-1] == total
    assert {step.total for step in steps if step.total} == {total}


def test_what_progress_raises_ends_the_download_which_resumes(server, make):
    class Stop(Exception):
        pass

    def stop(step):
        if step.done > 150_000:
            raise Stop

    with pytest.raises(Stop):
        make(progress=stop).fetch(VOICE)
    assert make(download=False).look(VOICE).folder is None
    server.requests.clear()
    assert content(make().fetch(VOICE)) == expected(VOICE)
    assert any("Range" in headers for _, path, headers in server.requests if path.startswith("/storage/"))


@pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")  # huggingface_hub's own
def test_publishing_and_fetching_what_was_published(server, make, monkeypatch, tmp_path):
    voice = tmp_path / "voice"
    voice.mkdir()
    for name, data in expected(VOICE).items():
        (voice / name).write_bytes(data)
    with pytest.raises(VoiceNotAvailableError, match="needs a token that may write"):
        make(HubRemote("me/new")).upload(VOICE, voice)
    monkeypatch.setenv("HF_TOKEN", "good")
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # a thread that never ends
    with pytest.raises(SourceUnreachableError, match="broke off"):  # the stand-in does not speak Xet
        make(HubRemote("me/new")).upload(VOICE, voice)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    revision = make(HubRemote("me/new")).upload(VOICE, voice)
    assert json.loads(json.dumps(revision)) == server.repositories["me/new"].refs["main"]
    assert content(make(HubRemote("me/new")).fetch(VOICE)) == expected(VOICE)
    (voice / "model.pth").write_bytes(b"x")
    with pytest.raises(VoiceNotAvailableError, match=r"holds model\.pth, a pickle"):
        make(HubRemote("me/new")).upload(VOICE, voice)


def test_importing_the_sources_loads_no_network_library():
    import subprocess
    import sys

    code = (
        "import sys, engine.sources.store\n"
        "print(sorted({'huggingface_hub', 'httpx2', 'boto3', 'ssl', 'numpy', 'onnx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
