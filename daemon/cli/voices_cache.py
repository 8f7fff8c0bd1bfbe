"""``asagoe voices download|update|verify|remove|publish``, and ``cached``: what the cache holds.

The functions print and return an exit code. ``app`` holds the commands; where there is a command group for voices, it
takes them over with ``group.registered_commands += app.registered_commands``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from engine.sources.base import Progress
    from engine.sources.store import CachedFolder

app = typer.Typer(name="voices", help="Voices: fetch, update, check and publish them.", no_args_is_help=True)

_ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file.", envvar="ASAGOE_CONFIG", show_default=False)
]
_Sources = Annotated[list[str] | None, typer.Argument(help="Only these sources, for example hf://me/voices.")]


@app.command()
def download(
    speakers: Annotated[list[str] | None, typer.Argument(help="Only these speakers of the configuration.")] = None,
    source: Annotated[str | None, typer.Option(help="Not from the configuration: this source.")] = None,
    name: Annotated[list[str] | None, typer.Option(help="Names of voices at --source.")] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="That will speak: cpu, cuda or cuda:N; default: that of the configuration.", show_default=False
        ),
    ] = None,
    config: _ConfigOption = None,
) -> None:
    """Fetch what the configured speakers need; afterwards they start without a network."""
    sys.exit(download_voices(config, speakers or [], source, name or [], device))


@app.command()
def cached(sources: _Sources = None) -> None:
    """Show what the cache holds."""
    sys.exit(list_cached(sources or []))


@app.command()
def update(
    sources: _Sources = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Go back to what was before the last update.")] = False,
) -> None:
    """Look for newer revisions of what is in the cache, show what would change, and fetch it."""
    sys.exit(undo_update(sources or []) if undo else update_voices(sources or [], yes=yes, dry_run=dry_run))


@app.command()
def verify(
    sources: _Sources = None,
    repair: Annotated[bool, typer.Option("--repair", help="Fetch again what is damaged.")] = False,
) -> None:
    """Read every byte of the cache and compare it with what was fetched."""
    sys.exit(verify_voices(sources or [], repair=repair))


@app.command()
def remove(
    sources: Annotated[list[str], typer.Argument(help="Sources, for example hf://me/voices.")],
    folder: Annotated[list[str] | None, typer.Option(help="Only these folders of the sources.")] = None,
) -> None:
    """Delete from the cache."""
    sys.exit(remove_voices(sources, folder or []))


@app.command()
def publish(
    folder: Annotated[Path, typer.Argument(help="Folder of a converted voice, or of a tree of voices.")],
    to: Annotated[str, typer.Argument(help="hf://USER/REPOSITORY, s3://BUCKET/PREFIX or a folder.")],
    name: Annotated[str | None, typer.Option(help="Name of the voice; default: that of its folder.")] = None,
) -> None:
    """Upload a voice, or all of a tree."""
    sys.exit(publish_voices(folder, to, name))


def download_voices(
    explicit: Path | None, speakers: Sequence[str], source: str | None, names: Sequence[str], device: str | None
) -> int:
    """Fetch voices; returns the exit code."""
    from daemon.cli.common import fail, out, read_config
    from engine import TTS, EngineError, PrepareError

    if bool(source) != bool(names):
        return fail("--source and --name go together: where from, and which voices")
    try:
        if source:
            tts = TTS(device or "cpu")
            for voice in names:
                tts.load(voice, source=source)
        else:
            config, _ = read_config(explicit)
            unknown = [speaker for speaker in speakers if speaker not in config.own_speakers]
            if unknown:
                return fail(f"there is no speaker {unknown[0]!r}; there are {', '.join(config.own_speakers)}")
            tts = TTS(device or config.compute_device, mirrors=config.mirrors)
            for speaker in speakers or config.own_speakers:
                chosen = config.speakers[speaker]
                tts.load(speaker, source=chosen.source, voice=chosen.name)
        with _bars() as progress:
            tts.pre_download(progress=progress)
    except PrepareError as error:
        for speaker, reason in error.failures.items():
            fail(f"{speaker}: {reason}")
        return 1
    except EngineError as error:
        return fail(str(error))
    out.print("Everything is in the cache.", markup=False)
    return 0


def list_cached(sources: Sequence[str] = ()) -> int:
    """Print what the cache holds; returns the exit code."""
    from rich.table import Table

    from daemon.cli.common import out
    from engine.tts import cache_root

    table = Table("source", "folder", "revision", "size", "fetched", "state", title=f"Cache {cache_root()}")
    for item in _chosen(sources):
        manifest = item.found.manifest
        state = "whole" if item.found.good else f"damaged: {item.found.faults[0]}"
        if manifest is None:
            table.add_row(item.source, item.prefix, "", "", "", state)
            continue
        fetched = datetime.fromtimestamp(manifest.fetched).astimezone()
        revision = manifest.revision[:12]
        table.add_row(item.source, item.prefix, revision, _size(manifest.size), f"{fetched:%Y-%m-%d %H:%M}", state)
    if not table.row_count:
        out.print("The cache holds no voices.", markup=False)
    else:
        out.print(table)
    return 0


def update_voices(sources: Sequence[str], *, yes: bool, dry_run: bool) -> int:
    """Show what is new and fetch it; returns the exit code."""
    from daemon.cli.common import err, fail
    from engine import EngineError

    found, failed = _outdated(sources)
    if dry_run or not found:
        return failed
    if not yes:
        if not sys.stdin.isatty():
            return fail("not asked: standard input is no terminal; say --yes to update")
        if not typer.confirm("Update?"):
            return failed
    with _bars() as progress:
        for item in _chosen(sources, progress):
            if (item.source, item.prefix) in found:
                try:
                    item.tree.update(item.prefix)
                except EngineError as error:
                    failed = fail(str(error))
    err.print(
        "asagoe voices update --undo goes back; a running service takes the new ones at its next start", markup=False
    )
    return failed


def _outdated(sources: Sequence[str]) -> tuple[set[tuple[str, str]], int]:
    """Print what is new; returns source and folder of it, and the exit code so far."""
    from daemon.cli.common import fail, out
    from engine import EngineError

    found: set[tuple[str, str]] = set()
    failed = 0
    for item in _chosen(sources):
        name = f"{item.source} {item.prefix}"
        try:
            changes = item.tree.changes(item.prefix)
        except EngineError as error:
            failed = fail(str(error))
            continue
        if not changes.any:
            out.print(f"{name}: up to date", markup=False)
            continue
        found.add((item.source, item.prefix))
        out.print(f"{name}: {changes.old[:12]} → {changes.new[:12]}, {_size(changes.size)} to fetch", markup=False)
        for word, paths in (("new", changes.added), ("changed", changes.changed), ("gone", changes.removed)):
            for path in paths:
                out.print(f"  {word:8} {path}", markup=False)
    return found, failed


def undo_update(sources: Sequence[str]) -> int:
    """Go back to what was before the last update; returns the exit code."""
    from daemon.cli.common import fail, out
    from engine import EngineError

    failed = count = 0
    for item in _chosen(sources):
        if not item.found.previous:
            continue
        count += 1
        try:
            manifest = item.tree.undo(item.prefix)
        except EngineError as error:
            failed = fail(str(error))
        else:
            out.print(
                f"{item.source} {item.prefix}: back at {manifest.revision[:12] or 'the former content'}", markup=False
            )
    return failed if count else fail("there is no update that could be undone")


def verify_voices(sources: Sequence[str], *, repair: bool) -> int:
    """Read every byte; returns the exit code."""
    from daemon.cli.common import fail, out
    from engine import EngineError

    failed = 0
    with _bars() as progress:
        for item in _chosen(sources, progress):
            found = item.tree.look(item.prefix, thorough=True)
            if found.good:
                out.print(f"{item.source} {item.prefix}: whole", markup=False)
                continue
            for fault in found.faults:
                fail(f"{item.source} {item.prefix}: {fault}")
            if not repair:
                failed = 1
                continue
            try:
                item.tree.repair(item.prefix)
            except EngineError as error:
                failed = fail(str(error))
            else:
                out.print(f"{item.source} {item.prefix}: fetched again", markup=False)
    if failed and not repair:
        fail("asagoe voices verify --repair fetches again what is damaged")
    return failed


def remove_voices(sources: Sequence[str], folders: Sequence[str]) -> int:
    """Delete from the cache; returns the exit code."""
    from daemon.cli.common import fail, out
    from engine import EngineError

    found = [item for item in _chosen(sources) if not folders or item.prefix in folders]
    if not found:
        return fail(f"the cache holds nothing of {', '.join([*sources, *folders])}; see asagoe voices cached")
    try:
        for item in found:
            out.print(f"{item.source} {item.prefix}: {_size(item.tree.remove(item.prefix))} freed", markup=False)
    except EngineError as error:
        return fail(str(error))
    return 0


def publish_voices(folder: Path, to: str, name: str | None) -> int:
    """Upload a voice or a tree; returns the exit code."""
    from daemon.cli.common import fail, out
    from engine import EngineError
    from engine.sources.store import publish as upload

    parts = _parts_of(folder, name)
    if not parts:
        return fail(f"{folder} is no voice (config.json and a model) and no tree of voices (bert, onnx, pytorch)")
    try:
        with _bars() as progress:
            for prefix, part in parts:
                revision = upload(part, to, prefix, progress=progress)
                out.print(f"{to} {prefix}: published{f' as {revision[:12]}' if revision else ''}", markup=False)
    except EngineError as error:
        return fail(str(error))
    return 0


def _parts_of(folder: Path, name: str | None) -> list[tuple[str, Path]]:
    """The folders to publish, with their prefixes."""
    if (folder / "config.json").is_file():
        kind = "onnx" if any(folder.glob("*.onnx")) else "pytorch"
        return [(f"{kind}/speakers/{name or folder.resolve().name}", folder)]
    fixed = ("bert/tokenizer", "onnx/bert/q8", "pytorch/bert/fp32")
    parts = [(prefix, folder / prefix) for prefix in fixed if (folder / prefix).is_dir()]
    for kind in ("onnx", "pytorch"):
        voices = sorted((folder / kind / "speakers").glob("*"))
        parts += [
            (f"{kind}/speakers/{path.name}", path) for path in voices if path.is_dir() and name in {None, path.name}
        ]
    return parts


def _chosen(sources: Sequence[str], progress: Progress | None = None) -> Iterator[CachedFolder]:
    from engine.sources.base import nothing
    from engine.sources.store import cached as held
    from engine.tts import cache_root

    for item in held(cache_root(), progress=progress or nothing):
        if not sources or item.source in sources:
            yield item


@contextmanager
def _bars() -> Iterator[Progress]:
    """A bar for each folder; nothing where nobody looks."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from daemon.cli.common import err
    from engine.sources.base import Step

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, disable=not err.is_terminal) as bars:
        tasks: dict[tuple[str, str], int] = {}

        def progress(step: Step) -> None:
            key = (step.source, step.prefix)
            if key not in tasks:
                tasks[key] = bars.add_task(step.prefix, total=None)
            text = f"{step.prefix} ({step.waiting[:60]})" if step.waiting else step.prefix
            if step.total:
                bars.update(tasks[key], description=text, completed=step.done, total=step.total)  # type: ignore[arg-type]
            else:
                bars.update(tasks[key], description=text)  # type: ignore[arg-type]

        yield progress


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
