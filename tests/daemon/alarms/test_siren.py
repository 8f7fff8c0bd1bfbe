"""The siren, as Home Assistant asks for it."""

import asyncio
from datetime import timedelta

import pytest

from daemon import events
from daemon.alarms.siren import add_siren_command
from daemon.commands import Commands
from daemon.errors import RequestError
from tests.fakes.alarms import Bedroom, alarm, at


def run(scenario):
    asyncio.run(scenario())


def siren(room):
    commands = Commands()
    add_siren_command(commands, room.keeper)
    return lambda text: commands.carry_out("set/siren", text)


def test_it_rings_with_tone_and_volume_for_its_time_and_is_not_missed():
    async def scenario():
        room = Bedroom(at(12))
        ask = siren(room)
        room.keeper.volume = lambda: 5  # of alarms: the siren has its own
        ask('{"state": "ON", "tone": "ding", "duration": 10, "volume_level": 0.4}')
        await room.wait(5)
        assert room.clips.sounds == ["ding"]
        assert {asked.volume for _, asked in room.announcer.submitted} == {40}
        await room.wait(6)
        assert room.keeper.state is None
        assert room.story == ["alarm_ringing", "alarm_dismissed"]
        assert room.told(events.ALARM_DISMISSED)[0].reason == "its time is over"

    run(scenario)


def test_on_rings_the_bell_until_off_and_off_is_no_mistake_when_it_is_silent():
    async def scenario():
        room = Bedroom(at(12))
        ask = siren(room)
        ask("ON")
        await room.wait(5)
        assert room.keeper.state == "ringing"
        assert room.clips.sounds == []
        ask("OFF")
        assert room.keeper.state is None
        ask('{"state": "OFF"}')
        assert room.story == ["alarm_ringing", "alarm_dismissed"]

    run(scenario)


def test_asked_for_again_it_rings_as_it_was_asked_for_last():
    async def scenario():
        room = Bedroom(at(12))
        ask = siren(room)
        ask('{"tone": "ding", "volume_level": 1}')
        await room.wait(3)
        ask('{"volume_level": 0.2}')
        await room.wait(3)
        assert room.announcer.submitted[-1][1].volume == 20
        assert room.clips.forgotten.count("siren") >= 1

    run(scenario)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("loud", "ON or OFF"),
        ('{"state": "ON", "tone": "/etc/passwd"}', "tone: one of bell, "),
        ('{"state": "ON", "tone": 1}', "tone: one of bell, "),
        ('{"duration": 0}', "duration: a number from 1 to 21600"),
        ('{"duration": true}', "duration: a number"),
        ('{"volume_level": 40}', "volume_level: a number from 0 to 1"),
        ('{"volume": 0.4}', "unknown key 'volume'"),
    ],
)
def test_what_cannot_be_is_refused(asked, said):
    async def scenario():
        room = Bedroom(at(12))
        with pytest.raises(RequestError, match=said):
            siren(room)(asked)
        assert room.keeper.state is None

    run(scenario)


def test_alarms_ring_at_the_volume_and_snooze_for_the_time_that_were_chosen_for_all():
    async def scenario():
        a = alarm(volume=60, repeat_every=timedelta(seconds=5))
        room = Bedroom(at(6, 45), None, a)
        volumes = [None]
        room.keeper.volume = lambda: volumes[0]
        room.keeper.snooze_length = lambda: timedelta(minutes=3)
        room.keeper.ring(a, at(6, 45))
        await room.wait(1)
        volumes[0] = 25
        await room.wait(10)
        assert [asked.volume for _, asked in room.announcer.submitted][:2] == [60, 25]
        room.keeper.snooze()
        assert room.keeper.rings["wake-up"].until - room.clock.now() == timedelta(minutes=3)

    run(scenario)
