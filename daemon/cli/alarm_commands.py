"""The commands of ``asagoe alarm``. Each imports what it needs when it runs, as those of the other commands do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="alarm", help="Alarms of the running service: list, make, change and answer them.", no_args_is_help=True
)

_ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file.", envvar="ASAGOE_CONFIG", show_default=False)
]
_NodeOption = Annotated[str | None, typer.Option(help="Name of the node; default: this one.", show_default=False)]
_Alarm = Annotated[str, typer.Argument(metavar="ID", help="Of the alarm.", show_default=False)]


@app.command("list")
def alarm_list(
    json: Annotated[bool, typer.Option("--json", help="As JSON, one object a line.")] = False,
    node: _NodeOption = None,
    config: _ConfigOption = None,
) -> None:
    """Show the alarms: state, when each rings next, and why not before."""
    from daemon.cli.alarm import list_alarms

    sys.exit(list_alarms(config, node, as_json=json))


@app.command("add")
def alarm_add(
    alarm_id: _Alarm,
    at: Annotated[
        list[str] | None,
        typer.Option(help="Time of day (6:30, sunrise-10m), several times; or a moment: 2026-12-01T06:30."),
    ] = None,
    in_: Annotated[str | None, typer.Option("--in", help="From now on, such as 20m: it rings once.")] = None,
    days: Annotated[
        list[str] | None, typer.Option(help="Days: mon-fri, workdays, 平日, 2nd sat; several times.")
    ] = None,
    cron: Annotated[str | None, typer.Option(help="Instead of --at: five fields as in crontab(5).")] = None,
    every: Annotated[str | None, typer.Option(help="Such as 2 weeks, counted from --from.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="The first date.")] = None,
    until: Annotated[str | None, typer.Option(help="The last date.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Forget it after it rang.")] = False,
    text: Annotated[str | None, typer.Option(help="What is said; default: the time.")] = None,
    name: Annotated[str | None, typer.Option(help="For people.")] = None,
    sound: Annotated[str | None, typer.Option(help="Chime before the speech; none leaves it out.")] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", "-s", help="Name of a speaker of the service.")] = None,
    style: Annotated[str | None, typer.Option(help="Style of the speaker.")] = None,
    speed: Annotated[float | None, typer.Option(help="1.2 is faster.")] = None,
    pitch: Annotated[float | None, typer.Option(help="In semitones.")] = None,
    intonation: Annotated[float | None, typer.Option(help="Range of the pitch; 1 leaves it.")] = None,
    volume: Annotated[int | None, typer.Option(min=1, max=100, help="Its own, 1 to 100.")] = None,
    fade_in: Annotated[str | None, typer.Option(help="How long the volume rises, such as 30s.")] = None,
    fade_from: Annotated[int | None, typer.Option(min=0, max=100, help="Volume from which it rises.")] = None,
    repeat_every: Annotated[str | None, typer.Option(help="Pause before it rings again.")] = None,
    max_ring: Annotated[str | None, typer.Option(help="After so long without an answer it gives up.")] = None,
    snooze: Annotated[str | None, typer.Option(help="For how long it is put off.")] = None,
    snooze_count: Annotated[int | None, typer.Option(min=0, help="How often at most; 0: never.")] = None,
    pre_alarm: Annotated[list[str] | None, typer.Option(help="An event so long before it; several times.")] = None,
    grace: Annotated[str | None, typer.Option(help="How late it still rings.")] = None,
    ignore_vacation: Annotated[bool, typer.Option("--ignore-vacation", help="Ring on vacation too.")] = False,
    say_missed: Annotated[bool, typer.Option("--say-missed", help="Say aloud that it was missed.")] = False,
    then: Annotated[str | None, typer.Option(metavar="BRIEFING", help="Follows when it was dismissed.")] = None,
    node: _NodeOption = None,
    config: _ConfigOption = None,
) -> None:
    """Make an alarm, or another one in its place; it survives a restart."""
    from daemon.cli.alarm import add_alarm, definition_of
    from daemon.cli.common import fail

    if fade_from is not None and fade_in is None:
        sys.exit(fail("--fade-from needs --fade-in, how long the volume rises"))

    keys = {
        "at": at,
        "in": in_,
        "days": days,
        "cron": cron,
        "every": every,
        "from": from_,
        "until": until,
        "text": text,
        "name": name,
        "sound": sound,
        "speaker": speaker,
        "style": style,
        "speed": speed,
        "pitch": pitch,
        "intonation": intonation,
        "volume": volume,
        "repeat_every": repeat_every,
        "max_ring": max_ring,
        "pre_alarm": pre_alarm,
        "grace": grace,
        "fade_in": fade_in,
        "fade_from": fade_from,
        "snooze": snooze,
        "snooze_count": snooze_count,
        "then": then,
        "once": once or None,
        "ignore_vacation": ignore_vacation or None,
        "say_missed": say_missed or None,
    }
    sys.exit(add_alarm(config, node, alarm_id, definition_of(keys)))


@app.command("remove")
def alarm_remove(alarm_id: _Alarm, node: _NodeOption = None, config: _ConfigOption = None) -> None:
    """Remove an alarm that was made at run time."""
    from daemon.cli.alarm import remove_alarm

    sys.exit(remove_alarm(config, node, alarm_id))


@app.command("on")
def alarm_on(alarm_id: _Alarm, node: _NodeOption = None, config: _ConfigOption = None) -> None:
    """Switch an alarm on."""
    from daemon.cli.alarm import switch_alarm

    sys.exit(switch_alarm(config, node, alarm_id, enabled=True))


@app.command("off")
def alarm_off(alarm_id: _Alarm, node: _NodeOption = None, config: _ConfigOption = None) -> None:
    """Switch an alarm off."""
    from daemon.cli.alarm import switch_alarm

    sys.exit(switch_alarm(config, node, alarm_id, enabled=False))


@app.command("skip")
def alarm_skip(
    alarm_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="Default: the alarm that comes first.", show_default=False)
    ] = None,
    node: _NodeOption = None,
    config: _ConfigOption = None,
) -> None:
    """Leave out an alarm's next occurrence."""
    from daemon.cli.alarm import skip_alarm

    sys.exit(skip_alarm(config, node, alarm_id, skipped=True))


