"""Feeds systemd's watchdog only while the parts that matter are alive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from daemon.clock import Clock
from daemon.service.notify import Notifier

_log = logging.getLogger("asagoe.watchdog")


async def feed_watchdog(notifier: Notifier, clock: Clock, parts: Mapping[str, Callable[[], bool]]) -> None:
    """Tell the service manager that we are alive, until cancelled.

    Running on the event loop proves the loop; each of ``parts`` proves itself. A part that is stuck is named, and the
    watchdog is left to bite.
    """
    period = notifier.watchdog
    if period is None:
        return
    while True:
        stuck = [name for name, alive in parts.items() if not alive()]
        if stuck:
            _log.error("stuck: %s; the watchdog is not fed", ", ".join(stuck))
        else:
            notifier.alive()
        await clock.sleep(period / 3)
