"""What the service does on signals."""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import threading
from collections.abc import Callable

from daemon.logs import stderr

_log = logging.getLogger("asagoe.service")

STOP_DEADLINE = 4.0
"""Seconds after which a stop that hangs is cut short: systemd and people wait for five."""


def show_stacks_of_crashes() -> None:
    """Write the stack of every thread when the process crashes, or is ended by SIGABRT, as systemd's watchdog does."""
    faulthandler.enable(file=stderr(), all_threads=True)


def listen_to_signals(*, stop: asyncio.Event, reload: Callable[[], None]) -> None:
    """SIGTERM and SIGINT stop, SIGHUP reloads, SIGUSR1 shows what every thread and task is doing.

    Args:
        stop: set when the service is to stop. Whatever hangs on the way then, the process ends in time: a timer in a
            thread of its own sees to that.
        reload: called on SIGHUP.
    """
    loop = asyncio.get_running_loop()

    def ask_to_stop() -> None:
        if not stop.is_set():
            stop.set()
            last_resort = threading.Timer(STOP_DEADLINE, _give_up)
            last_resort.daemon = True
            last_resort.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask_to_stop)
    loop.add_signal_handler(signal.SIGHUP, reload)
    loop.add_signal_handler(signal.SIGUSR1, _show_tasks)
    # The threads also when the loop is stuck.
    faulthandler.register(signal.SIGUSR1, file=stderr(), all_threads=True, chain=True)


def _show_tasks() -> None:
    for task in asyncio.all_tasks():
        task.print_stack(file=stderr())


def _give_up() -> None:
    _log.error("stopping takes too long; going now")
    logging.shutdown()
    os._exit(0)
