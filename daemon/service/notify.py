"""The notification protocol of systemd (sd_notify(3)): datagrams to the socket that NOTIFY_SOCKET names."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import socket
import time
from collections.abc import Sequence
from typing import Protocol

from daemon.logs import stderr


class Notifier(Protocol):
    """Tells the service manager how things are."""

    def ready(self, status: str) -> None:
        """The service can do its job."""

    def status(self, text: str) -> None:
        """A line for `systemctl status`."""

    def reloading(self) -> None:
        """The configuration is being read again; ``ready`` ends it."""

    def stopping(self) -> None:
        """The service is on its way out."""

    def alive(self) -> None:
        """Feed the watchdog."""

    def stuck(self, parts: Sequence[str]) -> None:
        """The watchdog is not fed because of these parts."""

    @property
    def watchdog(self) -> float | None:
        """Seconds within which ``alive`` is expected, or None."""


class SystemdNotifier:
    """``Notifier`` for systemd; does nothing where no socket is named."""

    def __init__(self) -> None:
        path = os.environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + path[1:] if path.startswith("@") else path

    def ready(self, status: str) -> None:
        """READY=1."""
        self._send(f"READY=1\nSTATUS={status}")

    def status(self, text: str) -> None:
        """STATUS=…."""
        self._send(f"STATUS={text}")

    def reloading(self) -> None:
        """RELOADING=1, with the monotonic time that Type=notify-reload wants."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """STOPPING=1."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def alive(self) -> None:
        """WATCHDOG=1."""
        self._send("WATCHDOG=1")

    def stuck(self, parts: Sequence[str]) -> None:
        """STATUS=…."""
        self.status(f"stuck: {', '.join(parts)}")

    @property
    def watchdog(self) -> float | None:
        """From WATCHDOG_USEC, where it is meant for this process (WATCHDOG_PID)."""
        microseconds = os.environ.get("WATCHDOG_USEC", "")
        meant = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        return int(microseconds) / 1e6 if microseconds.isdigit() and int(microseconds) and meant else None

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.connect(self._address)
            channel.send(message.encode())


class OwnWatchdog(SystemdNotifier):
    """For where nobody watches over the service, as in a container.

    When it is not fed in time, the stacks of all threads are written and the process ends with 1, so that whoever
    started it starts it again.

    Args:
        seconds: within which it must be fed.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    @property
    def watchdog(self) -> float:
        """The seconds it was made with."""
        return self._seconds

    def alive(self) -> None:
        """Feed it: it is set anew. It runs in a thread that needs neither the loop nor the interpreter's lock."""
        faulthandler.dump_traceback_later(self._seconds, exit=True, file=stderr())
        super().alive()

    def stopping(self) -> None:
        """It bites no more; a stop has a deadline of its own."""
        faulthandler.cancel_dump_traceback_later()
        super().stopping()


def notifier_of_the_environment() -> Notifier:
    """systemd's, or with ``ASAGOE_WATCHDOG`` (seconds) one with a watchdog of our own, where systemd sets none."""
    systemd = SystemdNotifier()
    own = os.environ.get("ASAGOE_WATCHDOG", "")
    return OwnWatchdog(float(own)) if systemd.watchdog is None and own.isdecimal() and int(own) else systemd
