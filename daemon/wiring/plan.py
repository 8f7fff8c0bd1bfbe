"""What is due, wired: briefings, alarms, the schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

from daemon.agenda.agenda import Agenda
from daemon.agenda.commands import AgendaCommands
from daemon.agenda.dispatch import Dispatcher
from daemon.agenda.speech import Speech
from daemon.alarms.alarm import Alarm
from daemon.alarms.clips import Clips
from daemon.alarms.keeper import AlarmKeeper
from daemon.alarms.missed import MissedAlarms
from daemon.alarms.phrases import late_words, missed_words
from daemon.alarms.words import words
from daemon.briefings.briefer import Briefer
from daemon.briefings.commands import add_briefing_commands
from daemon.briefings.gathering import Gatherer
from daemon.briefings.http_fetcher import HttpFetcher
from daemon.briefings.memory import LastGood
from daemon.config import ScheduleEntryConfig
from daemon.folders import state_folder
from daemon.house import House
from daemon.mqtt.house_topics import HouseTopics
from daemon.schedule.calendar import Calendar
from daemon.schedule.scheduler import Entry, Scheduler
from daemon.schedule.timers import APSchedulerTimers
from daemon.service.tasks import running
from engine import __version__

ALIVE_PERIOD = 60.0
"""Seconds between two notes that the service is alive: so much is looked back at more than needed after a crash."""


def start_briefings(house: House) -> None:
    """Make the briefer and its way to the network and the topics of the house."""
    house.house_topics = HouseTopics(house.clock, house.topics, ())
    gatherer = Gatherer(
        clock=house.clock,
        calendar=lambda: house.config.calendar,
        fetcher=HttpFetcher(__version__, house=lambda: house.config.own_hosts),
        memory=LastGood(state_folder() / "briefings"),
        topics=lambda: house.house_topics.values,
    )
    house.briefer = briefer = Briefer(
        clock=house.clock,
        gatherer=gatherer,
        renderer=house.renderer,
        announcer=house.announcer,
        bus=house.bus,
        start=house.background.start,
    )
    briefer.configure(house.config.briefings, house.config.announcements.defaults)
    house.house_topics.want(briefer.topics)
    add_briefing_commands(house.commands, briefer, house.announcer, entries=partial(_entries, house))


def plan_alarms(house: House, stack: AsyncExitStack) -> None:
    """Make everything that alarms and the schedule need; nothing is due before ``start_schedule``."""
    timers = APSchedulerTimers()
    timers.start()
    stack.callback(timers.stop)
    zone = house.zone
    clips = Clips(
        clock=house.clock,
        renderer=house.renderer,
        sample_rate=lambda: house.player.sample_rate,
        words=words,
        late_words=late_words,
    )
    house.agenda = Agenda(clock=house.clock, records=house.records, on_plan=partial(_take_over, house))
    house.keeper = AlarmKeeper(
        clock=house.clock,
        timers=timers,
        zone=zone,
        announcer=house.announcer,
        clips=clips,
        bus=house.bus,
        records=house.records,
        on_wake=house.wake,
        on_done=partial(_alarm_done, house),
        on_change=house.changed,
        audio=lambda: house.audio,
    )
    stack.push_async_callback(house.keeper.shut_down)
    house.speech = Speech(
        clock=house.clock,
        announcer=house.announcer,
        briefer=house.briefer,
        renderer=house.renderer,
        bus=house.bus,
        background=house.background,
        defaults=lambda: house.config.announcements.defaults,
    )
    dispatcher = Dispatcher(
        agenda=house.agenda,
        keeper=house.keeper,
        missed_alarms=MissedAlarms(
            clock=house.clock,
            zone=zone,
            bus=house.bus,
            say=house.announcer.submit,
            summary=missed_words,
            background=house.background,
        ),
        speech=house.speech,
    )
    house.scheduler = Scheduler(
        clock=house.clock,
        timers=timers,
        calendar=house.config.calendar,
        reactions=dispatcher.reactions(wake=house.wake, changed=house.changed),
        history=house.records,
        alive=house.records.alive,
    )
    AgendaCommands(house.agenda, house.keeper).add_to(house.commands)


async def start_schedule(house: House, stack: AsyncExitStack) -> None:
    """Go on with what an earlier run left, catch up with what was due meanwhile, and keep the plan."""
    for announcement, resume_at in house.kept.restore():
        house.announcer.restore(announcement, resume_at)
    house.agenda.configure(house.config)
    house.keeper.restore()
    house.guarding = await stack.enter_async_context(running(house.scheduler.guard(), "clock guard"))
    await stack.enter_async_context(running(house.quiet.run(), "quiet hours"))

    async def stay_known() -> None:
        while True:
            _still_alive(house)
            await house.clock.sleep(ALIVE_PERIOD)

    await stack.enter_async_context(running(stay_known(), "alive"))
    stack.callback(_still_alive, house)


def _take_over(house: House, entries: Sequence[Entry], calendar: Calendar) -> None:
    house.keeper.replace(house.agenda.alarms)
    house.scheduler.replace(entries, calendar)
    house.rediscover()


def _alarm_done(house: House, alarm: Alarm, dismissed: bool) -> None:
    house.agenda.done(alarm)
    if dismissed and alarm.then in house.briefer.names:
        house.briefer.run(alarm.then)


def _entries(house: House) -> dict[str, Callable[[], str]]:
    """The entries of the schedule, and how to say each now."""
    return {
        name: partial(house.speech.now, name, item)
        for name, item in house.agenda.items.items()
        if isinstance(item, ScheduleEntryConfig)
    }


def _still_alive(house: House) -> None:
    if house.scheduler.clock_is_set:
        house.records.still_alive(house.clock.now())
