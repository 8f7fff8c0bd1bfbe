"""The engine's front door over sources, with a real small voice; and the Docker pattern's two commands."""

import os
import shutil
import subprocess
import sys

import pytest
import yaml
from hub_server import Repository

from engine import TTS, PrepareError
from engine.sources import retry
from tests.fakes.published import VOICE, unpack_published


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = unpack_published(tmp_path_factory.mktemp("published"))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def private(server, files):
    server.repositories["me/private"] = Repository(tokens={"good"})
    server.repositories["me/private"].commit(files | {"pytorch/speakers/x/config.json": b"{}"})
    return server


def test_pre_download_fills_the_cache_and_then_no_network_is_needed(private, monkeypatch, no_network):
    monkeypatch.setenv("HF_TOKEN", "good")
    TTS().load("f1", source="hf://me/private", voice=VOICE).load("mei").pre_download()
    no_network()
    monkeypatch.delenv("HF_TOKEN")
    with TTS().load("f1", source="hf://me/private", voice=VOICE).load("mei").prepare() as tts:
        assert tts.speakers["f1"].generate("はい。").duration > 0.1


def test_pre_download_is_for_the_device_of_the_tts_and_loads_nothing(private, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "good")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("onnxruntime.InferenceSession", None)
    tts = TTS("cuda").load("f1", source="hf://me/private", voice=VOICE)
    with pytest.raises(PrepareError, match="has no pytorch/bert/fp32"):
        tts.pre_download()
    tts.pre_download(device="cpu")
    assert not any("pytorch" in path for path in private.downloads())


def test_one_speaker_that_cannot_be_had_does_not_stop_the_others(private, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "good")
    monkeypatch.setattr(retry, "DEFAULT_POLICY", retry.Policy(attempts=1))
    tts = TTS().load("ghost", source="hf://me/private").load("f1", source="hf://me/private", voice=VOICE)
    tts.load("away", source="hf://me/nothing")
    with pytest.raises(PrepareError) as caught:
        tts.pre_download()
    assert set(caught.value.failures) == {"ghost", "away"}
    with pytest.raises(PrepareError):
        tts.prepare(download=False)
    assert set(tts.speakers) == {"f1"}
    tts.close()


class Stopped(Exception):
    """Of somebody who does not want to wait any more."""


@pytest.mark.parametrize("call", ["prepare", "pre_download"])
def test_what_progress_raises_is_the_callers_own_and_the_next_call_goes_on(private, monkeypatch, caplog, call):
    monkeypatch.setenv("HF_TOKEN", "good")
    steps = []

    def stopping(step):
        steps.append(step)
        if len(steps) == 3:
            raise Stopped

    with TTS().load("f1", source="hf://me/private", voice=VOICE) as tts:
        with pytest.raises(Stopped):
            getattr(tts, call)(progress=stopping)
        assert "a defect" not in caplog.text
        assert set(tts.prepare().speakers) == {"f1"}
    assert max(private.downloads().values()) <= 2  # a file that was broken off is asked for once more


def test_speakers_stay_at_hand_while_another_is_loaded(private, monkeypatch):
    seen = []
    with TTS().load("mei").prepare() as tts:
        monkeypatch.setenv("HF_TOKEN", "good")
        tts.load("f1", source="hf://me/private", voice=VOICE)
        import threading

        def look(step):
            thread = threading.Thread(target=lambda: seen.append(set(tts.speakers)))
            thread.start()
            thread.join(5)

        tts.prepare(progress=look)
        assert seen
        assert all(names == {"mei"} for names in seen)
        assert set(tts.speakers) == {"mei", "f1"}


def test_mirrors_of_a_source(private, monkeypatch, tmp_path, files):
    monkeypatch.setattr(retry, "DEFAULT_POLICY", retry.Policy(attempts=1))
    for path, data in files.items():
        (tmp_path / "copy" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / path).write_bytes(data)
    mirrors = {"hf://me/private": [(tmp_path / "copy").as_uri()]}
    TTS(mirrors=mirrors).load(VOICE, source="hf://me/private").pre_download()  # without a token


def asagoe(*arguments, offline=False, **environment):
    command = [sys.executable, "-m", "daemon", *arguments]
    if offline:
        command = ["unshare", "--net", "--map-root-user", *command]
    given = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "AWS_"))}
    environment = given | {"COLUMNS": "200", "NO_COLOR": "1"} | environment
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text(yaml.safe_dump({"speakers": {"f1": {"source": "hf://me/private", "name": VOICE}}}))
    return str(path)


