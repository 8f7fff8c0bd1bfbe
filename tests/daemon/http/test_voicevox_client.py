"""A client of VOICEVOX that others wrote (voicevox-client) against the running service."""

import asyncio
import warnings

import pytest

from tests.daemon.http.conftest import Node, sound_of
from tests.fakes.published import VOICE, unpack_published

vvclient = pytest.importorskip("vvclient")
from vvclient.errors import HTTPException, NotFoundError
from vvclient.http import Route


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A service with two speakers, one of them neural with three styles."""
    tree = unpack_published(tmp_path_factory.mktemp("published"))
    speakers = {"mei": {"source": "openjtalk:mei"}, "f1": {"source": tree.as_uri(), "name": VOICE, "seed": 1}}
    with Node(tmp_path_factory.mktemp("client"), speakers=speakers) as node:
        yield node


def client_of(node):
    return vvclient.Client(base_uri=f"http://127.0.0.1:{node.port}")


def run(scenario):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # aiohttp's sockets close in the loop's next round
        return asyncio.run(scenario)


def test_query_and_synthesis(several):
    async def scenario():
        async with client_of(several) as client:
            assert await client.fetch_engine_version() == "0.1.0"
            assert await client.fetch_core_versions() == ["0.1.0"]
            number = several.style()
            query = await client.create_audio_query("洗濯が終わりました。", speaker=number)
            assert query.data["kana"] == "センタクガ'/オワリマ'_シタ"
            sound = sound_of(await query.synthesis(speaker=number))
            assert 1.0 < sound.seconds < 3.0
            query.data["speedScale"] = 2.0
            assert sound_of(await query.synthesis(speaker=number)).seconds < 0.7 * sound.seconds

    run(scenario())


def test_several_speakers_and_styles(several):
    async def scenario():
        async with client_of(several) as client:
            speakers = await client.http.request(Route("GET", "/speakers"))
            styles = {(s["name"], t["name"]): t["id"] for s in speakers for t in s["styles"]}
            assert set(styles) == {("mei", "Normal"), ("f1", "Neutral"), ("f1", "Happy"), ("f1", "Sad")}
            sounds = {}
            for name, number in styles.items():
                query = await client.create_audio_query("はい、そうです。", speaker=number)
                assert query.data["outputSamplingRate"] == (48_000 if name[0] == "mei" else 44_100)
                sounds[name] = await query.synthesis(speaker=number, enable_interrogative_upspeak=True)
            assert len(set(sounds.values())) == 4

    run(scenario())


def test_speakers_are_loaded_freed_and_loaded(several):
    async def scenario():
        async with client_of(several) as client:
            number = several.style("f1", "Happy")
            await client.init_speaker(number, skip_reinit=True)
            assert await client.is_inited_speaker(number) is True
            await client.http.request(Route("POST", "/cleanup_speaker"), params={"speaker": number})
            assert await client.is_inited_speaker(number) is False
            await client.init_speaker(number)
            assert await client.is_inited_speaker(number) is True

    run(scenario())


def test_the_user_dictionary(several):
    async def scenario():
        async with client_of(several) as client:
            number = several.style()
            word = {"surface": "霧笛子", "pronunciation": "ムテキコ", "accent_type": 3}
            uuid = await client.http.request(Route("POST", "/user_dict_word"), params=word)
            query = await client.create_audio_query("霧笛子です。", speaker=number)
            assert query.data["kana"] == "ムテキ'コデ_ス"
            words = await client.http.request(Route("GET", "/user_dict"))
            assert words[uuid]["surface"] == "霧笛子"
            await client.http.request(Route("DELETE", f"/user_dict_word/{uuid}"))
            assert uuid not in await client.http.request(Route("GET", "/user_dict"))

    run(scenario())


def test_errors_are_what_the_client_expects(several):
    async def scenario():
        async with client_of(several) as client:
            with pytest.raises(NotFoundError):
                await client.create_audio_query("はい", speaker=1)
            with pytest.raises(HTTPException):
                await client.http.request(Route("POST", "/validate_kana"), params={"text": "x"})

    run(scenario())


def test_an_edited_accent_is_heard_of_a_neural_voice_too(several):
    query = several.query("今日はいい天気です。", speaker="f1", style="Neutral")
    plain = several.speak(query, speaker="f1", style="Neutral").body
    assert several.speak(query, speaker="f1", style="Neutral").body == plain  # it has a seed
    query["accent_phrases"][0]["accent"] = 3
    assert several.speak(query, speaker="f1", style="Neutral").body != plain
    question = several.query("いい天気ですか?", speaker="f1", style="Neutral")
    rising = several.speak(question, speaker="f1", style="Neutral").body
    told = several.speak(question, speaker="f1", style="Neutral", enable_interrogative_upspeak="false").body
    assert rising != told
