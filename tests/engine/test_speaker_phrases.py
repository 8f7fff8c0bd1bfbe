"""Speakers speak accent phrases, and give back and take again their voices."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from engine import TTS, NothingToSayError, UnknownSpeakerError, VoiceNotAvailableError
from engine.text import parse_kana


@pytest.fixture(scope="module")
def tts():
    with TTS().load("mei").load("other", speed=1.5).prepare() as tts:
        yield tts


def sounds(speaker, plan):
    return [speaker.synthesize(segment) for segment in plan.segments]


def test_phrases_that_were_not_edited_sound_as_their_text(tts):
    mei, text = tts.speakers["mei"], "今日は、いい天気ですか?箸を置く。"
    told, own = mei.plan_phrases(tts.text.accent_phrases(text), text), mei.plan(text)
    assert told.normalized == "キョ'オワ、イ'イ/テ'ンキデ_スカ？、ハ'シオ/オク'"
    for one, other in zip(sounds(mei, told), sounds(mei, own), strict=True):
        assert np.array_equal(one.audio.samples, other.audio.samples)


def test_the_key_of_a_segment_tells_its_accents(tts):
    mei = tts.speakers["mei"]
    (phrase,) = parse_kana("ハ'シ")
    keys = {mei.plan_phrases([replace(phrase, accent=accent)]).segments[0].key for accent in (1, 2)} | {
        mei.plan("ハシ").segments[0].key
    }
    assert len(keys) == 3
    assert mei.plan_phrases([phrase]).segments[0].key == mei.plan_phrases([phrase]).segments[0].key


def test_pauses_between_segments_are_those_of_the_phrases(tts):
    mei = tts.speakers["mei"]
    first, second = parse_kana("ハ'シ、カ'キ")
    plan = mei.plan_phrases([replace(first, pause=1.25), second])
    assert [spoken.pause for spoken in sounds(mei, plan)] == [1.25, 0.0]


def test_no_phrases_are_nothing_to_say(tts):
    with pytest.raises(NothingToSayError, match="there are no accent phrases to speak"):
        tts.speakers["mei"].plan_phrases([])


def test_a_voice_is_released_and_loaded_again(tts):
    mei = tts.speakers["mei"]
    before = mei.generate("はい。")
    assert mei.is_loaded
    assert tts.release("mei")
    assert not mei.is_loaded
    assert mei.memory == 0
    assert not tts.release("mei")
    assert tts.speakers["mei"] is mei  # it is still there
    assert np.array_equal(mei.generate("はい。").samples, before.samples)
    assert mei.is_loaded
    tts.release("mei")
    mei.wake()
    assert mei.is_loaded
    mei.wake()


def test_a_release_waits_for_the_sentence_that_is_being_spoken():
    from engine import Speaker
    from engine.text import TextPipeline
    from tests.fakes.voice import ToneVoice

    voices = [ToneVoice(), ToneVoice()]
    waiting = iter(voices[1:])
    speaker = Speaker("tone", voices[0], TextPipeline(), load_again=lambda: next(waiting))
    voices[0].may_speak.clear()
    plan = speaker.plan("一番。二番。")
    heard = []
    talking = threading.Thread(target=lambda: heard.extend(sounds(speaker, plan)))
    talking.start()
    releasing = threading.Thread(target=speaker.release)
    releasing.start()
    releasing.join(0.1)
    assert releasing.is_alive()
    assert voices[0].closed == 0
    voices[0].may_speak.set()
    talking.join()
    releasing.join()
    assert len(heard) == 2
    assert voices[0].closed == 1
    speaker.close()


def test_a_speaker_that_was_unloaded_is_not_loaded_again():
    with TTS().load("mei").prepare() as tts:
        mei = tts.speakers["mei"]
        tts.release("mei")
        tts.unload("mei")
        with pytest.raises(VoiceNotAvailableError, match="speaker mei was unloaded"):
            mei.generate("はい。")
        with pytest.raises(UnknownSpeakerError):
            tts.release("mei")


def test_the_defaults_of_a_speaker_are_told(tts):
    assert tts.speakers["other"].defaults.number("speed") == 1.5
