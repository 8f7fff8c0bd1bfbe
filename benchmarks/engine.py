"""Speech of a neural voice on the processor: Asagoe beside hayakoe, in turns, each run in a process of its own.

    script/bench engine [FOLDER] [--rounds 5]

FOLDER (default: ``asagoe-benchmark`` in the temporary folder) gets a random voice and BERT of full size
(``benchmarks/random_voice.py``: nobody's voice), and what ``asagoe voices convert`` makes of them, the tree that both
engines load; 1.5 GB in all, kept for the next time. ``--root`` and ``--voice`` name another tree in its stead.
hayakoe 1.3.1 lives in an environment of its own, made by the script; ``--hayakoe`` names its interpreter, and without
one Asagoe is measured alone. ``--tuned`` adds a column for the voice as ``asagoe voices tune`` leaves it, with a cache
of its own; the first time it is tuned, which takes minutes.

In each round each engine starts once. Import and loading are measured, resident memory (RSS), then a short and a long
text three times each, of which the best counts, and the time until the first chunk of the long one when it is
streamed, the better of two. The table has the medians over the rounds, and the least and the most of them. Only the
columns of one table are comparable: a busy machine slows both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TEXTS = {
    "20 characters": "今日は天気がとても良いので散歩に行こう。",
    "98 characters": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で"
    "ニャーニャー泣いていた事だけは記憶している。吾輩はここで始めて人間というものを見た。しかもあとで聞く。",
}
REPEATS = 3
VOICE = "random"
HERE = Path(__file__).resolve().parents[1]


# In the child processes: one engine each, with nothing but it and the standard library.


def memory(field: str) -> float:
    """A field of /proc/self/status in MB: VmRSS now, VmHWM at most so far, RssAnon without mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def measure_asagoe(root: str, voice: str, cache: str) -> dict[str, float]:
    start = time.perf_counter()
    from engine import TTS

    imported = time.perf_counter()
    tts = TTS(cache_dir=cache).load(voice, source=root).prepare()
    loaded = time.perf_counter()
    speaker = tts.speakers[voice]
    return measured(start, imported, loaded, speaker.stream, lambda text: speaker.generate(text).duration)


def measure_hayakoe(root: str, voice: str, _cache: str) -> dict[str, float]:
    start = time.perf_counter()
    from hayakoe import TTS

    imported = time.perf_counter()
    tts = TTS(bert_source=f"file://{root}").load(voice, source=f"file://{root}").prepare()
    loaded = time.perf_counter()
    speaker = tts.speakers[voice]

    def speak(text: str) -> float:
        audio = speaker.generate(text)
        return len(audio.data) / audio.sr

    return measured(start, imported, loaded, speaker.stream, speak)


def measured(
    start: float,
    imported: float,
    loaded: float,
    stream: Callable[[str], Iterator[Any]],
    speak: Callable[[str], float],
) -> dict[str, float]:
    """Seconds and MB by the names of the table's rows; ``speak`` returns the seconds of audio that it made."""
    figures = {"import, s": imported - start, "load, s": loaded - imported, "RSS loaded, MB": memory("VmRSS")}
    for name, text in TEXTS.items():
        times, factors, processor = [], [], []
        for _ in range(REPEATS):
            begun, begun_processor = time.perf_counter(), time.process_time()
            seconds = speak(text)
            times.append(time.perf_counter() - begun)
            processor.append(time.process_time() - begun_processor)
            factors.append(times[-1] / seconds)
        figures |= {
            f"{name}: first time, s": times[0],
            f"{name}, s": min(times),
            f"{name}: processor, s": min(processor),
            f"{name}: time / audio": min(factors),
        }
    figures["first audio of 98 characters, s"] = min(first_chunk(stream, TEXTS["98 characters"]) for _ in range(2))
    return figures | {
        "RSS after, MB": memory("VmRSS"),
        "of it not in files, MB": memory("RssAnon"),
        "RSS at most, MB": memory("VmHWM"),
    }


def first_chunk(stream: Callable[[str], Iterator[Any]], text: str) -> float:
    begun = time.perf_counter()
    chunks = stream(text)
    next(chunks)
    taken = time.perf_counter() - begun
    chunks.close()  # type: ignore[attr-defined]
    return taken


ENGINES = {"asagoe": measure_asagoe, "tuned": measure_asagoe, "hayakoe": measure_hayakoe}
RATIOS = (("tuned", "asagoe"), ("hayakoe", "asagoe"), ("tuned", "hayakoe"))


# In the parent.