@app.command("unskip")
def alarm_unskip(alarm_id: _Alarm, node: _NodeOption = None, config: _ConfigOption = None) -> None:
    """Leave out nothing after all."""
    from daemon.cli.alarm import skip_alarm

    sys.exit(skip_alarm(config, node, alarm_id, skipped=False))


@app.command("time")
def alarm_time(
    alarm_id: _Alarm,
    times: Annotated[list[str], typer.Argument(metavar="TIME…", help="Such as 06:30; its own give them back.")],
    node: _NodeOption = None,
    config: _ConfigOption = None,
) -> None:
    """Give an alarm another time of day, or several."""
    from daemon.cli.alarm import set_time

    sys.exit(set_time(config, node, alarm_id, times))


@app.command("snooze")
def alarm_snooze(
    first: Annotated[
        str | None, typer.Argument(metavar="ID", help="Default: whatever rings.", show_default=False)
    ] = None,
    length: Annotated[
        str | None,
        typer.Argument(metavar="LENGTH", help="Such as 5m; also alone. Default: its own.", show_default=False),
    ] = None,
    node: _NodeOption = None,
    config: _ConfigOption = None,
) -> None:
    """Put off what rings."""
    from daemon.cli.alarm import snooze_alarm

    sys.exit(snooze_alarm(config, node, first, length))


@app.command("dismiss")
def alarm_dismiss(
    alarm_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="Also one that is due within 3 hours. Default: whatever rings.", show_default=False
        ),
    ] = None,
    node: _NodeOption = None,
    config: _ConfigOption = None,
) -> None:
    """End what rings or is snoozed."""
    from daemon.cli.alarm import dismiss_alarm

    sys.exit(dismiss_alarm(config, node, alarm_id))


@app.command("ring")
def alarm_ring(
    alarm_id: Annotated[str | None, typer.Argument(metavar="ID", help="Default: the bell.", show_default=False)] = None,
    node: _NodeOption = None,
    config: _ConfigOption = None,
) -> None:
    """Ring an alarm now, until somebody answers it."""
    from daemon.cli.alarm import ring_alarm

    sys.exit(ring_alarm(config, node, alarm_id))
