"""Requests for speech are bounded, take turns, end with their client, and never go before what the house says."""

import asyncio
import http.client
import json
import threading
import time

import pytest

from daemon.http.problems import BusyError
from daemon.http.work import Work
from daemon.phrases import PhraseCache
from daemon.renderer import Renderer
from engine import TTS, Speaker
from tests.daemon.http.conftest import Node
from tests.fakes.voice import ToneVoice


class Instant:
    """A renderer that does at once what it is asked."""

    async def behind(self, work):
        await asyncio.sleep(0)
        return work()


def test_one_more_than_the_limit_is_refused_and_a_place_that_is_left_is_free():
    async def scenario():
        work = Work(Instant(), 2)
        async with work.job(), work.job():
            with pytest.raises(BusyError, match=r"^2 requests for speech are being worked on"):
                async with work.job():
                    pass
        async with work.job():
            assert work.jobs == 1
        assert work.jobs == 0

    asyncio.run(scenario())


def test_a_short_text_does_not_wait_for_the_end_of_a_long_one():
    async def scenario():
        work, done = Work(Instant(), 9), []

        async def job(name, sentences):
            async with work.job():
                for index in range(sentences):
                    await work.turn(lambda index=index: done.append(f"{name}{index}"))

        await asyncio.gather(job("long", 4), job("short", 1), job("other", 2))
        assert done == ["long0", "short0", "other0", "long1", "other1", "long2", "long3"]

    asyncio.run(scenario())


def test_who_is_cancelled_while_waiting_loses_the_turn_and_hands_it_on():
    async def scenario():
        work, done = Work(Instant(), 9), []

        async def job(name):
            async with work.job():
                await work.turn(lambda: done.append(name))

        tasks = [asyncio.create_task(job(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (done, work.jobs) == (["a", "c"], 0)

    asyncio.run(scenario())


def test_clients_wait_while_the_house_is_about_to_speak(tmp_path):
    async def scenario():
        voice, other = ToneVoice(), ToneVoice()
        voice.may_speak.clear()
        with TTS() as tts:
            tts._speakers["house"] = Speaker("house", voice, tts.text)
            tts._speakers["web"] = Speaker("web", other, tts.text)
            renderer = Renderer(tts, PhraseCache(tmp_path, 0), "house", frozenset({"house", "web"}))
            job = await renderer.behind(lambda: renderer.plan_now("警報です。", None, {}))
            urgent = asyncio.create_task(renderer.render(job, job.plan.segments[0]))
            await asyncio.sleep(0.05)
            web = renderer.plan_now("後です。", "web", {})
            client = asyncio.create_task(renderer.behind(lambda: renderer.render_now(web, web.plan.segments[0])))
            await asyncio.sleep(0.2)
            assert not client.done()
            assert other.spoken == []  # although its own voice and its own thread are free
            voice.may_speak.set()
            await urgent
            await client
            assert other.spoken == ["後です。"]
            renderer.close()

    asyncio.run(scenario())


def test_speech_of_clients_is_taken_from_the_phrase_cache_but_never_put_into_it(tmp_path):
    voice = ToneVoice()
    with TTS() as tts:
        tts._speakers["tone"] = Speaker("tone", voice, tts.text)
        renderer = Renderer(tts, PhraseCache(tmp_path, 10**7), "tone", frozenset({"tone"}))
        job = renderer.plan_now("はい。", None, {})
        renderer.render_now(job, job.plan.segments[0])
        renderer.render_now(job, job.plan.segments[0])
        assert len(voice.spoken) == 2
        asyncio.run(renderer.render(job, job.plan.segments[0]))
        assert renderer.render_now(job, job.plan.segments[0]).cached
        assert len(voice.spoken) == 3
        renderer.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with Node(tmp_path_factory.mktemp("work"), settings={"max_waiting": 3}) as node:
        tts = node.service.house.tts
        node.tone = ToneVoice()
        tts._speakers["mei"].close()
        tts._speakers["mei"] = Speaker("mei", node.tone, tts.text)
        yield node


@pytest.fixture(autouse=True)
def _calm(request):
    yield
    if "house" in request.fixturenames:
        house = request.getfixturevalue("house")
        house.tone.may_speak.set()
        house.tone.delay = 0.0
        deadline = time.monotonic() + 10
        while jobs(house):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def jobs(house):
    lines = house.ask("GET", "/metrics").body.decode().splitlines()
    return float(next(line for line in lines if line.startswith("asagoe_http_jobs ")).split()[1])


def post(house, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=20)
    connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return connection


@pytest.mark.parametrize("path", ["/synthesis", "/cancellable_synthesis", "/multi_synthesis", "/api/say"])
def test_a_client_that_goes_away_frees_its_work_at_the_next_sentence(house, path):
    text = "。".join(f"文{number}" for number in "一二三四五六七八九十") + "。"
    query = house.query(text)
    body = {"/api/say": {"text": text}, "/multi_synthesis": [query]}.get(path, query)
    house.tone.spoken.clear()
    house.tone.delay = 0.1
    connection = post(house, path + ("" if path == "/api/say" else f"?speaker={house.style()}"), body)
    while not house.tone.spoken:
        time.sleep(0.005)
    connection.close()
    said = len(house.tone.spoken)
    deadline = time.monotonic() + 5
    while jobs(house):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.3)
    assert len(house.tone.spoken) <= said + 2  # the one it was at, and one that had begun


def test_too_many_at_once_are_asked_to_come_back(house):
    house.tone.may_speak.clear()
    body = {"text": "待ちます。"}
    waiting = [post(house, "/api/say", body) for _ in range(3)]
    while jobs(house) < 3:
        time.sleep(0.01)
    answer = house.ask("POST", "/api/say", body=body, status=503)
    assert answer.headers["Retry-After"] == "2"
    assert answer.json["detail"] == "3 requests for speech are being worked on; try again in a moment"
    house.tone.may_speak.set()
    for connection in waiting:
        response = connection.getresponse()
        assert response.status == 200
        response.read()
        connection.close()


def test_many_clients_get_their_own_sound_while_announcements_are_said(house):
    house.tone.delay = 0.01
    style = house.style()
    wrong = []

    def client(number):
        text = "あ" * (4 + number % 9) + "。"
        query = {**house.query(text), "prePhonemeLength": 0.0, "postPhonemeLength": 0.0}
        for _ in range(3):
            answer = house.ask("POST", "/synthesis", params={"speaker": style}, body=query, status=None)
            while answer.status == 503:  # three places only
                time.sleep(0.02)
                answer = house.ask("POST", "/synthesis", params={"speaker": style}, body=query, status=None)
            if abs(answer.sound.seconds - 0.05 * len(text)) > 0.01:
                wrong.append((text, answer.sound.seconds))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    names = [house.ask("POST", "/api/announce", body={"text": f"知らせ{n}。"}, status=202).json["id"] for n in "一二三"]
    for thread in threads:
        thread.join()
    assert wrong == []
    deadline = time.monotonic() + 10
    while not {("finished", name) for name in names} <= {(event.type, event.id) for event in house.events}:
        assert time.monotonic() < deadline
        time.sleep(0.02)
