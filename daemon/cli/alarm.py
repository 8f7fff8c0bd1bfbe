"""``asagoe alarm`` and ``asagoe vacation``: alarms of the running service, through the broker."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from daemon.cli.common import fail, out, printable, read_config, table
from daemon.cli.node import Node, NodeError, connected_node

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMES = ("availability", "state", "event")
_KINDS = ("alarms", "schedule")


def list_alarms(explicit: Path | None, node: str | None, *, as_json: bool) -> int:
    """Print the alarms of a node; returns the exit code."""

    def show(connected: Node) -> None:
        state = connected.state()
        if as_json:
            for name, alarm in state.get("alarms", {}).items():
                until = state.get("snoozed", {}).get(name)
                print(json.dumps({"id": name, **alarm, "snoozed_until": until}, ensure_ascii=False))
            return
        _print_table(connected.name, state)

    return _with_node(explicit, node, show)


def definition_of(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object that makes an alarm, from options; what was not given (None) is left out."""
    given = {key: value for key, value in keys.items() if value is not None}
    for key in ("at", "days", "pre_alarm"):
        if len(given.get(key, ())) == 1:
            given[key] = given[key][0]
    for key, first, second in (("fade_in", "length", "begin"), ("snooze", "length", "count")):
        other = "fade_from" if key == "fade_in" else "snooze_count"
        if other in given:
            length = {first: given[key]} if key in given else {}
            given[key] = {**length, second: given.pop(other)}
    if "then" in given:
        given["then"] = {"briefing": given["then"]}
    return given


def add_alarm(explicit: Path | None, node: str | None, alarm_id: str, definition: Mapping[str, Any]) -> int:
    """Make an alarm at run time, or another one in its place."""
    return _change(explicit, node, "set/alarm/{}", alarm_id, json.dumps(definition, ensure_ascii=False))


def remove_alarm(explicit: Path | None, node: str | None, alarm_id: str) -> int:
    """Remove an alarm that was made at run time."""
    return _change(explicit, node, "set/alarm/{}", alarm_id, "")


def switch_alarm(explicit: Path | None, node: str | None, alarm_id: str, *, enabled: bool) -> int:
    """Switch an alarm or schedule entry on or off."""
    return _change(explicit, node, "set/alarm/{}/enabled", alarm_id, "ON" if enabled else "OFF")


def skip_alarm(explicit: Path | None, node: str | None, alarm_id: str | None, *, skipped: bool) -> int:
    """Leave out the next occurrence, or do not after all; without an id, of the alarm that comes first."""
    if alarm_id is None:
        return _change(explicit, node, "do/skip_next", None, "")
    return _change(explicit, node, "set/alarm/{}/skip", alarm_id, "ON" if skipped else "OFF")


def set_time(explicit: Path | None, node: str | None, alarm_id: str, times: list[str]) -> int:
    """Give an alarm other times of day."""
    return _change(explicit, node, "set/alarm/{}/time", alarm_id, ",".join(times))


def snooze_alarm(explicit: Path | None, node: str | None, first: str | None, length: str | None) -> int:
    """Put off what rings: all of it, or one alarm; for as long as it says itself, or for a length."""
    if first is None or length is None:
        return _change(explicit, node, "do/snooze", None, first or "")
    return _change(explicit, node, "set/alarm/{}/snooze", first, length)


def dismiss_alarm(explicit: Path | None, node: str | None, alarm_id: str | None) -> int:
    """End what rings or is snoozed; with an id also what is about to ring."""
    return _change(explicit, node, "do/dismiss", None, alarm_id or "")


def ring_alarm(explicit: Path | None, node: str | None, alarm_id: str | None) -> int:
    """Ring an alarm now; without an id, the bell."""
    return _change(explicit, node, "do/ring", None, alarm_id or "")


def set_vacation(explicit: Path | None, node: str | None, value: str | None) -> int:
    """Show or set the vacation."""

    def carry_out(connected: Node) -> None:
        state = connected.state() if value is None else connected.ask("set/vacation", value)
        out.print(_vacation(state) or "no vacation")

    return _with_node(explicit, node, carry_out)


