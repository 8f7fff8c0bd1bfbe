"""Asagoe's own paths: announcements, speech as a stream, state, what is due, numbers."""

import http.client
import json
import time

import pytest

from engine import EngineDefectError, Speaker
from tests.daemon.http.conftest import sound_of
from tests.fakes.voice import ToneVoice


def until(condition, timeout=10):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_an_announcement_goes_the_way_of_all_announcements(node):
    asked = {"text": "洗濯が終わりました。", "id": "wash-1", "chime": "none"}
    assert node.ask("POST", "/api/announce", body=asked, status=202).json == {"id": "wash-1"}
    until(lambda: ("finished", "wash-1") in [(e.type, e.id) for e in node.events])
    accepted = next(e for e in node.events if e.type == "accepted" and e.id == "wash-1")
    assert accepted.details["origin"] == "http"


def test_plain_text_is_an_announcement_too(node):
    headers = {"Content-Type": "text/plain"}
    answer = node.ask("POST", "/api/announce", body="はい。".encode(), headers=headers, status=202)
    until(lambda: ("finished", answer.json["id"]) in [(e.type, e.id) for e in node.events])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the text is empty; there is nothing to say"),
        (b'{"text": "x", "speaker": "nobody"}', "there is no speaker 'nobody'; there are mei"),
        (b'{"texts": "x"}', "the key 'text' is missing"),
        (b"\xff", "the message is not UTF-8: byte 0xff at position 0"),
    ],
)
def test_what_cannot_be_announced_is_a_problem(node, body, reason):
    answer = node.ask("POST", "/api/announce", body=body, status=422)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["title"] == "Unprocessable Content" or answer.json["title"] == "Unprocessable Entity"
    assert reason in answer.json["detail"]


