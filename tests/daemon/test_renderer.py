import asyncio

import pytest

from daemon.announcement import Announcement
from daemon.phrases import PhraseCache
from daemon.renderer import Renderer
from engine import TTS, Dictionary, DictionaryError, Word

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
