"""Feeds the watchdog only while the parts that matter are alive: systemd's, or one of our own in a container."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from daemon.clock import Clock
from daemon.service.notify import Notifier

_log = logging.getLogger("asagoe.watchdog")

PERIOD = 60.0
"""Seconds that are taken where no watchdog is set: others may listen all the same (``Pulse``)."""


async def feed_watchdog(notifier: Notifier, clock: Clock, parts: Mapping[str, Callable[[], bool]]) -> None:
    """Tell the service manager that we are alive, until cancelled.

    Running on the event loop proves the loop; each of ``parts`` proves itself. A part that is stuck is named, and the
    watchdog is left to bite.
    """
    period = notifier.watchdog or PERIOD
    while True:
        stuck = [name for name, alive in parts.items() if not alive()]
        if stuck:
            _log.error("stuck: %s; the watchdog is not fed", ", ".join(stuck))
            notifier.stuck(stuck)
        else:
            notifier.alive()
        await clock.sleep(period / 3)


async def tell_status(notifier: Notifier, clock: Clock, summary: Callable[[], str]) -> None:
    """Keep the line of `systemctl status` true, until cancelled: what the service waits for can change any time."""
    told = summary()
    while True:
        await clock.sleep(2.0)
        if (now := summary()) != told:
            notifier.status(told := now)
