"""Neural voices in the running service: from a message to a WAV file, by the real command and a real broker."""

import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.published import VOICE, unpack_published
from tests.system.house import wait_for


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return unpack_published(tmp_path_factory.mktemp("声 の木"))


def speakers_of(tree):
    return {
        "f1": {"source": tree.as_uri(), "name": VOICE, "style": "Happy", "seed": 1},
        "f2": {"source": str(tree), "name": VOICE, "speed": 1.25},
        "ghost": {"source": "file:///no/such/folder", "style": "Sad"},
    }


@pytest.fixture
def house(make_house, tree, tmp_path):
    audio = {"device": f"file:{tmp_path / 'sound'}", "lead_in_ms": 0, "volume": 100, "keep_open": "0s"}
    return make_house({"speakers": speakers_of(tree), "default_speaker": "ghost", "audio": audio}, sound=False)


def last_sound(folder: Path) -> np.ndarray:
    newest = max((folder / "sound").glob("*.wav"), key=lambda path: path.stat().st_mtime_ns)
    with wave.open(str(newest)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768


def test_neural_speakers_speak_beside_one_that_is_missing(house, tmp_path):
    state = house.listener.state()
    assert state["speakers"] == {"f1": "ready", "f2": "ready", "ghost": "unavailable"}
    assert (
        "speaker ghost is not available, the embedded voice speaks for it: there is no folder /no/such/folder"
        in house.service.log
    )

    def say(**fields):
        name = house.announce("今日は良い天気ですね。", **fields)
        (event,) = house.ended(name)
        assert event["event_type"] == "finished", event
        return event, house.event("started", name), last_sound(tmp_path)

    event, started, happy = say(speaker="f1")
    assert event["speaker"] == "f1"
    assert (event["sentences"], event["cached"]) == (1, 0)
    assert "instead_of" not in started
    assert np.abs(happy).max() > 0.05
    event, _, again = say(speaker="f1")
    assert event["cached"] == 1
    assert len(again) == len(happy)
    _, _, sad = say(speaker="f1", style="Sad", speed=1.5, pitch="2", intonation=1.2)
    assert len(sad) < 0.85 * len(happy)
    event, started, _ = say(speaker="f2", style="Neutral")
    assert event["speaker"] == "f2"

    bad = house.announce("はい。", speaker="f1", style="Angry")
    (event,) = house.ended(bad)
    assert event["event_type"] == "failed"
    assert event["reason"] == "speaker f1 has no style 'Angry'; it has Neutral, Happy, Sad"
    assert house.story(bad) == ["accepted", "queued", "failed"]

    for fields in ({}, {"speaker": "ghost"}):
        event, started, _ = say(**fields)
        assert (started["speaker"], started["instead_of"]) == ("embedded", "ghost")


def test_a_missing_speaker_comes_back_with_a_reload(house, tree, tmp_path):
    house.service.config["speakers"]["ghost"] = {"source": str(tree), "name": VOICE}
    house.service.write_config()
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "reload", "--config", str(house.service.path)],
        env=house.service.full_environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wait_for(lambda: house.listener.state()["speakers"]["ghost"] == "ready", 30, lambda: house.service.log[-2000:])
    name = house.announce("はい。")
    (event,) = house.ended(name)
    assert event["speaker"] == "ghost"
    assert "instead_of" not in house.event("started", name)


def test_the_command_line_speaks_with_them(house, tmp_path):
    def asagoe(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "daemon", *arguments, "--config", str(house.service.path)],
            env=house.service.full_environment, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    target = tmp_path / "out.wav"
    done = asagoe("say", "今日は良い天気ですね。", "--speaker", "f2", "--style", "Happy", "--out", str(target))
    assert done.returncode == 0, done.stderr
    with wave.open(str(target)) as file:
        assert file.getframerate() == 44100
        assert file.getnframes() > 22050
    done = asagoe("say", "はい。", "--speaker", "ghost")
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "1 speaker(s) could not be prepared: ghost: there is no folder /no/such/folder; "
        "name the root of a tree of voices"
    )