def _change(explicit: Path | None, node: str | None, command: str, alarm_id: str | None, value: str) -> int:
    """Ask for a change and print what is now."""
    if alarm_id is not None and not _ID.fullmatch(alarm_id):
        return fail(f"an id of letters, digits, - and _ is expected, got {printable(alarm_id[:70])!r}")

    def carry_out(connected: Node) -> None:
        before: dict[str, Any] = {}
        after = connected.ask(command.format(alarm_id), value, before.update)
        for line in lines_of_change(before, after, alarm_id):
            out.print(line, soft_wrap=True)

    return _with_node(explicit, node, carry_out)


def _with_node(explicit: Path | None, node: str | None, action: Callable[[Node], None]) -> int:
    config, _ = read_config(explicit)
    if node == "all":
        return fail("--node: name one node")
    try:
        with connected_node(config, node, _NAMES) as connected:
            action(connected)
    except NodeError as error:
        return fail(str(error))
    return 0


def lines_of_change(before: Mapping[str, Any], after: Mapping[str, Any], asked: str | None) -> list[str]:
    """What a command changed, a line for each alarm or entry; what was asked for is told in any case.

    Args:
        before: the state before it.
        after: the state after it.
        asked: the id that it was about, or None.
    """
    old, new = _items(before), _items(after)
    rings = {name for state in (before, after) for name in (*state.get("ringing", ()), *state.get("snoozed", {}))}
    lines = []
    for name in dict.fromkeys((*old, *new, *sorted(rings))):
        bell = name not in old and name not in new
        now = f"{name}: {_ring(name, after) or 'no longer ringing'}" if bell else _line(name, new.get(name), after)
        if name == asked or now != _line(name, old.get(name), before):
            lines.append(now)
    return lines or ["nothing changed"]


def _items(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item for kind in _KINDS for name, item in state.get(kind, {}).items()}


def _line(name: str, item: Mapping[str, Any] | None, state: Mapping[str, Any]) -> str:
    ring = _ring(name, state)
    if item is None:
        return f"{name}: {ring or 'removed'}"
    parts = [
        ring,
        "" if item["enabled"] else "off",
        f"next {_when(item['next'])}" if item["next"] else "" if not item["enabled"] else "nothing comes",
        _left_out(item),
    ]
    return f"{name}: {', '.join(part for part in parts if part)}"


def _ring(name: str, state: Mapping[str, Any]) -> str:
    until = state.get("snoozed", {}).get(name)
    if until is not None:
        return f"snoozed until {_when(until)}"
    return "ringing" if name in state.get("ringing", ()) else ""


def _left_out(item: Mapping[str, Any]) -> str:
    left_out = item.get("left_out")
    return f"not {_when(left_out['at'])}: {left_out['reason']}" if left_out else ""


def _vacation(state: Mapping[str, Any]) -> str:
    vacation = state.get("vacation")
    if not vacation:
        return ""
    endless = vacation["until"].startswith("9999")
    return f"vacation from {vacation['from']} " + ("until it is switched off" if endless else f"to {vacation['until']}")


def _print_table(node: str, state: Mapping[str, Any]) -> None:
    alarms = state.get("alarms", {})
    if _vacation(state):
        out.print(_vacation(state))
    if not alarms:
        out.print("There are no alarms.")
        return
    rows = [
        (
            name,
            printable(alarm.get("name", "")),
            "on" if alarm["enabled"] else "off",
            _ring(name, state) or alarm["state"],
            _when(alarm["next"]) if alarm["next"] else "–",
            ", ".join(filter(None, (_left_out(alarm), "made at run time" if alarm.get("made_here") else ""))),
        )
        for name, alarm in alarms.items()
    ]
    if not out.is_terminal:
        for row in rows:
            print("\t".join(row).rstrip())
        return
    shown = table("alarm", "name", "switch", "state", "next", "note", title=f"Alarms of {node} ({state['timezone']})")
    for row in rows:
        shown.add_row(*row, style="dim" if row[4] == "–" else None)
    out.print(shown)


def _when(text: str) -> str:
    moment = datetime.fromisoformat(text)
    return f"{moment:%a %Y-%m-%d %H:%M}" + (f":{moment:%S}" if moment.second else "")
