"""The service, wired: this is the only place that knows all rooms.

``Service.run`` reads as a table of contents: what starts in which order; everything stops in the reverse order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from daemon import events
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
from daemon.announcer import Announcer
from daemon.announcer_commands import add_announcer_commands
from daemon.briefings.briefer import Briefer
from daemon.briefings.commands import add_briefing_commands
from daemon.briefings.gathering import Gatherer
from daemon.briefings.http_fetcher import HttpFetcher
from daemon.briefings.memory import LastGood
from daemon.clock import Clock, SystemClock
from daemon.commands import Commands
from daemon.config import Config, ConfigError, ScheduleEntryConfig, dictionary_path, load_config
from daemon.errors import UnavailableError
from daemon.events import Event, Events
from daemon.feed import Feed
from daemon.folders import phrase_folder, state_folder
from daemon.health import PERIOD, Health
from daemon.history import History
from daemon.http.backend import Backend, Coming
from daemon.http.doctor import doctor_of
from daemon.http.server import HttpServer
from daemon.logs import set_up_logging
from daemon.mqtt.address import broker_address
from daemon.mqtt.broker import MQTT_3_1_1, MQTT_5, PahoBroker
from daemon.mqtt.embedded import EmbeddedBroker
from daemon.mqtt.gateway import OFFLINE, Gateway
from daemon.mqtt.hermes import SAY, Hermes
from daemon.mqtt.house_topics import HouseTopics
from daemon.mqtt.messages import Broker, Incoming, Will
from daemon.mqtt.topics import Topics
from daemon.phrases import PhraseCache
from daemon.player import Player
from daemon.queue import AnnouncementQueue
from daemon.quiet_keeper import QuietKeeper, add_quiet_commands
from daemon.remote.client import RemoteRenderer, RemoteSpeaker
from daemon.remote.protocol import REQUEST
from daemon.remote.server import RenderServer
from daemon.renderer import Renderer
from daemon.schedule.calendar import Calendar
from daemon.schedule.scheduler import WAKE_AHEAD, Entry, Scheduler
from daemon.schedule.timers import APSchedulerTimers
from daemon.service.notify import Notifier, notifier_of_the_environment
from daemon.service.pulse import Pulse
from daemon.service.signals import listen_to_signals
from daemon.service.tasks import Background, running
from daemon.service.watchdog import feed_watchdog, tell_status
from daemon.sinks import sinks_of
from daemon.speakers import SpeakerKeeper
from daemon.state import snapshot, summary
from daemon.store import Database, Records
from daemon.waiting import Waiting
from engine import TTS, DictionaryError, EngineError, __version__

_log = logging.getLogger("asagoe.service")

ALIVE_PERIOD = 60.0
"""Seconds between two notes that the service is alive: so much is looked back at more than needed after a crash."""

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_CONFIG = 78
"""EX_CONFIG of sysexits.h; the unit does not restart on it."""

SOUND_TIMEOUT = 8.0
"""Seconds for a sound device to answer before the service is called ready all the same."""
OVERDUE = 120.0
"""Seconds after which a moment of the schedule that nobody acted on means that its timers do not run."""


class Service:
    """One running Asagoe.

    Args:
        config: validated.
        path: the file it came from, read again on SIGHUP; None when there is none.
        clock: of everything.
        notifier: tells systemd.
        greet: called once when all is ready, with the service.
    """

    def __init__(
        self,
        config: Config,
        path: Path | None,
        *,
        clock: Clock | None = None,
        notifier: Notifier | None = None,
        greet: Callable[[Service], None] = lambda _: None,
    ) -> None:
        self.config = config
        self._path = path
        self._clock = clock or SystemClock()
        self._notifier = notifier or Pulse(notifier_of_the_environment(), config.node)
        self._greet = greet
        self._stop = asyncio.Event()
        self._bus = Events()
        self._feed = Feed()
        self._history = History(self._clock)
        self._bus.listen(self._history.on_event)
        self._bus.listen(self._feed.on_event)
        self._audio: dict[str, Any] = {"sink": None, "audible": None, "problem": None}
        self._background = Background()
        self._reloading = asyncio.Lock()
        self._reload_wanted = False
        self._broker: Broker | None = None
        self._is_ready = False
        self.has_broker = False
        self._server: RenderServer | None = None
        self._remote: RemoteRenderer | None = None
        self.zone = config.zone
        self.topics = Topics(config.mqtt.base_topic, config.node, tuple(config.groups))

    async def run(self) -> int:
        """Start everything, serve until a signal, stop everything; returns the exit code."""
        async with AsyncExitStack() as stack:
            listen_to_signals(stop=self._stop, reload=self._reload_soon)
            asked = asyncio.create_task(self._stop.wait(), name="asked to stop")
            starting = asyncio.create_task(self._start(stack), name="start")
            await asyncio.wait({asked, starting}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
                await asyncio.wait({starting})
            elif starting.exception() is not None:
                asked.cancel()
                return self._failed_to_start(starting.exception())
            else:
                self._say_ready()
                ended, _ = await asyncio.wait(
                    {asked, self._announcing, self._guarding}, return_when=asyncio.FIRST_COMPLETED
                )
                asked.cancel()
                if not self._stop.is_set():
                    _log.critical("%s ended by itself: a defect", ", ".join(task.get_name() for task in ended))
                    return EXIT_FAILED
            self._notifier.stopping()
            _log.info("stopping")
        return EXIT_STOPPED

    async def _start(self, stack: AsyncExitStack) -> None:
        self._records = await self._start_store(stack)
        self._tts = await self._start_voices(stack)
        self._renderer = self._start_renderer(stack)
        self._player = self._start_player(stack)
        self._announcer = await self._start_announcer(stack)
        self.commands = Commands()
        add_announcer_commands(self.commands, self._announcer)
        add_quiet_commands(self.commands, self._quiet)
        self._briefer = self._start_briefings()
        self._plan_alarms(stack)
        self._gateway = await self._start_mqtt(stack)
        stack.callback(self._announcer.shut_down)
        stack.callback(self._quiet.shut_down, lambda announcement: self._kept.leave(announcement, 0))
        await self._start_schedule(stack)
        await self._start_fetching(stack)
        await self._start_http(stack)
        await self._start_reports(stack)
        await self._start_watchdog(stack)
        await self._find_sound()
        await stack.enter_async_context(running(tell_status(self._notifier, self._clock, self._summary), "status"))

    def _failed_to_start(self, error: BaseException | None) -> int:
        if not isinstance(error, EngineError):
            assert error is not None  # noqa: S101
            raise error
        _log.error("%s", error)
        return EXIT_FAILED

    def _say_ready(self) -> None:
        self._is_ready = True
        self._notifier.ready(self._summary())
        _log.info("ready: %s", self._summary())
        self._greet(self)
        if self._reload_wanted:
            self._reload_soon()

    # The parts, in the order in which they start.

    async def _start_store(self, stack: AsyncExitStack) -> Records:
        self._notifier.status("reading what was kept")
        database = Database(state_folder() / "asagoe.db", self._on_store_in_thread(asyncio.get_running_loop()))
        await asyncio.to_thread(database.open)
        stack.callback(database.close)
        records = Records(database)
        await asyncio.to_thread(records.load)
        return records

    async def _start_voices(self, stack: AsyncExitStack) -> TTS:
        self._notifier.status(f"loading voices: {', '.join(self.config.speakers)}")
        tts = TTS(self.config.compute_device, mirrors=self.config.mirrors)
        stack.callback(tts.close)
        try:
            await asyncio.to_thread(tts.use_dictionary, self.config.words)
        except DictionaryError as error:  # not a mistake in it, that was told before: the compiler could not work
            _log.error("speaking without the dictionary: %s", error)
        self._speakers = SpeakerKeeper(tts, self._clock)
        await self._speakers.load(self.config)
        return tts

    def _start_renderer(self, stack: AsyncExitStack) -> Renderer:
        cache = self.config.phrase_cache
        phrases = PhraseCache(phrase_folder(cache.folder), cache.max_mb * 1_000_000)
        renderer = Renderer(self._tts, phrases, self.config.speaker_name, frozenset(self.config.speakers))
        stack.callback(renderer.close)
        return renderer

    def _start_player(self, stack: AsyncExitStack) -> Player:
        audio = self.config.audio
        self._notifier.status(f"opening the sound device {audio.device}")
        rate = next(iter(self._tts.speakers.values())).sample_rate
        sinks = sinks_of(audio, rate)
        self._has_device = any(sink.continuous for sink in sinks)
        player = Player(
            sinks,
            lead_in=audio.lead_in_ms / 1000,
            keep_open=audio.keep_open,
            on_sink=self._on_sink_in_thread(asyncio.get_running_loop()),
        )
        player.start()
        stack.callback(player.shut_down)
        player.wake(0.1)  # find out now, not at the first announcement, whether there is a sound device
        return player

    async def _start_announcer(self, stack: AsyncExitStack) -> Announcer:
        self._quiet = QuietKeeper(self._clock, self.config.quiet_plan)
        self._kept = Waiting(self._clock, self._records)
        self._bus.listen(self._kept.on_event)
        announcer = Announcer(
            clock=self._clock,
            queue=AnnouncementQueue(self.config.announcements.max_queue),
            renderer=self._renderer,
            player=self._player,
            bus=self._bus,
            volume=self.config.audio.volume,
            quiet=self._quiet,
            kept=self._kept,
        )
        announcer.set_volume_by_priority(self.config.announcements.volumes)
        announcer.on_sound = self._history.on_sound
        self._quiet.attach(announcer)
        self._announcing = await stack.enter_async_context(running(announcer.run(), "announcer"))
        return announcer

    def _start_briefings(self) -> Briefer:
        self._house = HouseTopics(self._clock, self.topics, ())
        gatherer = Gatherer(
            clock=self._clock,
            calendar=lambda: self.config.calendar,
            fetcher=HttpFetcher(__version__, house=lambda: self.config.own_hosts),
            memory=LastGood(state_folder() / "briefings"),
            topics=lambda: self._house.values,
        )
        briefer = Briefer(
            clock=self._clock,
            gatherer=gatherer,
            renderer=self._renderer,
            announcer=self._announcer,
            bus=self._bus,
            start=self._background.start,
        )
        briefer.configure(self.config.briefings, self.config.announcements.defaults)
        self._house.want(briefer.topics)
        add_briefing_commands(self.commands, briefer, self._announcer, entries=self._entries)
        return briefer

    async def _start_mqtt(self, stack: AsyncExitStack) -> Gateway:
        self._health = Health(
            self._clock,
            speakers=lambda: self._renderer.speakers,
            problems=lambda: self._problems,
            audio=lambda: self._audio,
            counters=lambda: self._announcer.counters,
            mqtt=lambda: self._gateway.report(),  # noqa: PLW0108 - it is made below
        )
        gateway = Gateway(
            announcer=self._announcer,
            commands=self.commands,
            settings=self.config.announcements,
            topics=self.topics,
            clock=self._clock,
            zone=self.zone,
            snapshot=self.snapshot,
            health=self._health.report,
            second_encoding=self.config.mqtt.second_encoding,
        )
        self._gateway = gateway
        self._bus.listen(gateway.on_event)
        self._bus.listen(self._health.on_event)
        self._announcer.on_change = self._quiet.on_change = self._changed
        mqtt = self.config.mqtt
        if mqtt.broker == "none":
            return gateway
        try:
            address = broker_address(mqtt)
        except UnavailableError as error:
            _log.error("%s", error)
            return gateway

        def on_message(message: Incoming) -> None:
            self._house.on_message(message)
            gateway.on_message(message)

        own = mqtt.embedded and await self._start_embedded_broker(stack)
        passing = self._start_listeners(gateway, stack)
        self._notifier.status(f"connecting to the broker {address}")
        broker = PahoBroker(
            address,
            client_id=mqtt.client_id or f"asagoe-{self.config.node}",
            topics=[*self.topics.filters, *self._house.filters],
            passing=passing,
            heartbeat=self.topics.out("heartbeat"),
            will=Will(self.topics.out("availability"), OFFLINE),
            session_expiry=round(self.config.announcements.defaults.expires_in),
            keepalive=round(mqtt.keepalive),
            on_message=on_message,
            on_connection=self._on_connection,
            protocol=MQTT_3_1_1 if own else MQTT_5,
        )
        gateway.attach(broker)
        broker.start()
        self._broker = broker
        stack.push_async_callback(broker.stop)
        stack.callback(gateway.say_goodbye)
        self.has_broker = True
        return gateway

    def _start_listeners(self, gateway: Gateway, stack: AsyncExitStack) -> list[str]:
        """What else is spoken over the broker: Hermes, and speech that is made elsewhere; returns the topics."""
        mqtt, topics = self.config.mqtt, []
        if mqtt.hermes:
            hermes = Hermes(
                submit=self._announcer.submit,
                publish=gateway.publish,
                sites=[*self.topics.names, "all", *mqtt.hermes_sites],
                settings=lambda: self.config.announcements,
                clock=self._clock,
                zone=self.zone,
                second_encoding=mqtt.second_encoding,
            )
            gateway.listen(SAY, hermes.on_message)
            self._bus.listen(hermes.on_event)
            topics.append(SAY)
        if mqtt.render_for_others:
            self._server = RenderServer(
                base=mqtt.base_topic,
                node=self.config.node,
                publish=gateway.publish,
                renderer=self._renderer,
                speakers=lambda: self._tts.speakers,
                default=lambda: self.config.speaker_name,
            )
            gateway.listen(self.topics.out(REQUEST), self._server.on_message)
            topics.append(self.topics.out(REQUEST))
        if self.config.remote_speakers:
            self._remote = RemoteRenderer(
                base=mqtt.base_topic,
                node=self.config.node,
                publish=gateway.publish,
                connected=lambda: gateway.connected,
                configured={
                    name: RemoteSpeaker(remote.node, remote.speaker, self.config.speakers[name].defaults())
                    for name, remote in self.config.remote_speakers.items()
                },
                text=self._tts.text,
                clock=self._clock,
                timeout=mqtt.render_timeout,
                on_change=gateway.on_change,
            )
            self._remote.listen(gateway.listen)
            self._renderer.remote = lambda: self._remote.speakers if self._remote else {}
            stack.callback(self._remote.close)
            topics += self._remote.topics
        return topics

    def _on_connection(self, up: bool) -> None:
        self._gateway.on_connection(up)
        if self._remote is not None:
            self._remote.on_connection(up)
        if up and self._server is not None:
            self._server.publish_voices()

    async def _start_embedded_broker(self, stack: AsyncExitStack) -> bool:
        """Start the broker inside the service; where its port is taken, a broker that answers there will do."""
        embedded = EmbeddedBroker(self.config.mqtt.bind, self.config.mqtt.port)
        try:
            await asyncio.to_thread(embedded.start)
        except UnavailableError as error:
            _log.warning("%s; until then the broker that answers there is used", error)
            return False
        stack.callback(embedded.stop)
        return True

    def _plan_alarms(self, stack: AsyncExitStack) -> None:
        """Make everything that alarms and the schedule need; nothing is due before ``_start_schedule``."""
        timers = APSchedulerTimers()
        timers.start()
        stack.callback(timers.stop)
        zone = self.zone
        clips = Clips(
            clock=self._clock,
            renderer=self._renderer,
            sample_rate=lambda: self._player.sample_rate,
            words=words,
            late_words=late_words,
        )
        self._agenda = Agenda(clock=self._clock, records=self._records, on_plan=self._plan)
        self._keeper = AlarmKeeper(
            clock=self._clock,
            timers=timers,
            zone=zone,
            announcer=self._announcer,
            clips=clips,
            bus=self._bus,
            records=self._records,
            on_wake=self._wake,
            on_done=self._alarm_done,
            on_change=self._changed,
        )
        stack.push_async_callback(self._keeper.shut_down)
        self._speech = Speech(
            clock=self._clock,
            announcer=self._announcer,
            briefer=self._briefer,
            renderer=self._renderer,
            bus=self._bus,
            background=self._background,
            defaults=lambda: self.config.announcements.defaults,
        )
        dispatcher = Dispatcher(
            agenda=self._agenda,
            keeper=self._keeper,
            missed_alarms=MissedAlarms(
                clock=self._clock,
                zone=zone,
                bus=self._bus,
                say=self._announcer.submit,
                summary=missed_words,
                background=self._background,
            ),
            speech=self._speech,
        )
        self._scheduler = Scheduler(
            clock=self._clock,
            timers=timers,
            calendar=self.config.calendar,
            reactions=dispatcher.reactions(wake=self._wake, changed=self._changed),
            history=self._records,
            alive=self._records.alive,
        )
        AgendaCommands(self._agenda, self._keeper).add_to(self.commands)

    async def _start_schedule(self, stack: AsyncExitStack) -> None:
        for announcement, resume_at in self._kept.restore():
            self._announcer.restore(announcement, resume_at)
        self._agenda.configure(self.config)
        self._keeper.restore()
        self._guarding = await stack.enter_async_context(running(self._scheduler.guard(), "clock guard"))
        await stack.enter_async_context(running(self._quiet.run(), "quiet hours"))

        async def stay_known() -> None:
            while True:
                self._still_alive()
                await self._clock.sleep(ALIVE_PERIOD)

        await stack.enter_async_context(running(stay_known(), "alive"))
        stack.callback(self._still_alive)

    async def _start_fetching(self, stack: AsyncExitStack) -> None:
        self._speakers.on_change = self._speakers_changed
        await stack.enter_async_context(running(self._speakers.keep(), "speakers"))

    async def _start_http(self, stack: AsyncExitStack) -> None:
        if self.config.http is None:
            return
        backend = Backend(
            loop=asyncio.get_running_loop(),
            tts=self._tts,
            renderer=self._renderer,
            settings=lambda: self.config.announcements,
            announce=self._gateway.announce_from("http"),
            snapshot=self.snapshot,
            health=self._health.report,
            upcoming=lambda count: [
                Coming(o.entry.id, o.due.astimezone(self.zone)) for o in self._scheduler.upcoming(count)
            ],
            dictionary=self._dictionary_file,
            state_folder=state_folder(),
            commands=self.commands,
            agenda=self._agenda,
            briefer=self._briefer,
            history=self._history,
            feed=self._feed,
            speaker=lambda: self.config.speaker_name,
            doctor=doctor_of(self._path),
        )
        server = HttpServer(self.config.http, backend)
        try:
            await asyncio.to_thread(server.start)
        except UnavailableError as error:
            _log.error("%s", error)
            return
        stack.push_async_callback(asyncio.to_thread, server.stop)

    def _dictionary_file(self) -> Path | None:
        name = self.config.dictionary
        return None if name is None or self._path is None else dictionary_path(name, self._path)

    async def _start_reports(self, stack: AsyncExitStack) -> None:
        async def report() -> None:
            while True:
                self._gateway.publish_health()
                await self._clock.sleep(PERIOD)

        await stack.enter_async_context(running(report(), "health"))

    async def _find_sound(self) -> None:
        """Ready means able to speak: wait until it is known where sound goes, or for a device that does not answer."""
        deadline = self._clock.monotonic() + SOUND_TIMEOUT
        while self._has_device and self._audio["sink"] is None and self._clock.monotonic() < deadline:
            self._notifier.status(f"waiting for the sound device {self.config.audio.device}")
            await self._clock.sleep(0.1)

    async def _start_watchdog(self, stack: AsyncExitStack) -> None:
        parts = {
            "player": lambda: self._player.alive,
            "renderer": lambda: self._renderer.alive,
            "announcer": lambda: not self._announcing.done(),
            "clock guard": lambda: not self._guarding.done(),
            "schedule": self._is_schedule_kept,
        }
        await stack.enter_async_context(running(feed_watchdog(self._notifier, self._clock, parts), "watchdog"))

    def _is_schedule_kept(self) -> bool:
        """Whether nothing has been due for long without being said or reported as missed."""
        following = self._scheduler.next
        return following is None or (self._clock.now() - following.due).total_seconds() < OVERDUE

    # What happens while it runs.

    def snapshot(self) -> dict[str, Any]:
        """The state as it is published."""
        return snapshot(
            node=self.config.node,
            announcer=self._announcer,
            upcoming=self._scheduler.next,
            agenda=self._agenda,
            keeper=self._keeper,
            audio=self._audio,
            speakers={name: name in self._renderer.speakers for name in self.config.speakers},
            problems=self._problems,
            quiet=self._quiet.snapshot(),
            now=self._clock.now(),
            zone=self.zone,
        )

    @property
    def _problems(self) -> dict[str, str]:
        return {**self._speakers.problems, **(self._remote.problems if self._remote else {})}

    def _speakers_changed(self) -> None:
        self._changed()
        if self._server is not None:
            self._server.publish_voices()
        self._gateway.publish_health()

    def _wake(self) -> None:
        self._player.wake(WAKE_AHEAD.total_seconds() + 1.0)

    def _changed(self) -> None:
        if hasattr(self, "_gateway"):
            self._gateway.on_change()
        self._feed.on_change()

    def _plan(self, entries: Sequence[Entry], calendar: Calendar) -> None:
        self._keeper.replace(self._agenda.alarms)
        self._scheduler.replace(entries, calendar)

    def _alarm_done(self, alarm: Alarm, dismissed: bool) -> None:
        self._agenda.done(alarm)
        if dismissed and alarm.then in self._briefer.names:
            self._briefer.run(alarm.then)

    def _entries(self) -> dict[str, Callable[[], str]]:
        """The entries of the schedule, and how to say each now."""
        return {
            name: partial(self._speech.now, name, item)
            for name, item in self._agenda.items.items()
            if isinstance(item, ScheduleEntryConfig)
        }

    def _still_alive(self) -> None:
        if self._scheduler.clock_is_set:
            self._records.still_alive(self._clock.now())

    def _on_store_in_thread(self, loop: asyncio.AbstractEventLoop) -> Callable[[str | None], None]:
        def report(problem: str | None) -> None:
            if problem is not None:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._bus.emit, Event(events.FAILED, None, problem))

        return report

    def _on_sink_in_thread(self, loop: asyncio.AbstractEventLoop) -> Callable[[str, bool, str | None], None]:
        def report(name: str, audible: bool, problem: str | None) -> None:
            if problem is None:
                _log.info("sound goes to %s", name)
            else:
                _log.warning("%s; announcements go to %s", problem, name)
            self._audio = {"sink": name, "audible": audible, "problem": problem}
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._announcer.on_change)

        return report

    def _reload_soon(self) -> None:
        if not self._is_ready:
            self._reload_wanted = True  # after the start, which reads the old file to its end
            return
        self._background.start(self._reload(), "reload")

    async def _reload(self) -> None:
        """Read the configuration and its dictionary again; a broken file changes nothing."""
        async with self._reloading:
            self._notifier.reloading()
            try:
                config = await asyncio.to_thread(load_config, self._path)
                await asyncio.to_thread(self._tts.use_dictionary, config.words)
            except (ConfigError, DictionaryError) as error:
                _log.error("the configuration is not reloaded, the old one stays in force:\n%s", error)
                first = str(error).partition("\n")[0]
                self._bus.emit(Event(events.FAILED, None, f"the configuration is not reloaded: {first}"))
            else:
                await self._apply(config)
            self._notifier.ready(self._summary())

    async def _apply(self, new: Config) -> None:
        old = self.config
        fixed = [
            key
            for key in (
                "node",
                "groups",
                "timezone",
                "compute_device",
                "audio",
                "mirrors",
                "mqtt",
                "http",
                "phrase_cache",
                "render_on",
            )
            if _differs(old, new, key)
        ]
        self.config = new.model_copy(update={key: getattr(old, key) for key in fixed})
        if new.remote_speakers != old.remote_speakers:
            fixed.append("speakers that other nodes speak")
        for name in set(old.own_speakers) - set(new.own_speakers):
            await asyncio.to_thread(self._tts.unload, name)
        await self._speakers.load(new)
        self._renderer.configure(new.speaker_name, frozenset(new.speakers))
        self._gateway.settings = new.announcements
        self._announcer.set_queue_limit(new.announcements.max_queue)
        self._announcer.set_volume_by_priority(new.announcements.volumes)
        self._quiet.configure(self.config.quiet_plan)
        if self._server is not None:
            self._server.publish_voices()
        self._briefer.configure(new.briefings, new.announcements.defaults)
        subscribed = set(self._house.filters)
        self._house.want(self._briefer.topics)
        if not subscribed.issuperset(self._house.filters):
            fixed.append("the topics of briefings")
        self._agenda.configure(self.config)
        set_up_logging(new.log.level)
        if fixed:
            _log.warning("reloaded; a change of %s takes effect at the next start", ", ".join(fixed))
        else:
            _log.info("reloaded: %s", self._summary())

    def _summary(self) -> str:
        broker = self._broker
        return summary(
            speakers=list(self._tts.speakers),
            problems=self._speakers.problems,
            audio=self._audio,
            connected=None if broker is None else broker.connected,
            clock_is_set=self._scheduler.clock_is_set,
            upcoming=self._scheduler.next,
            zone=self.zone,
        )


def _differs(old: Config, new: Config, key: str) -> bool:
    return bool(getattr(old, key) != getattr(new, key))
