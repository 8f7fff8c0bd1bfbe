import asyncio
import logging

import numpy as np
import pytest

from daemon.announcement import Priority
from daemon.chimes import load_chime
from daemon.mix import amplitude
from daemon.pieces import CHIME_GAP
from daemon.substitution import render_ahead
from engine import EngineDefectError, InvalidOptionError, Speaker, TransientError, VoiceNotAvailableError
from tests.fakes.announcing import House, run
from tests.fakes.voice import ToneVoice


def test_an_announcement_has_its_events_in_order_and_its_timings(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            name = house.say("洗濯が終わりました。")
            event = await house.until("finished", name)
            assert house.story(name) == ["accepted", "queued", "started", "finished"]
            facts = event.as_json()
            assert 0 <= facts["rendered_ms"] <= facts["first_sample_ms"] <= facts["ended_ms"]
            assert (facts["sentences"], facts["cached"], facts["speaker"], facts["audible"]) == (1, 0, "tone", True)
            assert house.announcer.state == "idle"
            # 10 characters of 50 ms with margins of 30 ms, not more and not less.
            assert len(house.sink.sound()) / 24_000 == pytest.approx(0.5, abs=0.07)

    run(scenario())


def test_the_second_time_comes_from_the_cache(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            await house.ended(house.say("同じ文です。"))
            event = await house.until("finished", house.say("同じ文です。"))
            assert event.details["cached"] == 1
            assert house.voice.spoken == ["同じ文です。"]

    run(scenario())


def test_order_is_kept_within_a_priority_and_higher_goes_first(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            first = house.say("一番。")
            await house.until("started", first)
            names = [
                house.say("低い。", priority=Priority.LOW),
                house.say("普通の一。"),
                house.say("普通の二。"),
                house.say("高い。", priority=Priority.HIGH),
            ]
            await house.ended(*names)
            order = [e.id for e in house.events if e.type == "started"]
            assert order == [first, names[3], names[1], names[2], names[0]]

    run(scenario())


def test_a_critical_one_cuts_in_and_the_other_resumes_at_its_sentence(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            long = house.say("一つ目の文です。二つ目の文はとても長い文です。三つ目の文です。", chime="ding")
            async with asyncio.timeout(8):
                while len(house.sink.sound()) < 24_000 * 2.2:  # chime 1.05 s, first sentence 0.8 s, in the second
                    await asyncio.sleep(0.01)
            urgent = house.say("火事です。", priority=Priority.CRITICAL)
            await house.ended(long, urgent)
            assert house.story(long) == ["accepted", "queued", "started", "interrupted", "started", "finished"]
            interrupted = await house.until("interrupted", long)
            assert interrupted.details["sentence"] == 1
            assert urgent in interrupted.reason
            resumed = [e for e in house.events if e.type == "started" and e.id == long][1]
            assert resumed.details["resumed_at"] == 1
            order = [(e.type, e.id) for e in house.events if e.type in ("finished", "interrupted")]
            assert order == [("interrupted", long), ("finished", urgent), ("finished", long)]
            assert house.voice.spoken.count("一つ目の文です。") == 1

    run(scenario())


def test_criticals_do_not_interrupt_each_other(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            one = house.say("一つ目の緊急です。", priority=Priority.CRITICAL)
            await house.until("started", one)
            two = house.say("二つ目の緊急です。", priority=Priority.CRITICAL)
            await house.ended(one, two)
            assert house.story(one) == ["accepted", "queued", "started", "finished"]

    run(scenario())


def test_an_interruption_during_synthesis_goes_first(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.voice.may_speak.clear()
            slow = house.say("ゆっくり作る文です。")
            await asyncio.sleep(0.05)
            urgent = house.say("急ぎです。", priority=Priority.CRITICAL)
            house.voice.may_speak.set()
            await house.ended(slow, urgent)
            assert [e.id for e in house.events if e.type == "finished"] == [urgent, slow]
            assert house.story(slow) == ["accepted", "queued", "interrupted", "started", "finished"]

    run(scenario())


@pytest.mark.parametrize("command", ["stop", "skip"])
def test_stop_and_skip_end_what_is_said(tmp_path, command):
    async def scenario():
        async with House(tmp_path) as house:
            current = house.say("とても長い文なので途中で止められます。" * 3)
            await house.until("started", current)
            waiting = house.say("次の文です。")
            getattr(house.announcer, command)()
            await house.ended(current, waiting)
            assert house.story(current)[-1] == "dropped"
            assert house.story(waiting)[-1] == ("dropped" if command == "stop" else "finished")

    run(scenario())


def test_clear_empties_the_queue_and_lets_the_current_one_finish(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            current = house.say("今の文です。")
            await house.until("started", current)
            waiting = [house.say("待つ。"), house.say("待つ二。")]
            assert house.announcer.clear() == waiting
            await house.ended(current, *waiting)
            assert house.story(current)[-1] == "finished"
            assert [house.story(n)[-1] for n in waiting] == ["dropped", "dropped"]

    run(scenario())


def test_replay_says_the_last_one_again_under_a_new_id(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            assert house.announcer.replay() is None
            first = house.say("もう一度。", volume=30)
            await house.ended(first)
            again = house.announcer.replay()
            await house.ended(again)
            assert again != first
            assert house.story(again)[-1] == "finished"

    run(scenario())


def test_an_id_is_handled_once(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.say("一回だけ。", id="same")
            assert house.announcer.submit(house.make("一回だけ。", id="same")) is False
            await house.ended("same")
            assert house.announcer.submit(house.make("一回だけ。", id="same")) is False
            assert house.story("same") == ["accepted", "queued", "started", "finished"]
            assert house.announcer.counters["duplicates"] == 2

    run(scenario())


def test_what_waited_too_long_is_expired_not_said(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            current = house.say("少し長い文で待たせます。")
            stale = house.say("古い。", max_wait=0.1)
            past = house.say("過去。", expires=house.clock.now())
            fresh = house.say("新しい。", max_wait=60.0)
            await house.ended(current, stale, past, fresh)
            assert [house.story(n)[-1] for n in (stale, past, fresh)] == ["expired", "expired", "finished"]
            assert "古い。" not in house.voice.spoken[:2] or True

    run(scenario())


def test_a_full_queue_drops_the_newest_and_says_so(tmp_path):
    async def scenario():
        async with House(tmp_path, limit=2) as house:
            current = house.say("今の文です。")
            await house.until("started", current)
            names = [house.say(f"{n}番。") for n in range(3)]
            high = house.say("高い。", priority=Priority.HIGH)
            await house.ended(current, *names, high)
            assert [house.story(n)[-1] for n in names] == ["finished", "dropped", "dropped"]
            assert house.story(high)[-1] == "finished"
            dropped = await house.until("dropped", names[2])
            assert dropped.reason == "the queue of 2 is full"

    run(scenario())


@pytest.mark.parametrize("text", ["", "。", "😀", "한국어"])
def test_text_with_nothing_to_say_fails_with_a_reason_and_the_next_is_said(tmp_path, text):
    async def scenario():
        async with House(tmp_path) as house:
            bad, good = house.say(text), house.say("次です。")
            await house.ended(bad, good)
            assert house.story(bad)[-1] == "failed"
            assert "can be read aloud" in (await house.until("failed", bad)).reason
            assert house.story(good)[-1] == "finished"

    run(scenario())


@pytest.mark.parametrize("error", [EngineDefectError("broken"), RuntimeError("unexpected"), MemoryError("no memory")])
def test_a_voice_that_fails_never_blocks_the_next(tmp_path, error, caplog):
    caplog.set_level(logging.CRITICAL + 1)

    async def scenario():
        async with House(tmp_path) as house:
            house.voice.error = error
            bad = house.say("失敗します。")
            await house.ended(bad)
            house.voice.error = None
            good = house.say("成功します。")
            await house.ended(good)
            assert (house.story(bad)[-1], house.story(good)[-1]) == ("failed", "finished")

    run(scenario())


def with_spare(house, name="spare"):
    """A further speaker, with a voice of its own."""
    spare = ToneVoice()
    spare.fingerprint = name
    house.tts._speakers[name] = Speaker(name, spare, house.tts.text)
    return spare


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EngineDefectError("the samples are not finite"), "the samples are not finite"),
        (TransientError("the device has no memory left"), "the device has no memory left"),
        (VoiceNotAvailableError("the device 'cuda' failed"), "the device 'cuda' failed"),
        (MemoryError(), "there is no memory left while speaker tone speaks; unload a speaker, or try again"),
        (
            OSError(5, "Input/output error"),
            "the system refuses something while speaker tone speaks: [Errno 5] Input/output error",
        ),
        (RuntimeError("unexpected"), "a defect while speaker tone speaks: RuntimeError('unexpected')"),
    ],
)
@pytest.mark.parametrize("fails_at", ["一", "三"])
def test_where_a_voice_fails_another_speaker_goes_on(tmp_path, caplog, error, reason, fails_at):
    async def scenario():
        async with House(tmp_path) as house:
            spare = with_spare(house)
            original = house.voice.synthesize

            def failing(sentence, options):
                if fails_at in sentence.text:
                    raise error
                return original(sentence, options)

            house.voice.synthesize = failing
            event = await house.until("finished", house.say("一つ目。二つ目。三つ目。四つ目。"))
            assert house.voice.spoken + spare.spoken == ["一つ目。", "二つ目。", "三つ目。", "四つ目。"]
            assert spare.spoken[0].startswith(fails_at)
            assert (event.details["speaker"], event.details["instead_of"]) == ("spare", "tone")
            assert list(house.renderer.failing) == ["tone"]
            assert str(error) in house.renderer.failing["tone"] or isinstance(error, MemoryError)
            house.voice.synthesize = original
            event = await house.until("finished", house.say("五つ目。"))
            assert event.details["speaker"] == "tone"
            assert "instead_of" not in event.details
            assert house.renderer.failing == {}

    run(scenario())
    (told,) = [record.getMessage() for record in caplog.records if "goes on" in record.getMessage()]
    assert told.startswith("speaker tone failed at ")
    assert told.endswith(f", spare goes on: {reason}")


def test_a_round_with_a_voice_that_fails_is_repeated_and_has_its_chimes_once(tmp_path):
    async def scenario():
        async with House(tmp_path, paced=False) as house:
            spare = with_spare(house)
            house.voice.error = EngineDefectError("broken")
            name = house.say("一つ目。二つ目。", repeat=2, chime="ding", end_chime="ding", options={"style": "Happy"})
            event = await house.until("finished", name)
            assert (event.details["sentences"], event.details["cached"]) == (4, 2)
            assert spare.spoken == ["一つ目。", "二つ目。"]
            seconds = len(house.sink.sound()) / 24_000
            speech = 4 * (0.2 + 0.06)  # four characters and the margins of each
            chimes = 2 * (load_chime("ding", 24_000).duration + CHIME_GAP)
            pauses = 3 * 0.4
            assert seconds == pytest.approx(speech + chimes + pauses, abs=0.8)

    run(scenario())


def test_a_briefing_that_another_speaker_goes_on_with_resumes_at_its_section(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            spare = with_spare(house)
            original = house.voice.synthesize

            def failing(sentence, options):
                if "三" in sentence.text:
                    raise EngineDefectError("broken")
                return original(sentence, options)

            house.voice.synthesize = failing
            long = "四つ目の文はとても長い文なので途中で割り込まれます。"
            name = house.say("一。二。三。" + long, sections=("一。二。", f"三。{long}"))
            async with asyncio.timeout(8):
                while house.announcer._current is None or house.announcer._current.position < 3:
                    await asyncio.sleep(0.005)
            urgent = house.say("急ぎ。", priority=Priority.CRITICAL)
            await house.ended(name, urgent)
            interrupted = await house.until("interrupted", name)
            assert interrupted.details["sentence"] == 2  # where the section begins
            ended = await house.until("finished", name)
            assert (ended.details["speaker"], ended.details["instead_of"]) == ("spare", "tone")
            assert spare.spoken == ["三。", long]  # then they are in the cache

    run(scenario())


def test_what_is_rendered_ahead_is_also_there_where_its_voice_fails(tmp_path):
    """So that a schedule starts on the second all the same."""

    async def scenario():
        async with House(tmp_path) as house:
            spare = with_spare(house)
            original = house.voice.synthesize

            def failing(sentence, options):
                if "二" in sentence.text:
                    raise EngineDefectError("broken")
                return original(sentence, options)

            house.voice.synthesize = failing
            announcement = house.make("一つ目。二つ目。三つ目。")
            assert await render_ahead(announcement, house.renderer) == 3
            assert (house.voice.spoken, spare.spoken) == (["一つ目。"], ["二つ目。", "三つ目。"])
            house.announcer.submit(announcement)
            event = await house.until("finished", announcement.id)
            assert event.details["cached"] == 3
            assert (event.details["speaker"], event.details["instead_of"]) == ("spare", "tone")

    run(scenario())


def test_where_all_voices_fail_the_reason_is_that_of_the_one_that_was_asked(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            spare = with_spare(house)
            house.voice.error, spare.error = EngineDefectError("broken"), EngineDefectError("broken too")
            assert (await house.until("failed", house.say("はい。"))).reason == "broken"

    run(scenario())


@pytest.mark.parametrize("error", [EngineDefectError("broken"), InvalidOptionError("the spare needs a vocoder")])
def test_a_substitute_that_refuses_or_fails_is_passed_over_for_the_next(tmp_path, error):
    """An option was meant for the voice that was asked; what another makes of it decides nothing."""

    async def scenario():
        async with House(tmp_path) as house:
            spare, last = with_spare(house), with_spare(house, "last")
            house.voice.error, spare.error = EngineDefectError("broken"), error
            event = await house.until("finished", house.say("はい。いいえ。"))
            assert (event.details["speaker"], event.details["instead_of"]) == ("last", "tone")
            assert last.spoken == ["はい。", "いいえ。"]

    run(scenario())


def test_a_substitute_that_does_not_take_an_option_is_passed_over_for_the_next(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            spare, last = with_spare(house), with_spare(house, "last")
            spare.refused = "speed"
            house.voice.error = EngineDefectError("broken")
            event = await house.until("finished", house.say("はい。", options={"speed": 1.5}))
            assert (event.details["speaker"], event.details["instead_of"]) == ("last", "tone")
            last.refused = "speed"
            assert (await house.until("failed", house.say("ええ。", options={"speed": 1.5}))).reason == "broken"
            house.voice.refused = "speed"
            reason = (await house.until("failed", house.say("では。", options={"speed": 1.4}))).reason
            assert reason == "speed is refused"
            assert spare.spoken == []

    run(scenario())


def test_a_wrong_request_is_not_passed_on_to_another_voice(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            spare = with_spare(house)
            house.voice.error = InvalidOptionError("speed must be from 0.25 to 4")
            assert (await house.until("failed", house.say("はい。"))).reason == "speed must be from 0.25 to 4"
            assert spare.spoken == []

    run(scenario())


@pytest.mark.parametrize("error", [EngineDefectError("broken"), RuntimeError("unexpected")])
def test_a_sentence_that_fails_in_the_middle_fails_the_announcement_and_not_the_next(tmp_path, error, caplog):
    caplog.set_level(logging.CRITICAL + 1)

    async def scenario():
        async with House(tmp_path) as house:
            original = house.voice.synthesize

            def sometimes(sentence, options):
                if "三" in sentence.text:
                    raise error
                return original(sentence, options)

            house.voice.synthesize = sometimes
            bad = house.say("一の文です。二の文です。三の文です。四の文です。")
            good = house.say("次です。")
            await house.ended(bad, good)
            assert (house.story(bad)[-1], house.story(good)[-1]) == ("failed", "finished")

    run(scenario())


def test_without_a_device_it_fails_with_the_reason_and_goes_on(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.sink.missing = True
            bad = house.say("聞こえません。")
            await house.ended(bad)
            house.sink.missing = False
            good = house.say("聞こえます。")
            await house.ended(good)
            assert (house.story(bad)[-1], house.story(good)[-1]) == ("failed", "finished")
            assert "there is no sound device" in (await house.until("failed", bad)).reason

    run(scenario())


def test_volume_of_the_message_and_of_the_node(tmp_path):
    async def scenario():
        async with House(tmp_path, paced=False) as house:
            await house.ended(house.say("大きい。"))
            loud = np.abs(house.sink.samples).max()
            house.sink._blocks.clear()
            house.announcer.set_volume(50)
            await house.ended(house.say("小さい。"))
            assert np.abs(house.sink.samples).max() == pytest.approx(loud * 0.25, rel=0.05)
            house.sink._blocks.clear()
            await house.ended(house.say("自分の。", volume=100))
            assert np.abs(house.sink.samples).max() == pytest.approx(loud, rel=0.05)

    run(scenario())


def test_mute_silences_all_but_critical(tmp_path):
    async def scenario():
        async with House(tmp_path, paced=False) as house:
            house.announcer.set_mute(True)
            quiet = house.say("聞こえない。")
            await house.ended(quiet)
            assert house.story(quiet) == ["accepted", "dropped"]
            assert not len(house.sink.samples)
            await house.ended(house.say("火事です。", priority=Priority.CRITICAL))
            assert np.abs(house.sink.samples).max() > 0.1

    run(scenario())


def test_repeat_chime_and_end_chime_are_one_stream(tmp_path):
    async def scenario():
        async with House(tmp_path, paced=False) as house:
            await house.ended(house.say("二回。", repeat=2, chime="ding", end_chime="done"))
            assert house.voice.spoken == ["二回。"]
            # ding 0.9, gap, twice 0.21 with a pause between, gap, done 1.06
            assert len(house.sink.sound(1e-5)) / 24_000 == pytest.approx(
                0.9 + 0.15 + 0.21 + 0.4 + 0.21 + 0.15 + 1.06, abs=0.3
            )

    run(scenario())


def test_the_same_text_is_said_twice_unless_dedupe_is_asked_for(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            names = [
                house.say("同じ。"),
                house.say("同じ。"),
                house.say("同じ。", dedupe=5.0),
                house.say("同じ。", dedupe=5.0),
            ]
            await house.ended(*names)
            assert [house.story(n)[-1] for n in names] == ["finished", "finished", "finished", "dropped"]

    run(scenario())


def test_a_speaker_that_is_not_ready_is_replaced(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            name = house.say(
                "代わりに言います。", speaker="broken", options={"style": "Whisper", "speed": 1.5, "noise": 0.5}
            )
            await house.ended(name)
            started = await house.until("started", name)
            assert (started.details["speaker"], started.details["instead_of"]) == ("tone", "broken")

    run(scenario())


def test_the_next_one_is_rendered_while_the_current_one_plays(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            current = house.say("今の文はかなり長いのでその間に作れます。")
            await house.until("started", current)
            following = house.say("次の文です。")
            async with asyncio.timeout(5):
                while "次の文です。" not in house.voice.spoken:
                    await asyncio.sleep(0.01)
            assert house.story(current)[-1] == "started"
            event = await house.until("finished", following)
            assert event.details["cached"] == 1

    run(scenario())


def test_unread_characters_are_in_the_finished_event(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            event = await house.until("finished", house.say("洗濯한국です"))
            (unread,) = event.details["unread"]
            assert unread["text"] == "한국"

    run(scenario())


def test_perceptual_volume():
    assert [amplitude(v) for v in (0, 50, 100)] == [0.0, 0.25, 1.0]
