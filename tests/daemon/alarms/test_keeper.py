"""The life of an alarm on a fake clock: what is heard when, what is told, what survives."""

import asyncio
from datetime import timedelta

import pytest

from daemon import events
from daemon.alarms.alarm import Snooze
from daemon.errors import RequestError
from tests.fakes.alarms import Bedroom, alarm, at


def run(scenario):
    asyncio.run(scenario())


def test_it_rings_from_its_moment_again_and_again_until_it_is_dismissed():
    async def scenario():
        a = alarm(repeat_every=timedelta(seconds=20))
        room = Bedroom(at(6, 44, 58), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(60)
        assert room.rounds == [("06:45:00", "mei"), ("06:45:23", "mei"), ("06:45:46", "mei")]
        assert room.keeper.state == "ringing"
        assert room.keeper.dismiss() == ["wake-up"]
        await room.wait(60)
        assert len(room.rounds) == 3
        assert (room.keeper.state, room.announcer.playing) == (None, [])
        assert room.story == ["alarm_ringing", "alarm_dismissed"]
        assert room.done == [("wake-up", True)]

    run(scenario)


def test_dismissing_ends_the_sound_that_is_heard():
    async def scenario():
        a = alarm()
        room = Bedroom(at(6, 45), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(1)
        assert len(room.announcer.playing) == 1
        room.keeper.dismiss("wake-up")
        await room.wait(0.5)
        assert room.announcer.playing == []

    run(scenario)


def test_it_gives_up_after_its_longest_time_and_is_missed():
    async def scenario():
        a = alarm(max_ring=timedelta(minutes=2))
        room = Bedroom(at(6, 45), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(119)
        assert room.keeper.state == "ringing"
        await room.wait(3)
        assert room.keeper.state is None
        assert room.told(events.ALARM_MISSED)[0].reason == "nobody answered it"
        assert room.done == [("wake-up", False)]

    run(scenario)


def test_a_snoozed_alarm_is_silent_and_rings_again_on_the_second():
    async def scenario():
        a = alarm(snooze=Snooze(timedelta(minutes=9)))
        room = Bedroom(at(6, 45), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(10)
        room.keeper.snooze()
        assert room.keeper.state == "snoozed"
        assert room.told(events.ALARM_SNOOZED)[0].details["until"] == "2026-12-01T06:54:10+09:00"
        await room.wait(8 * 60)
        assert len(room.rounds) == 1
        await room.wait(70)
        assert room.rounds[1] == ("06:54:10", "mei")
        assert room.woken == ["06:54:06"]
        assert [e.details["snoozes"] for e in room.told(events.ALARM_RINGING)] == [0, 1]

    run(scenario)


def test_a_snooze_can_be_of_another_length_and_begun_anew():
    async def scenario():
        a = alarm()
        room = Bedroom(at(6, 45), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(1)
        room.keeper.snooze(length=timedelta(minutes=5))
        await room.wait(60)
        room.keeper.snooze("wake-up", timedelta(minutes=5))
        await room.wait(5 * 60 - 2)
        assert len(room.rounds) == 1
        await room.wait(4)
        assert room.rounds[1][0] == "06:51:01"

    run(scenario)


def test_snoozes_are_counted_and_end():
    async def scenario():
        a = alarm(snooze=Snooze(timedelta(seconds=30), count=2))
        room = Bedroom(at(6, 45), None, a)
        room.keeper.ring(a, at(6, 45))
        for _ in range(2):
            await room.wait(1)
            room.keeper.snooze()
            await room.wait(30)
        with pytest.raises(RequestError, match="snoozed 2 times at most"):
            room.keeper.snooze()
        await room.wait(1)
        assert room.keeper.state == "ringing"  # what cannot be snoozed rings on

    run(scenario)


def test_a_snoozed_alarm_can_be_dismissed():
    async def scenario():
        a = alarm()
        room = Bedroom(at(6, 45), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(1)
        room.keeper.snooze()
        room.keeper.dismiss()
        await room.wait(15 * 60, step=5)
        assert len(room.rounds) == 1
        assert room.story == ["alarm_ringing", "alarm_snoozed", "alarm_dismissed"]

    run(scenario)


@pytest.mark.parametrize(
    ("action", "name", "reason"),
    [
        ("snooze", None, "no alarm rings: there is nothing to snooze"),
        ("dismiss", None, "no alarm rings: there is nothing to dismiss"),
        ("dismiss", "x", "the alarm 'x' neither rings nor is snoozed"),
    ],
)
def test_what_does_not_ring_cannot_be_answered(action, name, reason):
    async def scenario():
        room = Bedroom(at(6, 45))
        with pytest.raises(RequestError, match=reason):
            getattr(room.keeper, action)(name)

    run(scenario)


def test_two_alarms_ring_side_by_side_and_are_dismissed_together_or_one_by_one():
    async def scenario():
        first, second = alarm("first"), alarm("second")
        room = Bedroom(at(6, 45), None, first, second)
        room.keeper.ring(first, at(6, 45))
        room.keeper.ring(second, at(6, 45))
        await room.wait(5)
        assert set(room.keeper.rings) == {"first", "second"}
        room.keeper.snooze("first")
        assert room.keeper.state == "ringing"
        assert room.keeper.dismiss() == ["second"]  # what rings goes before what is snoozed
        assert room.keeper.dismiss() == ["first"]

    run(scenario)


def test_an_alarm_that_is_due_again_while_it_rings_begins_anew():
    async def scenario():
        a = alarm(max_ring=timedelta(hours=1))
        room = Bedroom(at(6, 45), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(1)
        room.keeper.ring(a, at(7, 0))
        await room.wait(1)
        assert room.story == ["alarm_ringing", "alarm_missed", "alarm_ringing"]
        assert len(room.announcer.playing) <= 1

    run(scenario)


def test_rung_twice_within_a_second_it_is_heard_both_times():
    async def scenario():
        a = alarm()
        room = Bedroom(at(6, 45) + timedelta(milliseconds=100), None, a)
        room.keeper.ring_now(a)
        await room.wait(0.2, step=0.1)
        room.keeper.dismiss()
        room.keeper.ring_now(a)
        await room.wait(1)
        assert len(room.announcer.playing) == 1
        assert len({announcement.id for _, announcement in room.announcer.submitted}) == 2

    run(scenario)


def test_a_sound_that_is_not_taken_is_tried_again_soon():
    async def scenario():
        a = alarm()
        room = Bedroom(at(6, 45), None, a)
        take, room.announcer.submit = room.announcer.submit, lambda _: False
        room.keeper.ring_now(a)
        await room.wait(1)
        assert room.announcer.playing == []
        room.announcer.submit = take
        await room.wait(2)
        assert len(room.announcer.playing) == 1
        assert "its id was used before" in room.told("alarm_failed")[0].reason

    run(scenario)


def test_a_late_alarm_says_so():
    async def scenario():
        a = alarm()
        room = Bedroom(at(6, 48), None, a)
        room.keeper.ring(a, at(6, 45))
        assert room.clips.prepared == [("wake-up", "06:48:00", 180)]
        assert room.told(events.ALARM_RINGING)[0].details["late_s"] == 180
        await room.wait(1)
        room.keeper.dismiss()

    run(scenario)


def test_volume_and_fade_are_the_alarms_own():
    async def scenario():
        a = alarm(volume=70, fade_from=10, fade_in=timedelta(seconds=30))
        room = Bedroom(at(6, 44, 58), None, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(30)
        announcement = room.announcer.submitted[0][1]
        begin = announcement.start_at
        assert announcement.volume == 70
        assert [announcement.fade.volume(70, begin + s) for s in (0, 15, 30)] == [10, 40, 70]
        assert room.announcer.submitted[1][1].fade.since == begin  # it goes on rising, it does not begin again
        room.keeper.dismiss()

    run(scenario)


class TestTroubles:
    """Whatever fails, it goes on, and says what failed, once."""

    def test_without_speech_the_bell_rings(self):
        async def scenario():
            a = alarm()
            room = Bedroom(at(6, 45), None, a)
            room.clips.problem = "mei: no memory"
            room.keeper.ring(a, at(6, 45))
            await room.wait(50)
            assert [speaker for _, speaker in room.rounds] == ["bell"] * 3
            assert [e.reason for e in room.told(events.ALARM_FAILED)] == ["mei: no memory"]
            room.keeper.dismiss()

        run(scenario)

    def test_what_nobody_heard_is_tried_again_soon_with_the_bell(self):
        async def scenario():
            a = alarm()
            room = Bedroom(at(6, 45), None, a)
            room.announcer.outcome = (events.FINISHED, None, {"audible": False, "sink": "file"})
            room.keeper.ring(a, at(6, 45))
            await room.wait(14)
            assert room.rounds == [("06:45:00", "mei"), ("06:45:05", "bell"), ("06:45:10", "bell")]
            assert [e.reason for e in room.told(events.ALARM_FAILED)] == ["nobody can hear it: its sound went to file"]
            room.announcer.outcome = (events.FINISHED, None, {"audible": True, "sink": "speaker"})
            await room.wait(30)
            assert room.rounds[-1][0] > "06:45:30"  # heard: at its own pace again
            room.keeper.dismiss()

        run(scenario)

    def test_a_playback_that_fails_is_tried_again(self):
        async def scenario():
            a = alarm()
            room = Bedroom(at(6, 45), None, a)
            room.announcer.outcome = (events.FAILED, "no sound device can be used", {})
            room.keeper.ring(a, at(6, 45))
            await room.wait(14)
            assert len(room.rounds) == 3
            assert room.told(events.ALARM_FAILED)[0].reason == "its sound failed: no sound device can be used"
            room.keeper.dismiss()

        run(scenario)

    def test_a_defect_of_the_announcer_does_not_end_it(self):
        async def scenario():
            a = alarm()
            room = Bedroom(at(6, 45), None, a)
            submit = room.announcer.submit
            room.announcer.submit = lambda announcement: 1 / 0
            room.keeper.ring(a, at(6, 45))
            await room.wait(3)
            assert "a defect" in room.told(events.ALARM_FAILED)[0].reason
            room.announcer.submit = submit
            await room.wait(5)
            assert len(room.rounds) >= 1
            room.keeper.dismiss()

        run(scenario)

    def test_a_round_that_was_skipped_is_no_trouble(self):
        async def scenario():
            a = alarm()
            room = Bedroom(at(6, 45), None, a)
            room.keeper.ring(a, at(6, 45))
            await room.wait(1)
            room.announcer.cancel(room.announcer.playing[0], "skipped")
            await room.wait(25)
            assert [at for at, _ in room.rounds] == ["06:45:00", "06:45:21"]
            assert room.told(events.ALARM_FAILED) == []
            room.keeper.dismiss()

        run(scenario)


class TestRestart:
    """What rang when the service stopped, crashed, or lost its power."""

    @staticmethod
    async def left_behind(path, a, *, snoozed=False):
        room = Bedroom(at(6, 45), path, a)
        room.keeper.ring(a, at(6, 45))
        await room.wait(30)
        if snoozed:
            room.keeper.snooze()
        room.database.close()  # as after kill -9: nobody says goodbye
        for task in room.keeper._tasks.values():
            task.cancel()

    @pytest.mark.parametrize(
        ("snoozed", "back_at", "state", "story"),
        [
            (False, at(6, 46), "ringing", ["alarm_ringing"]),
            (False, at(6, 59, 59), "ringing", ["alarm_ringing"]),
            (False, at(7, 0, 1), None, ["alarm_missed"]),
            (False, at(14), None, ["alarm_missed"]),
            (True, at(6, 50), "snoozed", []),
            (True, at(6, 55), "ringing", ["alarm_ringing"]),
            (True, at(7, 30), None, ["alarm_missed"]),
            (True, at(18), None, ["alarm_missed"]),
        ],
    )
    def test_it_goes_on_while_that_helps_anybody(self, tmp_path, snoozed, back_at, state, story):
        async def scenario():
            a = alarm()
            path = tmp_path / "asagoe.db"
            await self.left_behind(path, a, snoozed=snoozed)
            room = Bedroom(back_at, path, a)
            room.keeper.restore()
            await room.wait(1)
            assert (room.keeper.state, room.story) == (state, story)
            if state == "ringing":
                assert len(room.announcer.playing) == 1
            if state is not None:
                room.keeper.dismiss()
            room.database.close()
            again = Bedroom(back_at, path, a)
            again.keeper.restore()
            assert again.keeper.state is None  # what was answered is over
            again.database.close()

        run(scenario)

    @pytest.mark.parametrize(
        ("back_at", "began", "late"), [(at(6, 44, 59), "06:45:00", 0), (at(6, 45, 40), "06:45:40", 40)]
    )
    def test_stopped_between_its_handover_and_its_moment_it_is_late_by_the_truth(self, tmp_path, back_at, began, late):
        async def scenario():
            a, path = alarm(), tmp_path / "asagoe.db"
            room = Bedroom(at(6, 44, 58), path, a)
            room.keeper.ring(a, at(6, 45))
            await room.settle()
            room.database.close()
            for task in room.keeper._tasks.values():
                task.cancel()
            room = Bedroom(back_at, path, a)
            room.keeper.restore()
            await room.wait(2)
            assert room.told(events.ALARM_RINGING)[0].details["late_s"] == late
            assert room.clips.prepared[0] == ("wake-up", began, late)
            assert room.rounds[0][0] == began  # never before its moment
            room.keeper.dismiss()
            room.database.close()

        run(scenario)

    def test_what_the_schedule_caught_up_with_is_not_begun_a_second_time(self, tmp_path):
        async def scenario():
            a = alarm()
            room = Bedroom(at(6, 45, 40), tmp_path / "asagoe.db", a)
            room.keeper.ring(a, at(6, 45))
            room.keeper.restore()  # as at a start: the schedule first, then what was kept
            await room.settle()
            assert [e.details["late_s"] for e in room.told(events.ALARM_RINGING)] == [40]
            assert room.clips.prepared == [("wake-up", "06:45:40", 40)]
            room.keeper.dismiss()
            room.database.close()

        run(scenario)

    def test_what_was_heard_before_the_restart_is_not_called_late(self, tmp_path):
        async def scenario():
            a, path = alarm(), tmp_path / "asagoe.db"
            await self.left_behind(path, a)
            room = Bedroom(at(6, 46), path, a)
            room.keeper.restore()
            assert room.told(events.ALARM_RINGING)[0].details["late_s"] == 0
            await room.settle()
            room.keeper.dismiss()
            room.database.close()

        run(scenario)

    def test_what_is_no_alarm_any_more_is_missed_and_says_why(self, tmp_path):
        async def scenario():
            path = tmp_path / "asagoe.db"
            await self.left_behind(path, alarm())
            room = Bedroom(at(6, 46), path)
            room.keeper.restore()
            assert (room.keeper.state, room.story, dict(room.records.all("rings"))) == (None, ["alarm_missed"], {})
            assert "is not there any more" in room.told(events.ALARM_MISSED)[0].reason
            room.database.close()

        run(scenario)

    def test_a_snoozed_alarm_waits_as_long_as_it_was_asked_to_when_the_clock_is_set(self):
        async def scenario():
            a = alarm()
            room = Bedroom(at(6, 45), None, a)
            room.keeper.ring(a, at(6, 45))
            await room.wait(1)
            room.keeper.snooze(length=timedelta(minutes=5))
            room.clock.step(7200)
            room.keeper.clock_moved(timedelta(hours=2))
            await room.wait(4 * 60)
            assert len(room.rounds) == 1
            await room.wait(62)
            assert len(room.rounds) == 2
            room.keeper.dismiss()

        run(scenario)


def test_dismissed_before_it_rang():
    async def scenario():
        a = alarm()
        room = Bedroom(at(6, 30), None, a)
        room.keeper.dismissed_early(a, at(6, 45))
        assert room.told(events.ALARM_DISMISSED)[0].reason == "before it rang"
        assert room.done == [("wake-up", True)]

    run(scenario)


def test_the_bell_can_be_rung_like_a_siren():
    async def scenario():
        room = Bedroom(at(12))
        room.keeper.ring_bell()
        await room.wait(10)
        assert [speaker for _, speaker in room.rounds][:2] == ["mei", "mei"]
        assert room.keeper.dismiss() == ["siren"]

    run(scenario)


def test_the_bell_rings_on_after_a_restart(tmp_path):
    async def scenario():
        room = Bedroom(at(6, 45), tmp_path / "asagoe.db")
        room.keeper.ring_bell()
        await room.wait(1)
        await room.keeper.shut_down()
        room.database.close()
        again = Bedroom(at(6, 46), tmp_path / "asagoe.db")
        again.keeper.restore()
        assert list(again.keeper.rings) == ["siren"]
        assert again.keeper.dismiss() == ["siren"]
        await again.wait(1)
        again.database.close()

    run(scenario)
