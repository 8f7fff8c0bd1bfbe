"""Speakers of clients: numbers that stay, and memory that goes back."""

import threading
import time

from daemon.http.styles import speaker_uuid, styles_of

MEI = 107862192
MEI_UUID = "98bdcecd-35cf-5ed2-b5a5-72bc3cd3aa8b"


def test_numbers_depend_on_names_alone():
    first = styles_of({"mei": ["Normal"], "f1": ["Neutral", "Happy"]})
    again = styles_of({"f1": ["Neutral", "Happy"], "new": ["x"], "mei": ["Normal"]})
    numbers = {(style.speaker, style.name): style.id for style in again}
    assert all(numbers[style.speaker, style.name] == style.id for style in first)
    assert all(0 <= number < 2**31 for number in numbers.values())
    # Written down once: another release must not change what clients have kept.
    assert numbers["mei", "Normal"] == MEI
    assert speaker_uuid("mei") == MEI_UUID


def test_two_styles_of_one_number_are_told_apart(monkeypatch):
    monkeypatch.setattr("daemon.http.styles._number", lambda pair, attempt: 5 + attempt)
    styles = styles_of({"b": ["x"], "a": ["y", "x"]})
    assert {(style.speaker, style.name): style.id for style in styles} == {("a", "x"): 5, ("a", "y"): 6, ("b", "x"): 7}


def test_what_there_is_is_told(node):
    assert node.ask("GET", "/version").json == node.ask("GET", "/core_versions").json[0] == "0.1.0"
    (mei,) = node.ask("GET", "/speakers").json
    assert (mei["name"], mei["speaker_uuid"]) == ("mei", MEI_UUID)
    assert mei["styles"] == [{"name": "Normal", "id": MEI, "type": "talk"}]
    info = node.ask("GET", "/speaker_info", params={"speaker_uuid": MEI_UUID}).json
    assert info["style_infos"][0]["id"] == MEI
    node.ask("GET", "/speaker_info", params={"speaker_uuid": "nobody"}, status=404)
    assert node.ask("GET", "/singers").json == []
    assert node.ask("GET", "/supported_devices").json == {"cpu": True, "cuda": False, "dml": False}
    features = node.ask("GET", "/engine_manifest").json["supported_features"]
    assert features["adjust_phoneme_length"] is features["adjust_mora_pitch"] is False
    assert features["adjust_pause_length"] is True


def test_a_voice_is_freed_and_loaded_again_when_it_is_needed(node):
    style = {"speaker": node.style()}
    query = node.query("はい。")
    before = node.speak(query).body
    assert node.ask("POST", "/cleanup_speaker", params=style).json == {"released": ["mei"]}
    assert node.ask("GET", "/is_initialized_speaker", params=style).json is False
    assert node.ask("POST", "/cleanup_speaker", params=style).json == {"released": []}  # and again
    assert node.ask("POST", "/cleanup_all_speakers").json == {"released": []}
    node.ask("POST", "/initialize_speaker", params=style, status=204)
    assert node.ask("GET", "/is_initialized_speaker", params=style).json is True
    assert node.ask("POST", "/cleanup_all_speakers").json == {"released": ["mei"]}
    assert node.speak(query).body == before
    assert node.ask("GET", "/is_initialized_speaker", params=style).json is True
    node.ask("POST", "/cleanup_speaker", params={"speaker": 1}, status=404)


def test_an_announcement_wakes_its_voice(node):
    node.ask("POST", "/cleanup_all_speakers")
    name = node.ask("POST", "/api/announce", body={"text": "起きました。"}, status=202).json["id"]
    deadline = time.monotonic() + 10
    while ("finished", name) not in [(event.type, event.id) for event in node.events]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    finished = next(event for event in node.events if (event.type, event.id) == ("finished", name))
    assert finished.details["speaker"] == "mei"  # and no other voice


def test_voices_are_freed_while_they_speak_and_nobody_notices(node):
    query = node.query("一番目です。二番目です。三番目です。四番目です。")
    expected = node.speak(query).body
    stop = threading.Event()

    def clean():
        while not stop.is_set():
            node.ask("POST", "/cleanup_all_speakers")

    cleaner = threading.Thread(target=clean)
    cleaner.start()
    try:
        assert [node.speak(query).body == expected for _ in range(4)] == [True] * 4
    finally:
        stop.set()
        cleaner.join()
