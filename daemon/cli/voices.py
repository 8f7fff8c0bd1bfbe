"""``asagoe voices``: what the configured speakers are, and how a trained voice becomes one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from daemon.cli.common import device_for, err, fail, out, read_config
from daemon.cli.voices_tune import precision_of, tune_voice
from daemon.config import Config
from engine import TTS, EngineError, PrepareError, Speaker

READY, UNAVAILABLE = "ready", "unavailable"

_Step = Callable[[str], None]
"""Told what is done next."""


@dataclass(frozen=True, slots=True)
class SpeakerFacts:
    """A configured speaker as it is on this machine; what only a loaded one can tell is None where it is not ready.

    Attributes:
        speaker: its name.
        source: of its voice.
        voice: name of the voice at the source, where the configuration gives one.
        default: whether announcements that name no speaker are said by it.
        state: ``ready`` or ``unavailable``.
        reason: why it is unavailable.
        family: of its voice.
        styles: the neutral one first.
        sample_rate: in Hz.
        memory: bytes of its weights, without what it shares with others.
        precision: what a neural voice computes with on this machine; see ``asagoe voices tune``.
        options: names of the options that it honours.
    """

    speaker: str
    source: str
    voice: str | None
    default: bool
    state: str = UNAVAILABLE
    reason: str | None = None
    family: str | None = None
    styles: tuple[str, ...] = ()
    sample_rate: int | None = None
    memory: int | None = None
    precision: str | None = None
    options: tuple[str, ...] = ()


def list_speakers(explicit: Path | None, *, as_json: bool) -> int:
    """Load all configured speakers and print what they are; returns the exit code: 1 if one is not available."""
    config, _ = read_config(explicit)
    with TTS(device_for(config)) as tts, _steps() as step:
        speakers = list(_facts(tts, config, step))
    if as_json:
        for facts in speakers:
            print(json.dumps(asdict(facts), ensure_ascii=False))
    else:
        _print_speakers(speakers)
    return int(any(facts.state != READY for facts in speakers))


def convert_voice(folder: Path, to: Path, *, name: str | None, bert: Path | None, tune: bool = False) -> int:
    """Convert a trained voice, print how near it is to the original, and tune it if wanted; returns the exit code."""
    from engine.voices.style_bert_vits2.conversion.convert import BERT, convert

    try:
        with _steps() as step:
            report = convert(folder, to.expanduser().absolute(), bert=bert, name=name, on_step=step)
    except EngineError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{error.filename or to} cannot be written: {error.strerror or error}")
    out.print(
        f"{report.root}: voice {report.speaker}, in {report.seconds:.0f} s", style="green", markup=False, soft_wrap=True
    )
    out.print(str(report.voice), markup=False, soft_wrap=True)
    if report.bert is not None:
        out.print(str(report.bert), markup=False, soft_wrap=True)
    table = Table("file", "MB", title="Written", title_justify="left")
    table.columns[1].justify = "right"
    for path, size in report.files:
        table.add_row(path, f"{size / 1e6:.1f}" if size >= 50_000 else "<0.1")
    out.print(table)
    if not (report.root / BERT).is_dir():
        out.print(
            "This tree has no BERT yet, without which no voice of it speaks: convert once more with --bert FOLDER.",
            style="yellow",
            markup=False,
        )
    key = report.speaker if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", report.speaker) else "f1"
    entry = json.dumps({"source": report.root.as_uri(), "name": report.speaker}, ensure_ascii=False)
    out.print(f"In the configuration:\n\nspeakers:\n  {key}: {entry}", markup=False, soft_wrap=True)
    if not tune:
        return 0
    return tune_voice(None, report.speaker, source=str(report.root), threshold=None, reset=False, as_json=False)


def _facts(tts: TTS, config: Config, step: _Step) -> Iterator[SpeakerFacts]:
    """What each speaker is; all stay loaded until the last one is, since voices of a source share a part."""
    for name, configured in config.own_speakers.items():
        step(f"loading {name}")
        facts = SpeakerFacts(name, configured.source, configured.name, name == config.speaker_name)
        try:
            tts.load(name, source=configured.source, voice=configured.name, **configured.defaults()).prepare(
                download=False
            )
        except PrepareError as error:
            tts.unload(name)  # it would be tried again with the next one
            yield replace(facts, reason=str(error.failures[name]))
        else:
            precision = precision_of(configured.source, configured.name or name)
            yield replace(_loaded(facts, tts.speakers[name]), precision=precision)


def _loaded(facts: SpeakerFacts, speaker: Speaker) -> SpeakerFacts:
    return replace(
        facts,
        state=READY,
        family=speaker.family,
        styles=speaker.styles,
        sample_rate=speaker.sample_rate,
        memory=speaker.memory,
        options=tuple(sorted(speaker.options)),
    )


def _print_speakers(speakers: list[SpeakerFacts]) -> None:
    table = Table("speaker", "family", "styles", "rate", "memory", "precision", "state")
    for facts in speakers:
        table.add_row(
            facts.speaker + (" (default)" if facts.default else ""),
            facts.family or "",
            ", ".join(facts.styles),
            f"{facts.sample_rate} Hz" if facts.sample_rate else "",
            "" if facts.memory is None else f"{facts.memory / 1e6:.1f} MB",
            facts.precision or "",
            Text(facts.state, style="green" if facts.state == READY else "red"),
        )
    out.print(table)
    for facts in speakers:
        if facts.reason is not None:
            out.print(f"{facts.speaker}: {facts.reason}", style="red", markup=False, soft_wrap=True)
    if any(facts.family == "style_bert_vits2" for facts in speakers):
        out.print("Memory is that of a voice's own files; the BERT that voices of a source share comes to it.")


@contextmanager
def _steps() -> Iterator[_Step]:
    """Show what is being done, and for how long, on standard error; each step ends when the next one begins."""
    columns = (SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:

        def step(description: str) -> None:
            for task in progress.task_ids:
                progress.update(task, total=1, completed=1)
            progress.add_task(escape(description), total=None)

        yield step
