"""Alarms among other announcements, through the real announcer, queue and player."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from daemon import events
from daemon.alarms.alarm import Alarm
from daemon.alarms.clips import BELL, Ready
from daemon.alarms.life import begin
from daemon.alarms.ringer import Ringer
from daemon.announcement import Clip, Priority
from daemon.playback import Piece
from daemon.schedule.rules import Rule
from engine import Audio
from tests.fakes.announcing import House

SPEECH = Clip(tuple(Piece(Audio(np.full(12_000, 0.3, np.float32), 24_000), index) for index in range(3)), "mei", 3)


class OneClip:
    def __init__(self, clip=SPEECH, problem=None):
        self.ready = Ready(clip, problem)

    def get(self, alarm):
        return self.ready

    def bell(self):
        return Clip(SPEECH.pieces[:1], BELL)

    def text(self, alarm):
        return alarm.text.replace("{{ time }}", "6時")

    def working(self, alarm_id):
        return None


def ringing(house, name="wake-up", clips=None, text="おはよう", **options):
    alarm = Alarm(name, Rule(), text, repeat_every=timedelta(seconds=0.2), max_ring=timedelta(minutes=2))
    troubles = []
    ringer = Ringer(
        alarm,
        begin(alarm, house.clock.now(), house.clock.now()),
        clock=house.clock,
        announcer=house.announcer,
        clips=clips or OneClip(),
        bus=house.bus,
        on_trouble=troubles.append,
        **options,
    )
    return ringer, troubles, asyncio.create_task(ringer.run())


async def ended(*tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def first_round(house, name="wake-up", kind=events.STARTED):
    async with asyncio.timeout(8):
        while True:
            for event in house.events:
                if event.type == kind and event.id and event.id.startswith(f"{name}@"):
                    return event.id
            await asyncio.sleep(0.01)


def test_a_critical_message_cuts_into_a_ringing_alarm_which_goes_on_after_it(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            _, troubles, task = ringing(house)
            round_id = await first_round(house)
            async with asyncio.timeout(5):
                while house.announcer._current.position < 1:  # in its second piece
                    await asyncio.sleep(0.005)
            fire = house.say("火事です。", priority=Priority.CRITICAL)
            await house.until(events.STARTED, fire, timeout=1.0)
            assert house.story(round_id)[-1] == events.INTERRUPTED
            await house.ended(fire, round_id)
            assert house.story(round_id)[-2:] == [events.STARTED, events.FINISHED]
            order = [(e.type, e.id) for e in house.events]
            assert order.index((events.FINISHED, fire)) < order.index((events.FINISHED, round_id))
            assert next(e for e in house.events if e.type == events.INTERRUPTED).details["sentence"] == 1
            assert troubles == []
            await ended(task)

    asyncio.run(scenario())


@pytest.mark.parametrize("priority", [Priority.LOW, Priority.NORMAL, Priority.HIGH])
def test_an_alarm_cuts_into_anything_else_and_is_heard_while_muted(tmp_path, priority):
    async def scenario():
        async with House(tmp_path) as house:
            talk = house.say("ながいおはなしです。" * 8, priority=priority, interrupt=True)
            await house.until(events.STARTED, talk)
            house.announcer.set_mute(True)
            begun = len(house.sink.samples)
            _, _, task = ringing(house)
            round_id = await first_round(house)
            assert house.story(talk)[-1] == events.INTERRUPTED
            waits = house.say("まって。", priority=priority, interrupt=True)
            await house.ended(round_id)
            assert house.story(waits) == [events.ACCEPTED, events.DROPPED]  # muted: alarms are not
            assert np.abs(house.sink.samples[begun:]).max() > 0.1
            await ended(task)

    asyncio.run(scenario())


def test_an_alarm_waits_for_a_critical_message_that_is_being_said(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            fire = house.say("火事です。" * 3, priority=Priority.CRITICAL)
            await house.until(events.STARTED, fire)
            _, _, task = ringing(house)
            await house.ended(fire)
            await first_round(house)
            assert events.INTERRUPTED not in house.story(fire)
            await ended(task)

    asyncio.run(scenario())


def test_many_alarms_at_once_are_not_refused_by_a_queue_that_is_full(tmp_path):
    async def scenario():
        async with House(tmp_path, limit=5) as house:
            talk = house.say("火事です。" * 5, priority=Priority.CRITICAL)
            await house.until(events.STARTED, talk)
            ringers = [ringing(house, f"a{number}") for number in range(60)]
            await asyncio.sleep(0.1)
            assert house.announcer.waiting == 60
            message = house.say("お知らせです。")
            assert house.story(message) == [events.ACCEPTED, events.QUEUED]  # alarms take no place of others
            assert [e for e in house.events if e.type == events.DROPPED] == []
            assert all(troubles == [] for _, troubles, _ in ringers)
            await ended(*(task for _, _, task in ringers))

    asyncio.run(scenario())


def test_a_round_that_waits_for_others_is_not_taken_for_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("daemon.alarms.ringer.PATIENCE", -1.3)  # 0.2 s are left of the 1.5 s of the sound

    async def scenario():
        async with House(tmp_path) as house:
            fire = house.say("火事です。" * 3, priority=Priority.CRITICAL)
            await house.until(events.STARTED, fire)
            _, troubles, task = ringing(house)
            await house.ended(fire)
            assert troubles == []
            await ended(task)

    asyncio.run(scenario())


def test_the_bell_instead_of_speech_is_told_before_its_round_is_over(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            _, troubles, task = ringing(house, clips=OneClip(problem="mei: no memory"))
            round_id = await first_round(house)
            assert troubles == ["mei: no memory"]
            await house.ended(round_id)
            await asyncio.sleep(0.5)  # into the second round
            assert troubles == ["mei: no memory"]
            await ended(task)

    asyncio.run(scenario())


def test_a_sink_that_nobody_hears_is_told_when_the_round_starts(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            house.sink.audible = False
            _, troubles, task = ringing(house, sound_problem=lambda: "nobody can hear it: its sound went to file")
            round_id = await first_round(house)
            await asyncio.sleep(0.05)
            assert troubles == ["nobody can hear it: its sound went to file"]
            assert events.FINISHED not in house.story(round_id)
            await ended(task)

    asyncio.run(scenario())


def test_a_device_that_fails_within_a_round_is_told_at_once_and_only_by_the_alarm_that_sounds(tmp_path):
    problem = None

    async def scenario():
        nonlocal problem
        async with House(tmp_path) as house:
            first = ringing(house, "first", sound_problem=lambda: problem)
            await first_round(house, "first")
            await asyncio.sleep(0.05)
            second = ringing(house, "second", sound_problem=lambda: problem)
            problem = "the sound device 'usb' hangs"
            for ringer, _, _ in (first, second):
                ringer.sound_changed()
            assert (first[1], second[1]) == (["the sound device 'usb' hangs"], [])
            await ended(first[2], second[2])

    asyncio.run(scenario())


def test_a_round_tells_the_words_that_are_spoken_and_not_their_template(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            for clip, text in ((replace(SPEECH, text="7時です。"), "7時です。"), (SPEECH, "おはよう")):
                _, _, task = ringing(house, clips=OneClip(clip))
                await first_round(house, kind=events.ACCEPTED)
                texts = [event.details["text"] for event in house.events if event.type == events.ACCEPTED]
                assert texts == [text]
                await ended(task)
                house.events.clear()

    asyncio.run(scenario())


def test_a_round_of_the_bell_tells_the_words_that_would_have_been_spoken(tmp_path):
    async def scenario():
        async with House(tmp_path) as house:
            _, _, task = ringing(house, clips=OneClip(OneClip().bell(), "its speech failed"), text="{{ time }}です。")
            await first_round(house, kind=events.ACCEPTED)
            assert [e.details["text"] for e in house.events if e.type == events.ACCEPTED] == ["6時です。"]
            await ended(task)

    asyncio.run(scenario())
