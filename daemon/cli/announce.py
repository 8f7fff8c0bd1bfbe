"""``asagoe announce``: through the broker to the running service, and what became of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from daemon import events
from daemon.announcement import new_id
from daemon.cli.common import err, fail, out, printable, read_config, text_or_stdin
from daemon.cli.node import Node, NodeError, connected_node

_ANSWER_TIMEOUT = 3.0
_SPEECH_TIMEOUT = 600.0


def announce_text(explicit: Path | None, text: str, node: str | None, message: dict[str, Any], *, wait: bool) -> int:
    """Publish an announcement and follow its events; returns the exit code."""
    config, _ = read_config(explicit)
    if config.mqtt.broker == "none":
        return fail("mqtt.broker is none: the service listens to no broker; use asagoe say")
    body = {"text": text_or_stdin(text), "id": new_id(), **message}
    try:
        with connected_node(config, node, ("event",)) as connected:
            connected.publish("announce", json.dumps(body, ensure_ascii=False))
            return _follow(connected, body["id"]) if wait and node != "all" else 0
    except NodeError as error:
        return fail(str(error))


def _follow(node: Node, name: str) -> int:
    timeout = _ANSWER_TIMEOUT
    while True:
        message = node.wait(timeout)
        if message is None:
            return fail(f"no answer from node {node.name!r}; is the service running with this configuration?")
        event = message.body
        if not isinstance(event, dict) or event.get("id") != name:
            continue
        timeout = _SPEECH_TIMEOUT
        kind = event.get("event_type")
        if kind == events.STARTED:
            err.print(f"speaking ({event.get('speaker')})", markup=False)
        if kind in events.TERMINAL:
            return _report(event)


def _report(event: dict[str, Any]) -> int:
    if event["event_type"] != events.FINISHED:
        return fail(f"{event['event_type']}: {event.get('reason')}")
    for unread in event.get("unread", ()):
        err.print(f"not read: {printable(unread['text'])} ({unread['reason']})", style="yellow")
    if not event.get("audible", True):
        out.print(f"nobody can hear it: it went to {event.get('sink')}", style="yellow", markup=False)
    else:
        out.print(f"said, first sample after {event.get('first_sample_ms')} ms", markup=False)
    return 0
