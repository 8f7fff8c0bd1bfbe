"""``asagoe voices tune``: let a neural voice compute with 8 bits where that pays on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from daemon.cli.common import err, fail, out, read_config, table

if TYPE_CHECKING:
    from engine.sources import Source
    from engine.voices.style_bert_vits2.tuning.report import Tuning
    from engine.voices.style_bert_vits2.tuning.search import Progress as Told

_NEURAL = "style_bert_vits2"


def tune_voice(
    explicit: Path | None, name: str, *, source: str | None, threshold: float | None, reset: bool, as_json: bool
) -> int:
    """Tune a voice and print what was found, or go back; returns the exit code.

    Args:
        explicit: the configuration file.
        name: of a speaker of the configuration, or, with ``source``, of a voice of that.
        source: instead of the configuration.
        threshold: least SNR in dB against float32; None for the engine's own.
        reset: go back to float32.
        as_json: print the report itself.
    """
    from engine import EngineError
    from engine.tts import cache_root
    from engine.voices.style_bert_vits2.tuning import tune as tuning

    try:
        model, tree = _voice(explicit, name, source)
        if reset:
            was = tuning.reset(model, tree, cache_root())
            out.print(f"{name}: {'float32 from the next start on' if was else 'it was not tuned'}", markup=False)
            return 0
        with _bar() as told:
            limit = tuning.THRESHOLD if threshold is None else threshold
            found = tuning.tune(model, tree, cache_root(), threshold=limit, progress=told)
    except EngineError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{error.filename or cache_root()} cannot be written: {error.strerror or error}")
    if as_json:
        print(found.to_json())
    else:
        _print(name, found)
    return 0


def precision_of(source: str, voice: str) -> str | None:
    """What a voice that can be loaded computes with, in a few words; None for a voice that is not neural.

    Raises:
        EngineError: the voice is not there.
    """
    from engine.sources import parse_source
    from engine.sources.store import open_tree
    from engine.tts import cache_root

    parsed = parse_source(source)
    tree = open_tree(parsed, cache_root(), download=False) if parsed.family == _NEURAL else None
    if tree is None:
        return None
    from engine.voices.style_bert_vits2.tuning.report import FLOAT32
    from engine.voices.style_bert_vits2.tuning.tune import found

    tuning = found(voice, tree, cache_root())
    return FLOAT32 if tuning is None else tuning.summary


def _voice(explicit: Path | None, name: str, source: str | None) -> tuple[str, Source]:
    """Name and tree of the voice.

    Raises:
        VoiceNotAvailableError: there is none that can be tuned.
    """
    from engine import VoiceNotAvailableError
    from engine.sources import parse_source
    from engine.sources.store import open_tree
    from engine.tts import cache_root

    model = name
    mirrors: tuple[str, ...] = ()
    if source is None:
        config, _ = read_config(explicit)
        if name not in config.speakers:
            message = f"there is no speaker {name!r}; there are {', '.join(config.speakers)}"
            raise VoiceNotAvailableError(message)
        speaker = config.speakers[name]
        source, model = speaker.source, speaker.name or name
        mirrors = tuple(config.mirrors.get(source, ()))
    parsed = parse_source(source)
    tree = open_tree(parsed, cache_root(), mirrors=mirrors) if parsed.family == _NEURAL else None
    if tree is None:
        message = f"{name} is a voice of {parsed.family}, which has nothing to tune; only neural voices have"
        raise VoiceNotAvailableError(message)
    return model, tree


def _print(name: str, tuning: Tuning) -> None:
    """The candidates and the choice."""
    found = table("variant", "layer groups", "SNR", "log-mel", "speed", "")
    for column in found.columns[1:5]:
        column.justify = "right"
    for item in tuning.candidates:
        exact = not item.groups
        found.add_row(
            item.name,
            f"{len(item.groups)} of {len(tuning.groups)}",
            "exact" if exact else f"{item.snr:.1f} dB",
            "" if exact else f"{item.log_mel:.2f} dB",
            f"{item.speed:.2f}",
            "chosen" if item.groups == tuning.chosen else "",
        )
    out.print(found)
    out.print(
        "SNR: sound to error against float32, of the worst sentence (higher is nearer). Log-mel: difference of the "
        "spectra. Speed: how many times as fast as float32.",
        soft_wrap=True,
    )
    peak = f"{tuning.seconds:.0f} s, {tuning.peak_memory / 1e6:.0f} MB of memory at most"
    if tuning.chosen:
        text = f"{name}: {tuning.precision}; {tuning.choice.speed:.2f} times as fast at {tuning.choice.snr:.1f} dB"
    else:
        text = f"{name}: float32 stays; nothing that reaches {tuning.threshold:g} dB is faster here"
    out.print(f"{text} ({peak}).", style="green", soft_wrap=True)
    out.print("A running service takes it at its next start; asagoe voices tune --reset goes back.", soft_wrap=True)


@contextmanager
def _bar() -> Iterator[Told]:
    """What is being done, how much of all is done and how long it has taken, on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        task = bars.add_task("tuning", total=1.0)

        def told(what: str, share: float) -> None:
            bars.update(task, description=what, completed=share)

        yield told
