"""What can be asked of briefings by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from daemon.announcer import Announcer
from daemon.briefings.briefer import Briefer
from daemon.commands import Commands
from daemon.errors import RequestError


def add_briefing_commands(
    commands: Commands,
    briefer: Briefer,
    announcer: Announcer,
    *,
    entries: Callable[[], Mapping[str, Callable[[], str]]],
) -> None:
    """Add run, pause, resume and next_section; stop also ends a briefing that is still being made.

    Args:
        commands: the table.
        briefer: tells briefings.
        announcer: whose stop is extended.
        entries: what else ``do/run`` may name: the entries of the schedule, and how to say each now, which returns
            the id of its announcement.
    """

    def run(text: str) -> str:
        name = text.strip()
        if name in briefer.names:
            return briefer.run(name)
        if name in entries():
            return entries()[name]()
        known = ", ".join([*briefer.names, *entries()]) or "none"
        message = f"there is no briefing or schedule entry {name[:64]!r}; there are {known}"
        raise RequestError(message)

    def stop(_: str) -> list[str]:
        return list(dict.fromkeys([*briefer.stop(), *announcer.stop()]))

    commands.add("do/run", run)
    commands.add("do/pause", lambda _: briefer.pause())
    commands.add("do/resume", lambda _: briefer.resume())
    commands.add("do/next_section", lambda _: briefer.next_section())
    commands.add("do/stop", stop)
