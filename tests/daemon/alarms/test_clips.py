"""The sounds of alarms: speech with its words, and a chime without speech."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from daemon.alarms.alarm import Alarm
from daemon.alarms.clips import Clips
from daemon.alarms.keeper import SIREN
from daemon.alarms.phrases import late_words
from daemon.schedule.rules import Rule
from engine import EngineDefectError, Speaker
from tests.fakes.announcing import House
from tests.fakes.clock import FakeClock
from tests.fakes.voice import ToneVoice


def clips(now):
    return Clips(
        clock=FakeClock(now), renderer=None, sample_rate=lambda: 24_000, words=None, late_words=lambda late: ""
    )


def test_a_siren_sounds_as_its_chime_and_without_one_or_a_wrong_one_as_the_bell():
    async def scenario():

        made = clips(datetime(2026, 12, 1, tzinfo=UTC))
        siren = replace(SIREN, sound="ding")
        await made.prepare_sound(siren, "ding")
        ready = made.get(siren)
        assert (ready.clip.speaker, ready.problem) == ("ding", None)
        assert ready.clip.pieces[0].audio.sample_rate == 24_000
        await made.prepare_sound(siren, "gong")
        ready = made.get(siren)
        assert ready.clip.speaker == "bell"
        assert "there is no chime 'gong'" in ready.problem
        made.forget(siren.id)
        assert (made.get(SIREN).clip.speaker, made.get(SIREN).problem) == ("bell", None)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("late", "template", "text"),
    [
        (0, "{{ time }}", "7時です。"),
        (5, "{{ time }}", "5分遅れています。7時です。"),
        (0, "起きてください。", "起きてください。"),
    ],
)
def test_the_sound_knows_the_words_that_are_spoken_in_it(tmp_path, late, template, text):
    async def scenario():
        async with House(tmp_path) as house:
            made = Clips(
                clock=house.clock,
                renderer=house.renderer,
                sample_rate=lambda: 24_000,
                words=lambda _template, moment: f"{moment:%-H}時です。",
                late_words=late_words,
            )
            alarm = Alarm("wake-up", Rule(), template, is_template="{{" in template)
            assert made.text(alarm) == ("" if "{{" in template else template)
            await made.prepare(alarm, datetime(2026, 12, 1, 7, tzinfo=UTC), timedelta(minutes=late))
            ready = made.get(alarm)
            assert (ready.problem, ready.clip.text, made.text(alarm)) == (None, text, text)
            assert made.bell().text == ""

    asyncio.run(scenario())


@pytest.mark.parametrize("fails_at", ["一", "二"])
@pytest.mark.parametrize("spare_too", [False, True])
def test_where_its_voice_fails_the_sound_says_who_speaks_in_it_and_why(tmp_path, fails_at, spare_too):
    async def scenario():
        async with House(tmp_path) as house:
            spare = ToneVoice()
            house.tts._speakers["spare"] = Speaker("spare", spare, house.tts.text)
            original = house.voice.synthesize

            def failing(sentence, options):
                if fails_at in sentence.text:
                    raise EngineDefectError("it is broken")
                return original(sentence, options)

            house.voice.synthesize = failing
            spare.error = EngineDefectError("so is this") if spare_too else None
            made = Clips(
                clock=house.clock,
                renderer=house.renderer,
                sample_rate=lambda: 24_000,
                words=lambda text, _moment: text,
                late_words=late_words,
            )
            alarm = Alarm("wake-up", Rule(), "一つ目。二つ目。", is_template=False)
            await made.prepare(alarm, datetime(2026, 12, 1, 7, tzinfo=UTC))
            ready = made.get(alarm)
            assert ready.clip.speaker == ("bell" if spare_too else "spare")
            if not spare_too:
                assert ready.problem == "tone: it is broken"
                assert ready.clip.sentences == 2
                assert len(ready.clip.pieces) == 3  # with the chime
            else:
                assert "it is broken" in ready.problem

    asyncio.run(scenario())