def test_the_docker_pattern_download_with_a_secret_then_start_without_a_network(private, tmp_path, config):
    if subprocess.run(["unshare", "--net", "--map-root-user", "true"], check=False).returncode:
        pytest.skip("taking the network away needs unshare --net")
    secret = tmp_path / "secret"
    secret.write_text("good\n")
    cache = tmp_path / "image"
    built = asagoe(
        "voices", "download", "-c", config, ASAGOE_CACHE=str(cache), HF_ENDPOINT=private.url, HF_TOKEN_PATH=str(secret)
    )
    assert built.returncode == 0, built.stderr
    assert "Everything is in the cache." in built.stdout
    assert not any(b"good" in path.read_bytes() for path in cache.rglob("*.json"))  # no secret stays in the image

    secret.unlink()
    runtime = shutil.copytree(cache, tmp_path / "container")
    out = tmp_path / "out.wav"
    spoken = asagoe("say", "はい。", "-o", str(out), "-c", config, offline=True, ASAGOE_CACHE=str(runtime))
    assert spoken.returncode == 0, spoken.stderr
    assert out.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("configured", "asked", "expected"),
    [
        ("cpu", (), "onnx"),
        ("cuda", (), "pytorch"),
        ("cuda", ("--device", "cpu"), "onnx"),
        ("cpu", ("--device", "cuda:1"), "pytorch"),
    ],
)
def test_what_is_downloaded_is_what_the_configured_device_needs(private, tmp_path, files, configured, asked, expected):
    """For CUDA also where there is none: an image is built on another machine than it runs on."""
    torch_files = {
        path.replace("onnx/", "pytorch/").replace("bert/q8", "bert/fp32"): data
        for path, data in files.items()
        if path.startswith("onnx/")
    }
    private.repositories["me/private"].commit(files | torch_files)
    path = tmp_path / "asagoe.yaml"
    speakers = {"f1": {"source": "hf://me/private", "name": VOICE}}
    path.write_text(yaml.safe_dump({"speakers": speakers, "compute_device": configured}))
    environment = {"ASAGOE_CACHE": str(tmp_path / "c"), "HF_ENDPOINT": private.url, "HF_TOKEN": "good"}
    done = asagoe("voices", "download", "-c", str(path), *asked, **environment)
    assert done.returncode == 0, done.stderr
    held = {
        path.parent.relative_to(tmp_path / "c/sources/hf/me/private").parts[0]
        for path in (tmp_path / "c").rglob("@current")
    }
    assert held == {"bert", expected}


def test_the_commands_of_the_cache(private, tmp_path, config, files):
    environment = {"ASAGOE_CACHE": str(tmp_path / "c"), "HF_ENDPOINT": private.url, "HF_TOKEN": "good"}
    assert asagoe("voices", "download", "-c", config, **environment).returncode == 0
    listed = asagoe("voices", "cached", **environment)
    assert f"onnx/speakers/{VOICE}" in listed.stdout
    assert "whole" in listed.stdout

    config_json = f"onnx/speakers/{VOICE}/config.json"
    private.repositories["me/private"].commit(files | {config_json: files[config_json] + b"\n"})
    shown = asagoe("voices", "update", "--dry-run", **environment)
    assert shown.returncode == 0
    assert "changed  config.json" in shown.stdout
    assert "say --yes" in asagoe("voices", "update", **environment).stderr
    assert asagoe("voices", "update", "--yes", **environment).returncode == 0
    (held,) = (tmp_path / "c").glob(f"sources/hf/me/private/onnx/speakers/{VOICE}/@current")
    assert asagoe("voices", "update", "--undo", **environment).returncode == 0

    broken = next(path for path in held.parent.rglob("style_vectors.npy"))
    for path in held.parent.rglob("style_vectors.npy"):
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    checked = asagoe("voices", "verify", **environment)
    assert checked.returncode == 1
    assert "style_vectors.npy has another content" in checked.stderr
    assert asagoe("voices", "verify", "--repair", **environment).returncode == 0
    assert asagoe("voices", "verify", **environment).returncode == 0, broken

    assert asagoe("voices", "remove", "hf://me/private", **environment).returncode == 0
    assert "holds no voices" in asagoe("voices", "cached", **environment).stdout
    assert asagoe("voices", "remove", "hf://me/private", **environment).returncode == 1

    failed = asagoe("voices", "download", "-c", config, **(environment | {"HF_TOKEN": "revoked"}))
    assert failed.returncode == 1
    assert "refuses the token" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_publishing_to_a_folder(tmp_path, files):
    voice = tmp_path / "mine"
    voice.mkdir()
    for path, data in files.items():
        if path.startswith(f"onnx/speakers/{VOICE}/"):
            (voice / path.rpartition("/")[2]).write_bytes(data)
    done = asagoe("voices", "publish", str(voice), (tmp_path / "tree").as_uri())
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tree" / "onnx" / "speakers" / "mine" / "config.json").is_file()
    assert asagoe("voices", "publish", str(tmp_path), (tmp_path / "tree2").as_uri()).returncode == 1