def test_speech_comes_as_wav_sentence_by_sentence(node):
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
    body = json.dumps({"text": "一番目の文です。二番目の文です。三番目の文です。", "sample_rate": 24000})
    connection.request("POST", "/api/say", body.encode(), {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "audio/wav"
    assert response.headers["Transfer-Encoding"] == "chunked"
    data = response.read()
    connection.close()
    sound = sound_of(data)
    assert (sound.rate, sound.channels) == (24_000, 1)
    assert 3.0 < sound.seconds < 8.0


def test_an_error_of_speech_comes_before_the_sound(node):
    for body, status, reason in [
        ({"text": "☆☆☆"}, 422, "can be read aloud"),
        ({"text": "はい", "speaker": "nobody"}, 404, "there is no speaker 'nobody'; there are mei"),
        ({"text": "はい", "style": "Angry"}, 422, "speaker mei has no style 'Angry'; it has Normal"),
        ({"text": "はい", "intonation": 1.5}, 422, "intonation is not an option of speaker mei"),
        ({"text": "あ" * 3001}, 422, "3,001 characters"),
    ]:
        answer = node.ask("POST", "/api/say", body=body, status=status)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert reason in answer.json["detail"]


@pytest.fixture
def tone(node):
    """A second speaker of 24 kHz, whose voice can be made to fail."""
    voice, house = ToneVoice(), node.service.house
    house.tts._speakers["tone"] = Speaker("tone", voice, house.tts.text)
    yield voice
    del house.tts._speakers["tone"]


@pytest.mark.parametrize("raised", [EngineDefectError("not finite"), MemoryError(), RuntimeError("oops")])
@pytest.mark.parametrize("fails_at", ["一", "二"])
def test_where_a_voice_fails_another_speaker_goes_on_with_the_same_wav(node, tone, raised, fails_at):
    original = tone.synthesize

    def failing(sentence, options):
        if fails_at in sentence.text:
            raise raised
        return original(sentence, options)

    tone.synthesize = failing
    body = {"text": "一番目の文。二番目の文。三番目の文。", "speaker": "tone", "style": "Happy"}
    sound = node.ask("POST", "/api/say", body=body).sound
    assert sound.rate == (48_000 if fails_at == "一" else 24_000)  # of the first sentence's voice
    assert tone.spoken == ([] if fails_at == "一" else ["一番目の文。"])
    assert 2.0 < sound.seconds < 6.0
    tone.synthesize = original
    assert node.ask("POST", "/api/say", body=body).sound.rate == 24_000


def test_where_no_voice_can_say_it_the_answer_tells_why_the_one_could_not_that_was_asked(node, tone, monkeypatch):
    house = node.service.house
    monkeypatch.setattr(house.tts.speakers["mei"]._held._voice, "synthesize", tone.synthesize)
    for raised, status, reason in [
        (EngineDefectError("not finite"), 500, "not finite"),
        (RuntimeError("oops"), 500, "a defect while speaker tone speaks: RuntimeError('oops')"),
        (MemoryError(), 503, "there is no memory left while speaker tone speaks"),
        (OSError(5, "Input/output error"), 503, "Input/output error"),
    ]:
        tone.error = raised
        answer = node.ask("POST", "/api/say", body={"text": "駄目です。", "speaker": "tone"}, status=status)
        assert reason in answer.json["detail"]


@pytest.mark.parametrize(
    ("raised", "status", "reason"),
    [
        (EngineDefectError("not finite"), 500, "not finite"),
        (MemoryError(), 503, "there is no memory left"),
        (RuntimeError("oops"), 500, "RuntimeError('oops')"),
    ],
)
def test_a_client_that_chose_a_voice_by_its_number_is_told_that_it_fails(node, tone, raised, status, reason):
    style = node.style("tone")
    query = node.ask("POST", "/audio_query", params={"speaker": style, "text": "はい。"}).json
    tone.error = raised
    answer = node.ask("POST", "/synthesis", params={"speaker": style}, body=query, status=status)
    assert reason in answer.json["detail"]
    tone.error = None
    assert node.ask("POST", "/synthesis", params={"speaker": style}, body=query).sound.seconds > 0.1


def test_the_state_is_that_of_the_node(node):
    state = node.ask("GET", "/api/state").json
    assert state["node"] == "home"
    assert state["speakers"] == {"mei": "ready"}


def test_what_is_due_next(make_node):
    schedule = [
        {"id": "tea", "at": "15:00", "say": "お茶です。"},
        {"id": "bed", "at": "22:00", "say": "寝る時間です。"},
    ]
    with make_node(schedule=schedule, timezone="Asia/Tokyo") as node:
        found = node.ask("GET", "/api/next", params={"count": 3}).json
        assert len(found) == 3
        assert {item["id"] for item in found} == {"tea", "bed"}
        assert all(item["at"].endswith(":00:00+09:00") for item in found)
        assert [item["at"] for item in found] == sorted(item["at"] for item in found)
        assert node.ask("GET", "/api/next", params={"count": 0}, status=422).json["status"] == 422


def test_numbers_for_prometheus(node):
    node.speak(node.query("はい。"))
    answer = node.ask("GET", "/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    lines = dict(line.rsplit(" ", 1) for line in answer.body.decode().splitlines() if not line.startswith("#"))
    assert lines['asagoe_info{node="home",version="0.1.0"}'] == "1.0"
    assert float(lines['asagoe_announcements_total{outcome="finished"}']) >= 1
    assert float(lines['asagoe_http_requests_total{method="POST",path="/synthesis",status="200"}']) >= 1
    assert lines['asagoe_speaker_ready{speaker="mei"}'] == "1.0"
    assert float(lines["process_resident_memory_bytes"]) > 1e7
    assert not any("nobody" in line or "words.yaml" in line for line in lines)  # no label holds what clients write


def test_the_document_has_examples(node):
    document = node.ask("GET", "/openapi.json").json
    announce = document["paths"]["/api/announce"]["post"]["requestBody"]["content"]
    assert announce["application/json"]["examples"]["plain"]["value"] == {"text": "洗濯が終わりました。"}
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert document["components"]["schemas"]["SayRequest"]["examples"]
