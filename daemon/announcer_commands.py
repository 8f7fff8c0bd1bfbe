"""What can be asked of the announcer by name."""

from __future__ import annotations

from daemon.announcer import Announcer
from daemon.commands import Commands
from daemon.errors import RequestError
from daemon.requests import parse_percent, parse_switch


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
