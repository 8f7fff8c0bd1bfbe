"""The errors of the service, grouped by what follows from them."""

from __future__ import annotations


class DaemonError(Exception):
    """Base of the errors that the service raises on purpose."""


class RequestError(DaemonError):
    """A message or command that cannot be carried out; its sender is told why.

    Attributes:
        request_id: the id that the sender gave, where one could be read.
    """

    def __init__(self, reason: str, request_id: str | None = None) -> None:
        super().__init__(reason)
        self.request_id = request_id


class SinkError(DaemonError):
    """A sound device cannot be opened or written to; another attempt may succeed."""


class SinkMissingError(SinkError):
    """There is no such sound device now; waiting a second will not make one appear."""


class PlaybackError(DaemonError):
    """No sink took the sound, after all attempts."""


class UnavailableError(DaemonError):
    """A part that is optional is not installed or could not start; the message says what to do."""


class SectionError(DaemonError):
    """A section of a briefing has nothing to tell: its source failed; the message says why, without secrets."""


class TemplateFault(DaemonError):  # noqa: N818 - what the words of the house call it
    """A template that cannot be compiled, fails, or says more than it may; the message says where and why."""


class InstallError(DaemonError):
    """The service cannot be put in place, or not be removed; the message says what to do."""
