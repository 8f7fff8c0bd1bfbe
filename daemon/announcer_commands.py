"""What can be asked of the announcer by name."""

from __future__ import annotations

from collections.abc import Callable

from daemon.announcement import Announcement, new_id
from daemon.announcer import Announcer
from daemon.clock import Clock
from daemon.commands import Commands
from daemon.config import Config
from daemon.errors import RequestError
from daemon.requests import parse_percent, parse_switch

TEST = {"ja": "音声のテストです。聞こえていますか。", "en": "This is a test of the voice."}
"""What is said to hear whether it works, by ``mqtt.discovery.locale``."""


def add_test_command(commands: Commands, announcer: Announcer, clock: Clock, config: Callable[[], Config]) -> None:
    """Add ``do/test``: a sentence in the voice, volume and chime of announcements; answered with its id."""

    def test(_: str) -> str:
        now = config()
        said = Announcement(
            new_id(),
            TEST[now.mqtt.discovery.locale],
            "test",
            clock.now(),
            clock.monotonic(),
            chime=now.announcements.defaults.chime,
            max_wait=now.announcements.defaults.expires_in,
        )
        announcer.submit(said)
        return said.id

    commands.add("do/test", test)


def add_announcer_commands(commands: Commands, announcer: Announcer) -> None:
    """Add stop, skip, clear, replay, volume and mute."""

    def replay(_: str) -> str:
        again = announcer.replay()
        if again is None:
            message = "nothing was said yet that could be said again"
            raise RequestError(message)
        return again

    commands.add("do/stop", lambda _: announcer.stop())
    commands.add("do/skip", lambda _: announcer.skip())
    commands.add("do/clear", lambda _: announcer.clear())
    commands.add("do/replay", replay)
    commands.add("set/volume", lambda text: announcer.set_volume(parse_percent(text, "volume")))
    commands.add("set/mute", lambda text: announcer.set_mute(parse_switch(text, "mute")))
