"""The notification protocol of systemd (sd_notify(3)): datagrams to the socket that NOTIFY_SOCKET names."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import Protocol


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
