"""The commands. Each imports what it needs when it runs, so that `asagoe --help` answers at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from daemon.cli.alarm_commands import app as alarm
from daemon.cli.voices_cache import app as voices_cache

app = typer.Typer(
    name="asagoe",
    help="Asagoe 朝声: a home-automation service that speaks Japanese.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

dictionary = typer.Typer(
    help="Your own words and their readings.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(dictionary, name="dictionary")
voices = typer.Typer(name="voices", help="List speakers; fetch, convert and publish voices.", no_args_is_help=True)
voices.registered_commands += voices_cache.registered_commands
app.add_typer(voices)

app.add_typer(alarm)

ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file.", envvar="ASAGOE_CONFIG", show_default=False)
]


FileOption = Annotated[
    Path | None, typer.Option("--file", "-f", help="Dictionary, instead of the configured one.", show_default=False)
]


NodeOption = Annotated[str | None, typer.Option(help="Name of the node; default: this one.", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        from engine import __version__

        typer.echo(f"asagoe {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@app.command()
def run(config: ConfigOption = None) -> None:
    """Run the service."""
    from daemon.cli.run import run_service

    sys.exit(run_service(config))


@app.command()
def say(
    text: Annotated[str, typer.Argument(help="What to say; - reads standard input.")],
    speaker: Annotated[str | None, typer.Option("--speaker", "-s", help="Name of a configured speaker.")] = None,
    style: Annotated[str | None, typer.Option(help="Style of the speaker.")] = None,
    speed: Annotated[float | None, typer.Option(help="1.2 is faster.")] = None,
    pitch: Annotated[float | None, typer.Option(help="In semitones.")] = None,
    intonation: Annotated[float | None, typer.Option(help="Range of the pitch; 1 leaves it, 0 is flat.")] = None,
    volume: Annotated[int | None, typer.Option(min=0, max=100, help="0 to 100.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write a WAV file instead of playing.")] = None,
    config: ConfigOption = None,
) -> None:
    """Say something now, without the service."""
    from daemon.cli.say import say_text

    options = {"style": style, "speed": speed, "pitch": pitch, "intonation": intonation}
    sys.exit(say_text(config, text, speaker, {k: v for k, v in options.items() if v is not None}, volume, out))


@app.command()
def announce(
    text: Annotated[str, typer.Argument(help="What to announce; - reads standard input.")],
    node: Annotated[str | None, typer.Option(help="Name of the node, or `all`; default: this one.")] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", "-s", help="Name of a speaker of the service.")] = None,
    priority: Annotated[str | None, typer.Option(help="low, normal, high or critical.")] = None,
    chime: Annotated[str | None, typer.Option(help="Sound before the speech.")] = None,
    volume: Annotated[int | None, typer.Option(min=0, max=100, help="0 to 100.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it has been said.")] = True,
    config: ConfigOption = None,
) -> None:
    """Let the running service say something, through the broker."""
    from daemon.cli.announce import announce_text

    message = {"speaker": speaker, "priority": priority, "chime": chime, "volume": volume}
    sys.exit(announce_text(config, text, node, {k: v for k, v in message.items() if v is not None}, wait=wait))


@app.command()
def check(config: ConfigOption = None) -> None:
    """Validate the configuration; print speakers, devices and what is due next."""
    from daemon.cli.check import check_configuration

    sys.exit(check_configuration(config))


@app.command()
def doctor(
    play: Annotated[bool, typer.Option("--play", help="Play a quiet tone.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    health: Annotated[
        bool, typer.Option("--health", help="Only ask the running service whether it is well; for a health check.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Examine configuration, sound, voices, broker, clock and machine; say what to do about what is wrong."""
    if health:
        from daemon.cli.health import show_health

        sys.exit(show_health())
    from daemon.cli.doctor import examine_all

    sys.exit(examine_all(config, play=play, as_json=json))


