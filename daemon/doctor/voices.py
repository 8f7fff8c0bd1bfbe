"""Checks of the configured speakers: are their voices here, whole, and do they speak?"""

from __future__ import annotations

from collections.abc import Iterator

from daemon.compute import CPU, usable_device
from daemon.doctor.findings import Finding, Patient, fail, ok, warn
from daemon.folders import cache_root
from engine import TTS, EngineError
from engine.sources import parse_source
from engine.sources.store import cached, folders, open_tree

_TEST = "診断です。"


def check_voices(patient: Patient) -> Iterator[Finding]:
    """Each speaker of the configuration; nothing is fetched."""
    if patient.config is None:
        return
    config = patient.config
    device, problem = usable_device(config.compute_device)
    if problem is not None:
        yield warn(
            f"voices are computed on the processor: {problem}",
            "mend that and restart the service; asagoe voices download --device cpu fetches what the processor needs",
        )
    elif device != CPU:
        yield ok(f"voices are computed on {device}")
    for name, speaker in config.speakers.items():
        try:
            source = parse_source(speaker.source)
            tree = open_tree(source, cache_root(), mirrors=config.mirrors.get(speaker.source, ()), download=False)
            if tree is None:
                yield _speaks(name, speaker.source)
                continue
            for folder in folders(source, speaker.name or name, device):
                tree.fetch(folder)
        except EngineError as error:
            yield warn(
                f"speaker {name} is not here ({error}); the embedded voice speaks for it",
                "asagoe voices download, or wait: the service fetches it in the background",
            )
        else:
            yield ok(f"speaker {name} is here ({speaker.source})")
    yield from _damage()


def _damage() -> Iterator[Finding]:
    """What the cache holds, by size and time; `asagoe voices verify` reads every byte."""
    entries = list(cached(cache_root()))
    for entry in entries:
        if not entry.found.good:
            faults = "; ".join(str(fault) for fault in entry.found.faults[:2])
            yield fail(f"{entry.source} {entry.prefix} is damaged: {faults}", "asagoe voices verify --repair")
    if entries and all(entry.found.good for entry in entries):
        size = sum(entry.found.manifest.size for entry in entries if entry.found.manifest)
        yield ok(f"the cache holds {len(entries)} folder(s), {size / 1e6:,.0f} MB, all whole")


def _speaks(name: str, source: str) -> Finding:
    try:
        with TTS() as tts:
            audio = tts.load(name, source=source).prepare().speakers[name].generate(_TEST)
    except EngineError as error:
        return fail(f"speaker {name} does not speak: {error}", "install Asagoe anew into its environment")
    return ok(f"speaker {name} speaks ({source}): {audio.duration:.1f} s of sound made")
