"""The application of docs/examples, served by a real server to real clients."""

import importlib.util
import json
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from engine import TTS, Speaker
from tests.fakes.voice import ToneVoice

pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "fastapi_app.py"


@pytest.fixture(scope="module")
def server():
    """The example on a port of its own, with one more speaker that a test can look into."""
    specification = importlib.util.spec_from_file_location("fastapi_app", EXAMPLE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    server = uvicorn.Server(uvicorn.Config(module.app, port=0, log_level="error", ws="none"))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        server.app, server.address = module.app, listener.getsockname()
        yield server
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def tone(server):
    voice = ToneVoice()
    speaker = server.app.state.tts._speakers["tone"] = Speaker("tone", voice, server.app.state.tts.text)
    yield voice
    voice.may_speak.set()
    speaker.close()
    del server.app.state.tts._speakers["tone"]


def url(server, path, **query):
    return f"http://{server.address[0]}:{server.address[1]}{path}?{urllib.parse.urlencode(query)}"


def get(server, path, **query):
    with urllib.request.urlopen(url(server, path, **query), timeout=20) as response:
        return response.read()


def test_coroutines_and_plain_functions_give_the_same_file(server):
    with TTS().load("mei").prepare() as tts:
        expected = tts.speakers["mei"].to_wav("おはようございます。")
    for path in ("/speech", "/speech-sync"):
        assert get(server, path, text="おはようございます。") == expected


def test_a_stream_is_the_samples_of_all_sentences(server, tone):
    samples = np.frombuffer(get(server, "/stream", text="一。二つ目。", speaker="tone"), "<i2")
    expected = server.app.state.tts.speakers["tone"].generate("一。二つ目。").pcm16
    assert np.array_equal(samples, expected)


@pytest.mark.parametrize("path", ["/speech", "/speech-sync", "/stream"])
@pytest.mark.parametrize(
    ("query", "words"),
    [({"text": "😀"}, "can be read aloud"), ({"text": "はい", "speaker": "nobody"}, "no speaker 'nobody' is ready")],
)
def test_a_bad_request_is_told_in_a_sentence(server, path, query, words):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(server, path, **query)
    assert caught.value.code == 400
    assert words in json.loads(caught.value.read())["error"]
    caught.value.close()


def test_a_client_that_goes_away_ends_the_work_at_the_next_sentence(server, tone):
    tone.delay = 0.05
    text = "".join(f"{number}番目の文です。" for number in range(100))
    request = url(server, "/stream", text=text, speaker="tone").partition(str(server.address[1]))[2]
    with socket.create_connection(server.address, timeout=10) as client:
        client.sendall(f"GET {request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        while len(tone.spoken) < 3:
            assert client.recv(65536)
    deadline = time.monotonic() + 5
    while True:
        before = len(tone.spoken)
        time.sleep(0.5)
        if len(tone.spoken) == before:
            break
        assert time.monotonic() < deadline, "it goes on"
    assert len(tone.spoken) < 20
    assert get(server, "/speech-sync", text="まだ話せます。", speaker="tone")[:4] == b"RIFF"


def test_many_clients_are_served_at_once_and_none_gets_another_ones_speech(server, tone):
    results = {}

    def ask(number):
        path = ("/speech", "/speech-sync")[number % 2]
        results[number] = len(get(server, path, text="あ" * (number + 1), speaker="tone"))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(16):
        seconds = 0.05 * (number + 1) + 0.06
        assert results[number] == pytest.approx(44 + 2 * 24_000 * seconds, abs=100)