@app.command("next")
def next_(
    count: Annotated[int, typer.Argument(min=1, max=1000, help="How many.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="As JSON, one object a line.")] = False,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="From this date or time on, instead of now.", show_default=False),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Show what the schedule brings next, and what it leaves out and why."""
    from daemon.cli.next import show_next

    sys.exit(show_next(config, count, start, as_json=json))


@app.command()
def devices() -> None:
    """List the sound devices that can play."""
    from daemon.cli.check import show_devices

    sys.exit(show_devices())


@app.command()
def read(
    text: Annotated[str | None, typer.Argument(help="The text; without it, standard input line by line.")] = None,
    kana: Annotated[bool, typer.Option("--kana", help="Only the reading in katakana, a line each.")] = False,
    config: ConfigOption = None,
) -> None:
    """Show how a text is read: tokens, rules, kana, accents, pauses, and what is dropped."""
    from daemon.cli.read import read_text

    sys.exit(read_text(config, text, kana_only=kana))


@app.command()
def briefing(
    name: Annotated[str | None, typer.Argument(help="Name of a briefing; without it, they are listed.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Print what it says (the default).")] = False,
    play: Annotated[bool, typer.Option("--play", help="Say it here and now, without the service.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Each section with source, age, time taken, and why it was left out.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="All of that as JSON.")] = False,
    at: Annotated[
        str | None, typer.Option("--at", help="As if it were told then: 7:30, 2026-12-31 or 2026-12-31T07:30.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Show or play a briefing as it would be now."""
    from daemon.cli.briefing import show_briefing

    del text
    sys.exit(show_briefing(config, name, at, play=play, explain=explain, as_json=json))


@app.command()
def reload(config: ConfigOption = None) -> None:
    """Let the running service read its configuration again."""
    from daemon.cli.run import reload_service

    sys.exit(reload_service(config))


@app.command()
def install(
    user: Annotated[
        bool, typer.Option("--user", help="For the user who calls it, with the sound of a session.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    start: Annotated[bool, typer.Option(help="Start the service, or restart it.")] = True,
) -> None:
    """Install as a service of systemd, or upgrade; configuration and state are kept."""
    from daemon.cli.install import install as do

    sys.exit(do(user=user, dry=dry_run, start=start))


@app.command()
def uninstall(
    user: Annotated[bool, typer.Option("--user", help="The service of the user who calls it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    purge: Annotated[bool, typer.Option("--purge", help="Also configuration, state, voices, secrets, user.")] = False,
) -> None:
    """Remove the service from systemd; what belongs to you is left, and named."""
    from daemon.cli.install import uninstall as do

    sys.exit(do(user=user, dry=dry_run, purge=purge))


@app.command(
    "as-service", context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)
def as_service(context: typer.Context) -> None:
    """Run a command as the installed service would: by its user, over its folders, with its secrets."""
    from daemon.cli.as_service import run_command

    sys.exit(run_command(context.args))


@app.command()
def schema() -> None:
    """Print the JSON schema of the configuration, for editors."""
    from daemon.config.schema import schema_text

    typer.echo(schema_text(), nl=False)


@app.command()
def vacation(
    value: Annotated[
        str | None, typer.Argument(metavar="ON|OFF|FROM..UNTIL", help="Without it, what is set.", show_default=False)
    ] = None,
    node: NodeOption = None,
    config: ConfigOption = None,
) -> None:
    """Show or set the vacation, on which alarms do not ring, of the running service."""
    from daemon.cli.alarm import set_vacation

    sys.exit(set_vacation(config, node, value))


@dictionary.command("add")
def dictionary_add(
    surface: Annotated[str, typer.Argument(help="As it is written; after -- it may begin with a hyphen.")],
    reading: Annotated[str, typer.Argument(help="In kana.")],
    accent: Annotated[
        int | None, typer.Option(min=0, help="Mora on which the pitch falls, from 1; 0: flat.", show_default=False)
    ] = None,
    pos: Annotated[
        str | None,
        typer.Option(
            help="Part of speech: noun, proper noun (the default), verbal noun, surname, given name, organization, "
            "place, suffix.",
            show_default=False,
        ),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(min=0, max=10, help="0 to 10, 5 without it.", show_default=False)
    ] = None,
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Add a word, or change it; other lines and comments stay."""
    from daemon.cli.dictionary import add_word

    facts = {"reading": reading, "accent": accent, "part of speech": pos, "priority": priority}
    sys.exit(add_word(config, file, surface, {key: str(fact) for key, fact in facts.items() if fact is not None}))


@dictionary.command("list")
def dictionary_list(file: FileOption = None, config: ConfigOption = None) -> None:
    """Show the words."""
    from daemon.cli.dictionary import list_words

    sys.exit(list_words(config, file))


@dictionary.command("remove")
def dictionary_remove(
    surface: Annotated[str, typer.Argument(help="As it is written; case and width do not matter.")],
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Remove a word; other lines and comments stay."""
    from daemon.cli.dictionary import remove_word

    sys.exit(remove_word(config, file, surface))


@dictionary.command("test")
def dictionary_test(
    text: Annotated[str, typer.Argument(help="A text that holds the words.")],
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Show how a text is read with the words and without."""
    from daemon.cli.dictionary import compare_readings

    sys.exit(compare_readings(config, file, text))


@voices.command("list")
def list_voices(
    json: Annotated[bool, typer.Option("--json", help="As JSON, one object a line.")] = False,
    config: ConfigOption = None,
) -> None:
    """Load every configured speaker and show what it is: family, styles, sample rate, memory, state."""
    from daemon.cli.voices import list_speakers

    sys.exit(list_speakers(config, as_json=json))


@voices.command()
def convert(
    folder: Annotated[Path, typer.Argument(help="Trained voice: config.json, style_vectors.npy, *.safetensors.")],
    to: Annotated[Path, typer.Option("--to", help="Root of the tree of voices; made if need be.")],
    name: Annotated[str | None, typer.Option(help="Of the voice in the tree; default: the folder's.")] = None,
    bert: Annotated[
        Path | None,
        typer.Option(help="Folder of ku-nlp/deberta-v2-large-japanese-char-wwm; needed once for a tree."),
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Tune it as well, for this machine.")] = False,
) -> None:
    """Convert a trained Style-Bert-VITS2 JP-Extra voice for machines without PyTorch."""
    from daemon.cli.voices import convert_voice

    sys.exit(convert_voice(folder, to, name=name, bert=bert, tune=tune))


@voices.command()
def tune(
    name: Annotated[str, typer.Argument(help="Of a speaker of the configuration, or of a voice at --source.")],
    source: Annotated[str | None, typer.Option(help="Not from the configuration: this source.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=10, max=100, help="Least SNR in dB against float32; 35 without it.", show_default=False),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Go back to float32.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    config: ConfigOption = None,
) -> None:
    """Let a neural voice compute with 8 bits where that is faster on this machine and near enough to float32."""
    from daemon.cli.voices_tune import tune_voice

    sys.exit(tune_voice(config, name, source=source, threshold=threshold, reset=reset, as_json=json))
