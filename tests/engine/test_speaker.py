import asyncio
import threading
import time

import numpy as np
import pytest

from engine import (
    Audio,
    CancelledSpeechError,
    DeadlineExceededError,
    InvalidOptionError,
    NothingToSayError,
    Speaker,
    SpeechOptions,
    UnknownStyleError,
    VoiceNotAvailableError,
)
from engine.loudness import TARGET_LUFS, loudness
from engine.text import TextPipeline
from tests.fakes.voice import ToneVoice

TEXT = TextPipeline()


@pytest.fixture
def voice():
    return ToneVoice()


@pytest.fixture
def speaker(voice):
    speaker = Speaker("tone", voice, TEXT)
    yield speaker
    speaker.close()


def test_silence_around_a_sentence_is_trimmed_to_a_margin(speaker):
    # 10 characters of 50 ms in 0.2 s of silence on both sides: 0.5 s and two margins of 30 ms stay.
    assert speaker.generate("あいうえおかきくけこ").duration == pytest.approx(0.56, abs=0.005)


def test_sound_begins_and_ends_at_zero(speaker):
    samples = speaker.generate("あいうえお").samples
    assert abs(samples[0]) < 1e-3
    assert abs(samples[-1]) < 1e-3


def test_every_sentence_has_the_target_loudness(speaker):
    for segment in speaker.plan("これは一つ目の文です。これは二つ目の少し長い文です。").segments:
        audio = speaker.synthesize(segment).audio
        assert loudness(audio.samples, audio.sample_rate) == pytest.approx(TARGET_LUFS, abs=0.05)


def test_chunks_of_a_stream_are_the_generated_audio(speaker):
    text = "はい。そうです。終わり。"
    chunks = list(speaker.stream(text))
    assert len(chunks) == 3
    assert np.array_equal(np.concatenate([c.samples for c in chunks]), speaker.generate(text).samples)


def test_pauses_lie_between_sentences_not_after_the_last(speaker):
    first, last = speaker.stream("はい。はい。")
    assert first.duration - last.duration == pytest.approx(0.40, abs=0.001)


@pytest.mark.parametrize("text", ["", " ", "\n", "。", "😀", "…", "한국어", "\x00", "\ud800"])
def test_text_with_nothing_to_say_is_a_typed_error(speaker, text):
    with pytest.raises(NothingToSayError):
        speaker.generate(text)


def test_unread_characters_are_in_the_plan(speaker):
    plan = speaker.plan("洗濯😀が終わり한국ました")
    assert [d.text for d in plan.dropped] == ["한국"]  # an emoji is silent by design


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"style": "Sad"}, UnknownStyleError, "no style 'Sad'; it has Normal, Happy"),
        ({"noise": 0.5}, InvalidOptionError, "noise is not an option of speaker tone"),
        ({"speed": 9}, InvalidOptionError, "from 0.25 to 4"),
        ({"colour": 1}, InvalidOptionError, "unknown option"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_spoken(speaker, voice, options, error, words):
    with pytest.raises(error, match=words):
        speaker.generate("はい", **options)
    with pytest.raises(error):
        speaker.stream("はい", **options)
    assert voice.spoken == []


def test_defaults_of_the_speaker_hold_unless_the_request_says_otherwise(voice):
    fast = Speaker("fast", voice, TEXT, SpeechOptions(speed=2.0))
    slow, quick = fast.generate("あいうえお", speed=1.0), fast.generate("あいうえお")
    assert slow.duration - 0.06 == pytest.approx(2 * (quick.duration - 0.06), abs=0.01)


def test_wrong_defaults_are_refused_when_the_speaker_is_made(voice):
    with pytest.raises(UnknownStyleError):
        Speaker("x", voice, TEXT, SpeechOptions(style="Sad"))


def test_keys_are_equal_for_equal_sound_and_differ_otherwise(voice, speaker):
    def key(text, **options):
        return speaker.plan(text, **options).segments[0].key

    assert key("はい。") == key("はい。") == Speaker("other name", voice, TEXT).plan("はい。").segments[0].key
    different = [
        key("はい。"),
        key("はい！"),
        key("はい。", speed=1.5),
        key("はい。", volume=0.5),
        key("はい。", style="Happy"),
    ]
    assert len(set(different)) == 5


def test_a_cancelled_request_is_not_spoken(speaker, voice):
    cancel = threading.Event()
    stream = speaker.stream("一。二。三。", cancel=cancel)
    next(stream)
    cancel.set()
    with pytest.raises(CancelledSpeechError):
        next(stream)
    assert voice.spoken == ["一。"]


def test_a_deadline_ends_the_wait_for_a_busy_speaker(speaker, voice):
    voice.may_speak.clear()
    busy = threading.Thread(target=speaker.generate, args=("長い",))
    busy.start()
    time.sleep(0.05)
    with pytest.raises(DeadlineExceededError):
        speaker.generate("はい", deadline=0.1)
    voice.may_speak.set()
    busy.join()


def test_no_lock_is_held_while_the_consumer_has_the_turn(speaker):
    stream = speaker.stream("一。二。")
    next(stream)
    assert isinstance(speaker.generate("急ぎ", deadline=1.0), Audio)
    next(stream)


def test_async_calls_give_the_same_sound_and_leave_the_loop_free(speaker, voice):
    async def scenario():
        voice.may_speak.clear()
        task = asyncio.create_task(speaker.agenerate("はい。そうです。"))
        ticks = 0
        while ticks < 5:
            await asyncio.sleep(0.01)
            ticks += 1
        voice.may_speak.set()
        return await task

    assert np.array_equal(asyncio.run(scenario()).samples, speaker.generate("はい。そうです。").samples)


def test_a_cancelled_async_call_stops_at_the_next_sentence(speaker, voice):
    async def scenario():
        voice.delay = 0.1
        task = asyncio.create_task(speaker.agenerate("一。二。三。四。"))
        while not voice.spoken:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.1)

    asyncio.run(scenario())
    assert len(voice.spoken) < 4


def test_an_unloaded_speaker_says_what_to_do(speaker, voice):
    speaker.close()
    speaker.close()
    assert voice.closed == 1
    with pytest.raises(VoiceNotAvailableError, match="load and prepare it again"):
        speaker.generate("はい")


def test_two_threads_never_speak_at_once(voice):
    running, most = 0, 0
    original = voice.synthesize

    def counted(sentence, options):
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.01)
        running -= 1
        return original(sentence, options)

    voice.synthesize = counted
    speaker = Speaker("one", voice, TEXT)
    threads = [threading.Thread(target=speaker.generate, args=("あ。い。う。",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert len(voice.spoken) == 12


def test_what_a_voice_refuses_is_refused_by_the_plan(voice, speaker):
    voice.refused = "speed"
    with pytest.raises(InvalidOptionError, match="speed is refused"):
        speaker.plan("はい。", speed=2)
    assert voice.spoken == []
    with pytest.raises(InvalidOptionError, match="speed is refused"):
        Speaker("other", voice, TEXT, SpeechOptions(speed=2))
