import asyncio
from dataclasses import replace

import pytest

from daemon.announcement import Announcement
from daemon.phrases import PhraseCache
from daemon.renderer import Renderer
from daemon.substitution import render_ahead
from engine import TTS, Dictionary, DictionaryError, Speaker, VoiceNotAvailableError, Word
from tests.fakes.voice import ToneVoice

SHORT = Dictionary((Word("謎町", "あまち"),))
LONG = Dictionary((Word("謎町", "ながいながいながいながいなまえのまち"),))


@pytest.fixture
def tts():
    with TTS().load("mei").prepare() as tts:
        yield tts


@pytest.fixture
def renderer(tts, tmp_path):
    renderer = Renderer(tts, PhraseCache(tmp_path, 10**7), "mei", frozenset({"mei"}))
    yield renderer
    renderer.close()


async def heard(renderer, job):
    rendering = await renderer.render(job, job.plan.segments[0])
    return rendering.spoken.audio.duration, rendering.cached


def announcement():
    from datetime import UTC, datetime

    return Announcement(id="x", text="謎町です。", received=datetime.now(UTC), received_at=0.0, origin="test")


def test_a_changed_dictionary_is_heard_at_once_and_the_old_sound_comes_back_with_the_old_words(tts, renderer):
    async def scenario():
        tts.use_dictionary(SHORT)
        short, cached = await heard(renderer, await renderer.plan(announcement()))
        assert not cached
        tts.use_dictionary(LONG)
        long, cached = await heard(renderer, await renderer.plan(announcement()))
        assert not cached
        assert long > 1.5 * short
        tts.use_dictionary(SHORT)
        again, cached = await heard(renderer, await renderer.plan(announcement()))
        assert (round(again, 3), cached) == (round(short, 3), True)

    asyncio.run(scenario())


def test_a_sentence_that_was_planned_with_other_words_leaves_no_sound_under_their_key(tts, renderer):
    async def scenario():
        tts.use_dictionary(SHORT)
        job = await renderer.plan(announcement())
        tts.use_dictionary(LONG)
        long, _ = await heard(renderer, job)
        tts.use_dictionary(SHORT)
        short, cached = await heard(renderer, await renderer.plan(announcement()))
        assert not cached
        assert long > 1.5 * short

    asyncio.run(scenario())


def test_a_dictionary_can_be_given_by_its_path_and_a_broken_one_changes_nothing(tts, tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text("謎町: あまち\n")
    assert tts.use_dictionary(path) is tts
    assert tts.text.kana("謎町") == "アマチ"
    path.write_text("謎町: x\n")
    with pytest.raises(DictionaryError, match=r"words\.yaml:1: '謎町': reading 'x'"):
        tts.use_dictionary(str(path))
    assert tts.text.kana("謎町") == "アマチ"


def test_what_is_asked_for_now_passes_what_is_rendered_ahead(tmp_path):
    from engine import Speaker
    from tests.fakes.voice import ToneVoice

    async def scenario():
        voice, tts = ToneVoice(), TTS()
        tts._speakers["tone"] = Speaker("tone", voice, tts.text)
        renderer = Renderer(tts, PhraseCache(tmp_path, 10**7), "tone", frozenset({"tone"}))
        voice.may_speak.clear()
        ahead = asyncio.create_task(render_ahead(replace(announcement(), text="一。二。三。四。五。六。"), renderer))
        speaker = tts.speakers["tone"]
        while not speaker.uses:
            await asyncio.sleep(0.005)
        job = await renderer.plan(replace(announcement(), text="急ぎ。"))
        urgent = asyncio.create_task(renderer.render(job, job.plan.segments[0]))
        while not speaker._held._turns.urgently_wanted:
            await asyncio.sleep(0.005)
        voice.may_speak.set()
        assert not (await urgent).cached
        assert voice.spoken.index("急ぎ。") == 1
        assert await ahead == 6
        again = await renderer.plan(replace(announcement(), text="一。二。"))
        assert (await renderer.render(again, again.plan.segments[1])).cached
        renderer.close()
        tts.close()

    asyncio.run(scenario())


def test_speech_that_is_in_the_cache_does_not_wake_a_speaker_and_other_speech_does(tts, renderer):
    async def scenario():
        job = await renderer.plan(announcement())
        await heard(renderer, job)
        assert job.speaker.release(wait=False)
        assert (await heard(renderer, await renderer.plan(announcement())))[1]
        assert not job.speaker.is_loaded
        assert await render_ahead(announcement(), renderer) == 0
        assert not job.speaker.is_loaded
        assert await render_ahead(replace(announcement(), text="ほかの文です。"), renderer) == 1
        assert job.speaker.is_loaded

    asyncio.run(scenario())


def test_another_speaker_goes_on_for_one_that_does_not_wake_up(tts, renderer):
    from daemon.pieces import pieces_of

    async def scenario():
        tts.load("other").prepare()
        renderer.configure("other", frozenset({"mei", "other"}))
        said = replace(announcement(), speaker="mei")
        job = await renderer.plan(said)
        job.speaker.release(wait=False)

        def gone():
            del tts._speakers["mei"]
            raise VoiceNotAvailableError("gone")

        job.speaker._held._load_again = gone
        pieces = pieces_of(said, job, renderer, resume_at=0, chime_rate=48_000, on_rendered=lambda _: None)
        heard = [piece async for piece in pieces]
        assert len(heard) == 1
        assert heard[0].audio.duration > 0.5

    asyncio.run(scenario())


def test_a_chosen_style_is_that_of_announcements_that_name_neither_speaker_nor_style(tmp_path):
    with TTS() as tts:
        for name in ("tone", "other"):
            tts._speakers[name] = Speaker(name, ToneVoice(), tts.text)
        renderer = Renderer(tts, PhraseCache(tmp_path, 0), "tone", frozenset({"tone", "other", "away"}))
        renderer.default_style = lambda: "Happy"

        def style(**fields):
            job = asyncio.run(renderer.plan(replace(announcement(), **fields)))
            return job.plan.segments[0].options.style

        assert style() == "Happy"
        assert style(options={"style": "Normal"}) == "Normal"
        assert style(speaker="other") is None
        assert style(speaker="away") is None
        renderer.default_style = lambda: "Gone"
        assert style() is None
        renderer.close()
