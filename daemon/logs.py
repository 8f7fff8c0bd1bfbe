"""Log lines for the journal: one line each, with facts as key=value."""

from __future__ import annotations

import json
import logging
import os
import re
from functools import cache
from typing import TextIO

_JOURNAL_LEVELS = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class LineFormatter(logging.Formatter):
    """`LEVEL logger: message key=value …`, on one line whatever a message holds.

    Args:
        journal: begin with systemd's `<N>` priority instead of the time, which the journal adds itself.
    """

    def __init__(self, *, journal: bool) -> None:
        super().__init__()
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        """The line, followed by a traceback where there is one."""
        facts = getattr(record, "facts", {})
        pairs = "".join(f" {key}={_value(value)}" for key, value in facts.items() if value is not None)
        text = f"{record.name.removeprefix('asagoe.')}: {_one_line(record.getMessage())}{pairs}"
        if self._journal:
            head = f"<{_JOURNAL_LEVELS.get(record.levelno, 6)}>"
        else:
            head = f"{self.formatTime(record, '%H:%M:%S')} {record.levelname.lower():7} "
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return head + text


@cache
def stderr() -> TextIO:
    """Standard error, by a descriptor of our own.

    sounddevice points descriptor 2 at /dev/null while PortAudio starts; what another thread writes there meanwhile
    would be lost.
    """
    return os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")


def set_up_logging(level: str) -> None:
    """Log to standard error; to be called once, or again to change the level."""
    handler = logging.StreamHandler(stderr())
    handler.setFormatter(LineFormatter(journal="JOURNAL_STREAM" in os.environ))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("asagoe").setLevel(level.upper())
    paho = logging.getLogger("asagoe.mqtt.paho")
    paho.setLevel(logging.WARNING)
    # paho calls it an error that a client that has just disconnected is not connected.
    paho.filters[:] = [lambda record: not record.getMessage().startswith("Client is not connected")]
    logging.getLogger("apscheduler").setLevel(logging.ERROR)


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", text)


def _value(value: object) -> str:
    if isinstance(value, bool | int | float):
        return str(value).lower()
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if re.fullmatch(r"[\w@:.+-]+", text) else json.dumps(_one_line(text), ensure_ascii=False)
