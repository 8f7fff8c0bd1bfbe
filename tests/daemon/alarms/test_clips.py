"""The sound of a siren: a chime without speech."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from daemon.alarms.clips import Clips
from daemon.alarms.keeper import SIREN
from tests.fakes.clock import FakeClock


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