def run(engine: str, interpreter: str, arguments: list[str]) -> dict[str, float]:
    """Start an engine once."""
    command = [interpreter, __file__, *arguments, "--child", engine]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    if done.returncode:
        sys.exit(f"{engine} failed:\n{done.stderr[-3000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def prepared_tree(folder: Path) -> Path:
    """The published tree of the random voice; made where it is not there yet."""
    tree = folder / "published"
    if not (tree / "bert" / "tokenizer").is_dir():
        trained = folder / "trained"
        convert = ["voices", "convert", str(trained / "voice"), "--bert", str(trained / "bert")]
        for command in (
            ["benchmarks.random_voice", str(trained)],
            ["daemon", *convert, "--to", str(tree), "--name", VOICE],
        ):
            subprocess.run([sys.executable, "-m", *command], check=True, cwd=HERE)
    return tree


def tuned_cache(folder: Path, root: Path, voice: str) -> Path:
    """A cache in which the voice is tuned for this machine; says what was found."""
    from engine.sources import parse_source
    from engine.sources.store import open_tree
    from engine.voices.style_bert_vits2.tuning.tune import found, tune

    cache = folder / "cache-tuned"
    tree = open_tree(parse_source(str(root)), cache)
    if tree is None:
        sys.exit(f"{root} is no tree of voices")
    report = found(voice, tree, cache) or tune(
        voice, tree, cache, progress=lambda what, share: print(f"tuning: {share:4.0%} {what}", file=sys.stderr)
    )
    choice = report.choice
    print(
        f"tuned: {report.precision}; SNR {choice.snr:.1f} dB, log-mel {choice.log_mel:.2f} dB, "
        f"{choice.speed:.2f} times as fast by itself"
    )
    return cache


def report(rounds: dict[str, list[dict[str, float]]], count: int) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    ratios = [pair for pair in RATIOS if set(pair) <= set(rounds)]
    table = Table("", title=f"{describe_machine()}; median of {count} (least – most)", title_justify="left")
    for engine in rounds:
        table.add_column(engine, justify="right")
    for one, other in ratios:
        table.add_column(f"{one} / {other}", justify="right")
    for row in rounds["asagoe"][0]:
        cells, medians = [], {}
        for engine, runs in rounds.items():
            values = [figures[row] for figures in runs]
            medians[engine] = statistics.median(values)
            spread = f"({shown(min(values))} – {shown(max(values))})"
            cells.append(f"{shown(medians[engine])} {spread}")
        table.add_row(row, *cells, *(f"{medians[one] / medians[other]:.2f}" for one, other in ratios))
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def shown(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def describe_machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(names) or '?'} cores, Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(tempfile.gettempdir()) / "asagoe-benchmark"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="where the random voice is kept")
    parser.add_argument("--root", type=Path, help="a tree of voices instead of the random one")
    parser.add_argument("--voice", default=VOICE, help="name of the voice in the tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hayakoe", help="interpreter of an environment with hayakoe")
    parser.add_argument("--tuned", action="store_true", help="measure the tuned voice as well")
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.path.insert(0, str(HERE))
        print(json.dumps(ENGINES[options.child](str(options.root), options.voice, str(options.cache))))
        return
    folder = options.folder.resolve()
    root = options.root.resolve() if options.root else prepared_tree(folder)
    interpreters = {"asagoe": sys.executable}
    caches = dict.fromkeys(ENGINES, folder / "cache")
    if options.tuned:
        interpreters["tuned"] = sys.executable
        caches["tuned"] = tuned_cache(folder, root, options.voice)
    if options.hayakoe:
        interpreters["hayakoe"] = options.hayakoe
    arguments = {
        engine: ["--root", str(root), "--voice", options.voice, "--cache", str(cache)]
        for engine, cache in caches.items()
    }
    others = os.getloadavg()[0]
    for engine, interpreter in interpreters.items():  # files come into the page cache, graphs are prepared
        print(
            f"{engine}'s first start: load {run(engine, interpreter, arguments[engine])['load, s']:.1f} s",
            file=sys.stderr,
        )
    rounds: dict[str, list[dict[str, float]]] = {engine: [] for engine in interpreters}
    for number in range(options.rounds):
        for engine, interpreter in interpreters.items():
            rounds[engine].append(run(engine, interpreter, arguments[engine]))
            print(f"round {number + 1} of {options.rounds}: {engine} done", file=sys.stderr)
    report(rounds, options.rounds)
    print(f"load average before: {others:.1f}")


if __name__ == "__main__":
    main()
