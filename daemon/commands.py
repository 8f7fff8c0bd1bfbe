"""What can be asked of the running service, by name: one table for every way in (MQTT, HTTP, command line)."""

from __future__ import annotations

from collections.abc import Callable

from daemon.errors import RequestError

Handler = Callable[..., object]
"""Takes the text of the request, then each part of the name that a ``+`` stands for."""


class Commands:
    """Commands under names such as ``do/stop``, ``set/volume`` or ``set/alarm/+/enabled``.

    All calls are on the event loop. A handler raises ``RequestError`` for a request that cannot be carried out.
    """

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, ...], Handler] = {}

    def add(self, name: str, handler: Handler) -> None:
        """Add a command; ``+`` stands for one part of the name, which the handler gets after the text."""
        self._handlers[tuple(name.split("/"))] = handler

    @property
    def names(self) -> list[str]:
        """The names of all commands, as they were added."""
        return ["/".join(parts) for parts in self._handlers]

    def carry_out(self, name: str, text: str) -> object:
        """Carry out the command of that name; returns what its handler returns.

        Raises:
            RequestError: there is no such command, or it cannot be carried out; the message says why.
        """
        parts = tuple(name.split("/"))
        for pattern, handler in self._handlers.items():
            if len(pattern) == len(parts) and all(p in ("+", part) for p, part in zip(pattern, parts, strict=True)):
                return handler(text, *(part for p, part in zip(pattern, parts, strict=True) if p == "+"))
        message = f"there is no command {name[:80]!r}; there are {', '.join(self.names)}"
        raise RequestError(message)
