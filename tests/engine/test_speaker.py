import asyncio
import threading
import time

import numpy as np
import pytest

from engine import (
    Audio,
    CancelledSpeechError,
    DeadlineExceededError,
    EngineDefectError,
    InvalidOptionError,
    NothingToSayError,
    Speaker,
    SpeechOptions,
    TransientError,
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


def test_urgent_speech_passes_what_is_rendered_ahead_at_the_next_sentence(speaker, voice):
    voice.may_speak.clear()
    done = []

    def say(text, background):
        speaker.generate(text, background=background)
        done.append(text)

    ahead = [threading.Thread(target=say, args=(text, True)) for text in ("一。二。三。", "四。五。")]
    for thread in ahead:
        thread.start()
    while speaker._held._turns.waiting < 1:
        time.sleep(0.001)
    urgent = threading.Thread(target=say, args=("急ぎ。早く。", False))
    urgent.start()
    while speaker._held._turns.waiting < 2:
        time.sleep(0.001)
    voice.may_speak.set()
    for thread in [urgent, *ahead]:
        thread.join()
    assert voice.spoken[1] == "急ぎ。"  # one sentence was under way
    assert sorted(done) == sorted(["急ぎ。早く。", "一。二。三。", "四。五。"])


def test_urgent_tasks_pass_tasks_in_the_background(speaker, voice):
    async def scenario():
        voice.may_speak.clear()
        ahead = [asyncio.create_task(speaker.agenerate("一。二。三。四。", background=True)) for _ in range(5)]
        while not speaker.uses:
            await asyncio.sleep(0.005)
        urgent = asyncio.create_task(speaker.agenerate("急ぎ。"))
        while not speaker._held._turns.urgently_wanted:
            await asyncio.sleep(0.005)
        voice.may_speak.set()
        await asyncio.gather(urgent, *ahead)
        assert voice.spoken[1] == "急ぎ。"
        assert len(voice.spoken) == 21

    asyncio.run(scenario())


def test_a_cancelled_request_does_not_wait_for_a_busy_speaker(speaker, voice):
    voice.may_speak.clear()
    busy = threading.Thread(target=speaker.generate, args=("長い",))
    busy.start()
    while not speaker.uses:
        time.sleep(0.001)
    cancel = threading.Event()
    threading.Timer(0.05, cancel.set).start()
    with pytest.raises(CancelledSpeechError):
        speaker.generate("はい", cancel=cancel)
    voice.may_speak.set()
    busy.join()
    assert voice.spoken == ["長い"]


@pytest.fixture
def resting():
    """A speaker that can rest, with the voices that it was given."""
    voices = [ToneVoice()]

    def reload():
        if isinstance(voices[-1].error, VoiceNotAvailableError):
            raise voices[-1].error
        voices.append(ToneVoice())
        return voices[-1]

    speaker = Speaker("tone", voices[0], TEXT, load_again=reload)
    yield speaker, voices
    speaker.close()


def test_a_speaker_that_rests_holds_nothing_and_is_loaded_again_when_it_speaks(resting):
    speaker, voices = resting
    sound, key = speaker.generate("はい。"), speaker.plan("はい。").segments[0].key
    assert speaker.memory == 1000
    assert speaker.release(wait=False)
    assert (speaker.is_loaded, speaker.memory, voices[0].closed) == (False, 0, 1)
    assert not speaker.release()
    plan = speaker.plan("はい。", style="Happy")  # needs no voice
    assert speaker.plan("はい。").segments[0].key == key
    assert len(voices) == 1
    assert np.array_equal(speaker.generate("はい。").samples, sound.samples)
    assert speaker.is_loaded
    assert len(voices) == 2
    speaker.synthesize(plan.segments[0])
    assert len(voices) == 2


def test_a_speaker_does_not_rest_while_it_speaks_or_where_nobody_could_load_it_again(resting, speaker):
    resting, voices = resting
    voices[0].may_speak.clear()
    busy = threading.Thread(target=resting.generate, args=("長い",))
    busy.start()
    while not resting.uses:
        time.sleep(0.001)
    assert not resting.release(wait=False)
    voices[0].may_speak.set()
    busy.join()
    assert resting.release(wait=False)
    assert not speaker.release(wait=False)
    assert speaker.generate("はい。")


def test_a_voice_that_is_gone_after_a_rest_says_why(resting):
    speaker, voices = resting
    speaker.release(wait=False)
    voices[0].error = VoiceNotAvailableError("the folder is gone")
    with pytest.raises(VoiceNotAvailableError, match="tone cannot be loaded again: the folder is gone"):
        speaker.generate("はい。")
    voices[0].error = None
    assert speaker.generate("はい。")


def test_a_closed_speaker_does_not_wake_up(resting):
    speaker, voices = resting
    speaker.release(wait=False)
    speaker.close()
    with pytest.raises(VoiceNotAvailableError, match="was unloaded"):
        speaker.generate("はい。")
    assert len(voices) == 1


def test_tasks_that_wait_when_a_speaker_is_closed_are_told(speaker, voice):
    async def scenario():
        voice.may_speak.clear()
        tasks = [asyncio.create_task(speaker.agenerate("一。二。")) for _ in range(3)]
        while not speaker.uses:
            await asyncio.sleep(0.005)
        closing = asyncio.create_task(asyncio.to_thread(speaker.close))
        await asyncio.sleep(0.02)
        voice.may_speak.set()
        await closing
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [VoiceNotAvailableError] * 3

    asyncio.run(scenario())


def test_a_stream_and_a_plan_cut_a_text_alike(speaker, voice):
    text = "今日の東京は朝から晴れますが、夕方からは雲が広がって雨になる見込みです。" * 30 + "\n終わり。"
    list(speaker.stream(text))
    assert voice.spoken == [segment.sentence.text for segment in speaker.plan(text).segments]
    assert voice.spoken[0] == "今日の東京は朝から晴れますが、"


def test_a_stream_reads_no_more_of_a_long_text_than_it_speaks(speaker, monkeypatch):
    read = []
    script = TEXT.script
    monkeypatch.setattr(TEXT, "script", lambda text: read.append(len(text)) or script(text), raising=False)
    stream = speaker.stream("今日は良い天気です。" * 500)
    next(stream)
    assert sum(read) <= 600
    stream.close()


def test_a_sentence_in_the_background_becomes_urgent_when_somebody_waits_for_its_speaker(speaker, voice):
    from engine.turns import in_background

    seen = []
    original = voice.synthesize

    def watched(sentence, options):
        seen.append(in_background())
        voice.may_speak.wait(30)
        seen.append(in_background())
        return original(sentence, options)

    voice.synthesize = watched
    voice.may_speak.clear()
    ahead = threading.Thread(target=speaker.generate, args=("一。",), kwargs={"background": True})
    ahead.start()
    while not seen:
        time.sleep(0.001)
    urgent = threading.Thread(target=speaker.generate, args=("急ぎ。",))
    urgent.start()
    while not speaker._held._turns.urgently_wanted:
        time.sleep(0.001)
    voice.may_speak.set()
    for thread in (ahead, urgent):
        thread.join()
    assert seen == [True, False, False, False]


@pytest.mark.parametrize(
    ("raised", "expected", "words"),
    [
        (RuntimeError("std::bad_cast"), EngineDefectError, "RuntimeError('std::bad_cast')"),
        (IndexError("out of bounds"), EngineDefectError, "IndexError('out of bounds')"),
        (ValueError("cannot broadcast"), EngineDefectError, "ValueError('cannot broadcast')"),
        (OSError(5, "Input/output error"), VoiceNotAvailableError, "Input/output error"),
        (MemoryError(), TransientError, "there is no memory left while speaker tone speaks"),
        (TransientError("the device has no memory"), TransientError, "the device has no memory"),
    ],
)
def test_whatever_a_voice_raises_is_an_error_of_the_engine_and_the_speaker_stays(
    speaker, voice, raised, expected, words, caplog
):
    voice.error = raised
    with pytest.raises(expected) as caught:
        speaker.generate("はい。")
    assert type(caught.value) is expected
    assert words in str(caught.value)
    assert [r.exc_info[1] for r in caplog.records] == ([raised] if expected is EngineDefectError else [])
    voice.error = None
    assert speaker.generate("はい。").duration > 0.1
