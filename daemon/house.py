"""Everything that runs, in one place, for those who put it together: filled while the service starts, in that order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from daemon.agenda.agenda import Agenda
from daemon.agenda.speech import Speech
from daemon.alarms.keeper import AlarmKeeper
from daemon.announcer import Announcer
from daemon.briefings.briefer import Briefer
from daemon.clock import Clock
from daemon.commands import Commands
from daemon.config import Config
from daemon.events import Events
from daemon.feed import Feed
from daemon.health import Health
from daemon.history import History
from daemon.homeassistant.discovery import Discovery
from daemon.last_said import LastSaid
from daemon.mqtt.gateway import Gateway
from daemon.mqtt.house_topics import HouseTopics
from daemon.mqtt.messages import Broker
from daemon.mqtt.topics import Topics
from daemon.player import Player
from daemon.preferences import Preferences
from daemon.quiet_keeper import QuietKeeper
from daemon.remote.client import RemoteRenderer
from daemon.remote.server import RenderServer
from daemon.renderer import Renderer
from daemon.schedule.scheduler import WAKE_AHEAD, Scheduler
from daemon.service.notify import Notifier
from daemon.service.tasks import Background
from daemon.speakers import SpeakerKeeper
from daemon.state import snapshot, summary
from daemon.store import Records
from daemon.waiting import Waiting
from engine import TTS


class House:
    """The parts of one running Asagoe. Whoever is given a part does not know the house.

    Args:
        config: validated.
        path: the file it came from; None when there is none.
        clock: of everything.
        notifier: tells systemd.
    """

    records: Records
    preferences: Preferences
    last_said: LastSaid
    tts: TTS
    speakers: SpeakerKeeper
    renderer: Renderer
    player: Player
    quiet: QuietKeeper
    kept: Waiting
    announcer: Announcer
    announcing: asyncio.Task[None]
    house_topics: HouseTopics
    briefer: Briefer
    agenda: Agenda
    keeper: AlarmKeeper
    speech: Speech
    scheduler: Scheduler
    guarding: asyncio.Task[None]
    gateway: Gateway
    health: Health
    has_device: bool
    device: str

    def __init__(self, config: Config, path: Path | None, clock: Clock, notifier: Notifier) -> None:
        self.config = config
        self.file_config = config  # as it is in the file: without what people chose
        self.outputs: tuple[str, ...] = ()
        self.path = path
        self.clock = clock
        self.notifier = notifier
        self.zone = config.zone
        self.topics = Topics(config.mqtt.base_topic, config.node, tuple(config.groups))
        self.bus = Events()
        self.background = Background()
        self.commands = Commands()
        self.feed = Feed()
        self.history = History(clock)
        self.bus.listen(self.history.on_event)
        self.bus.listen(self.feed.on_event)
        self.audio: dict[str, Any] = {"sink": None, "audible": None, "problem": None}
        self.compute: dict[str, Any] = {"device": "cpu", "problem": None}
        self.broker: Broker | None = None
        self.render_server: RenderServer | None = None
        self.remote: RemoteRenderer | None = None
        self.discovery: Discovery | None = None

    @property
    def problems(self) -> dict[str, str]:
        """Why speakers that are not ready are not."""
        return {**self.speakers.problems, **(self.remote.problems if self.remote else {})}

    def snapshot(self) -> dict[str, Any]:
        """The state as it is published."""
        return snapshot(
            node=self.config.node,
            announcer=self.announcer,
            upcoming=self.scheduler.next,
            agenda=self.agenda,
            keeper=self.keeper,
            audio=self.audio,
            speakers={name: name in self.renderer.speakers for name in self.config.speakers},
            problems=self.problems,
            quiet=self.quiet.snapshot(),
            more=self.preferences.snapshot() | self.last_said.snapshot(),
            now=self.clock.now(),
            zone=self.zone,
        )

    def summary(self) -> str:
        """One line for people."""
        return summary(
            speakers=[name for name in self.tts.speakers if name in self.config.speakers],
            problems=self.speakers.problems,
            audio=self.audio,
            compute=self.compute,
            connected=None if self.broker is None else self.broker.connected,
            clock_is_set=self.scheduler.clock_is_set,
            upcoming=self.scheduler.next,
            zone=self.zone,
        )

    def changed(self) -> None:
        """What ``snapshot`` says has changed."""
        if hasattr(self, "gateway"):  # alarms and the schedule are made before it
            self.gateway.on_change()
        self.feed.on_change()

    def rediscover(self) -> None:
        """What Home Assistant is told of may have changed."""
        if self.discovery is not None:
            self.discovery.refresh_soon()

    def wake(self) -> None:
        """Something is due in a moment: open the sound device."""
        self.player.wake(WAKE_AHEAD.total_seconds() + 1.0)
