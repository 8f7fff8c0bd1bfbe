"""The user's dictionary in the running service: taken over by a reload, and never served from the phrase cache."""

import signal
import subprocess
import sys

import pytest

from tests.system.house import wait_for

TEXT = "謎町です。"


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text("謎町: あま\n")
    return path


@pytest.fixture
def house(make_house, words):
    # Relative to the configuration's own folder, which make_house puts below that of the test.
    return make_house({"audio": {"device": "null"}, "dictionary": f"../{words.name}"}, sound=False)


def said(house):
    """How long the speech was, in seconds, and whether it came from the cache."""
    (event,) = house.ended(house.announce(TEXT))
    assert event["event_type"] == "finished"
    return (event["ended_ms"] - event["first_sample_ms"]) / 1000, event["cached"] == event["sentences"] == 1


def reload(house):
    before = house.service.log.count("reloaded")
    house.service.signal(signal.SIGHUP)
    wait_for(lambda: house.service.log.count("reloaded") > before, 15, lambda: f"the reload; {house.service.log}")


def test_a_reload_reads_the_same_text_with_the_changed_dictionary_and_the_cache_does_not_hide_it(house, words):
    short, cached = said(house)
    assert not cached
    assert said(house)[1]
    words.write_text("謎町: ながいながいながいながいながいなまえのまち\n")
    assert said(house)[1]  # not before the reload
    reload(house)
    long, cached = said(house)
    assert not cached
    assert long > short + 1.0
    assert said(house)[1]
    words.write_text("謎町: あま\n")
    reload(house)
    again, cached = said(house)
    assert cached  # the same words again: what was made with them is still right
    assert again == pytest.approx(short, abs=0.3)


def test_a_broken_dictionary_keeps_the_old_words_and_is_reported(house, words):
    short, _ = said(house)
    words.write_text("謎町: ながいながいながいながいながいなまえのまち\n東急: tokyu\n京急: {akcent: 1}\n")
    house.service.config["schedule"] = [{"id": "bath", "at": "20:00", "say": "お風呂です。"}]
    house.service.write_config()
    reload(house)
    assert "words.yaml:2: '東急': reading 'tokyu' must be 1 to 40 kana" in house.service.log
    assert "words.yaml:3: '京急' has 'akcent'" in house.service.log
    failed = wait_for(lambda: [e for e in house.listener.events if e["event_type"] == "failed"], 5, "the event")
    assert "words.yaml:2: '東急'" in failed[0]["reason"]
    assert house.listener.state()["next"] is None  # the rest of the file waits with it
    again, cached = said(house)
    assert cached
    assert again == pytest.approx(short, abs=0.3)
    command = [sys.executable, "-m", "daemon", "reload", "--config", str(house.service.path)]
    done = subprocess.run(command, env=house.service.full_environment, capture_output=True, text=True, check=False)
    assert done.returncode == 78
    assert "words.yaml:3: '京急' has 'akcent'" in done.stderr
