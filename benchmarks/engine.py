"""Speech of a neural voice on the processor: Asagoe beside hayakoe, in turns, each run in a process of its own.

    script/bench engine [FOLDER] [--rounds 5]

FOLDER (default: ``asagoe-benchmark`` in the temporary folder) gets a random voice and BERT of full size
(``benchmarks/random_voice.py``: nobody's voice), and what ``asagoe voices convert`` makes of them, the tree that both
engines load; 1.5 GB in all, kept for the next time. ``--root`` and ``--voice`` name another tree in its stead.
hayakoe 1.3.1 lives in an environment of its own, made by the script; ``--hayakoe`` names its interpreter, and without
one Asagoe is measured alone. ``--tuned`` adds a column for the voice as ``asagoe voices tune`` leaves it, with a cache
of its own; the first time it is tuned, which takes minutes.

In each round each engine starts once, in an order that alternates. What is measured, in this order: the time from the
start of the process to the first chunk of a sentence of 20 characters; resident memory (RSS) when loaded, and after
that sentence; a short and a long text three times each, of which the best counts; the time until the first chunk of the
long one when it is streamed, the better of two; memory after a text of 500 characters; three further speakers, each
with its first word, with their memory and the threads of the process.

The table has the medians over the rounds with the least and the most, and the same of the ratios of each round. Only
the columns of one table are comparable: a busy machine slows both. The last rows say what the processor gives: the
decoder takes 56 GFLOP for a second of audio, and the matrix product of the machine how much it could do.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
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
LONG = (TEXTS["98 characters"] * 6)[:500]
REPEATS = 3
FURTHER = 3
VOICE = "random"
DECODER_GFLOP = 56.0
"""Floating-point operations of the decoder for a second of audio at 44.1 kHz, in 10⁹ (two for a multiply and add)."""
HERE = Path(__file__).resolve().parents[1]


# In the child processes: one engine each, with nothing but it and the standard library.


def memory(field: str) -> float:
    """A field of /proc/self/status in MB: VmRSS now, VmHWM at most so far, RssAnon without mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def measure_asagoe(root: str, voice: str, cache: str, started: float) -> dict[str, float]:
    start = time.perf_counter()
    from engine import TTS

    imported = time.perf_counter()
    tts = TTS(cache_dir=cache).load(voice, source=root).prepare()
    loaded = time.perf_counter()
    speaker = tts.speakers[voice]
    decoder = watched_decoder()

    def further(name: str) -> None:
        tts.load(name, source=root, voice=voice).prepare().speakers[name].generate("はい。")

    figures = measured(
        started,
        {"import, s": imported - start, "load, s": loaded - imported},
        speaker.stream,
        lambda text: speaker.generate(text).duration,
        further,
    )
    decoder.clear()
    seconds = speaker.generate(TEXTS["98 characters"]).duration
    speed = DECODER_GFLOP * seconds / sum(decoder)
    possible = matrix_product()
    return figures | {
        "decoder, s per s of audio": sum(decoder) / seconds,
        "decoder, GFLOP/s": speed,
        "matrix product, GFLOP/s": possible,
        "decoder / matrix product": speed / possible,
    }


def watched_decoder() -> list[float]:
    """The seconds of every run of a decoder from now on."""
    from engine.voices.style_bert_vits2.runtime.session import Graph

    taken: list[float] = []
    run_of = Graph.run

    def run(self: Any, values: Any) -> Any:
        begun = time.perf_counter()
        result = run_of(self, values)
        if "decoder" in self.path.name:
            taken.append(time.perf_counter() - begun)
        return result

    Graph.run = run  # type: ignore[method-assign]
    return taken


def matrix_product(size: int = 1024) -> float:
    """GFLOP/s of the best of several products of float32 matrices, with all cores (numpy's BLAS)."""
    import numpy as np

    a, b = (np.random.default_rng(n).standard_normal((size, size), np.float32) for n in (1, 2))
    best = float("inf")
    for _ in range(20):
        begun = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - begun)
    return 2 * size**3 / best / 1e9


def measure_hayakoe(root: str, voice: str, _cache: str, started: float) -> dict[str, float]:
    start = time.perf_counter()
    from hayakoe import TTS

    imported = time.perf_counter()
    tts = TTS(bert_source=f"file://{root}").load(voice, source=f"file://{root}").prepare()
    loaded = time.perf_counter()
    speaker = tts.speakers[voice]

    def speak(text: str) -> float:
        audio = speaker.generate(text)
        return len(audio.data) / audio.sr

    copies = tempfile.mkdtemp()  # it has no other name for a voice than that of its folder

    def further(name: str) -> None:
        folder = Path(copies, "onnx", "speakers")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(Path(root, "onnx", "speakers", voice), folder / name, copy_function=os.link)
        tts.load(name, source=f"file://{copies}").prepare().speakers[name].generate("はい。")

    try:
        return measured(
            started, {"import, s": imported - start, "load, s": loaded - imported}, speaker.stream, speak, further
        )
    finally:
        shutil.rmtree(copies)


def measured(
    started: float,
    figures: dict[str, float],
    stream: Callable[[str], Iterator[Any]],
    speak: Callable[[str], float],
    further: Callable[[str], None],
) -> dict[str, float]:
    """Seconds and MB by the names of the table's rows.

    Args:
        started: when the process was, as ``time.time()``.
        figures: the first rows.
        stream: chunks of a text.
        speak: speaks a text and returns the seconds of audio.
        further: loads one more speaker under that name and lets it say a word.
    """
    loaded = memory("VmRSS")
    first_chunk(stream, TEXTS["20 characters"])
    figures = {"start to first audio, s": time.time() - started} | figures
    figures |= {"RSS loaded, MB": loaded, "RSS after one sentence, MB": memory("VmRSS")}
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
    speak(LONG)
    after = memory("VmRSS")
    figures |= {
        "RSS after 500 characters, MB": after,
        "of it not in files, MB": memory("RssAnon"),
        "RSS at most, MB": memory("VmHWM"),
        "RSS after 500 / after one sentence": after / figures["RSS after one sentence, MB"],
    }
    anonymous = memory("RssAnon")
    for number in range(FURTHER):
        further(f"further-{number}")
    return figures | {
        "RSS per further speaker, MB": (memory("VmRSS") - after) / FURTHER,
        "of it not in files, per speaker, MB": (memory("RssAnon") - anonymous) / FURTHER,
        "threads with four speakers": threads(),
    }


def count_threads(root: str, voice: str, cache: str, _started: float) -> dict[str, float]:
    """Only the threads, of a process with four speakers that have spoken."""
    from engine import TTS

    tts = TTS(cache_dir=cache)
    for number in range(1 + FURTHER):
        tts.load(str(number), source=root, voice=voice).prepare().speakers[str(number)].generate("はい。")
    return {"threads, ASAGOE_SHARED_POOL=1": threads()}


def first_chunk(stream: Callable[[str], Iterator[Any]], text: str) -> float:
    begun = time.perf_counter()
    chunks = stream(text)
    next(chunks)
    taken = time.perf_counter() - begun
    chunks.close()  # type: ignore[attr-defined]
    return taken


ENGINES = {"asagoe": measure_asagoe, "tuned": measure_asagoe, "hayakoe": measure_hayakoe, "threads": count_threads}


# In the parent.


def run(engine: str, interpreter: str, arguments: list[str], **environment: str) -> dict[str, float]:
    """Start an engine once."""
    # -P: the folder of this file must not hide the standard library's modules (http)
    command = [interpreter, "-P", __file__, *arguments, "--child", engine, "--started", repr(time.time())]
    variables = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE, env=variables)
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
    """Print the table; in Markdown where it goes to a file."""
    from benchmarks.aims import table

    head, rows = table(rounds)
    title = f"{describe_machine()}; median of {count} (least – most)"
    if not sys.stdout.isatty():
        print(f"{title}\n")
        for row in (head, ["---"] * len(head), *rows):
            print("| " + " | ".join(row) + " |")
        return
    from rich.console import Console
    from rich.table import Table

    shown = Table(*head, title=title, title_justify="left")
    for row in rows:
        shown.add_row(*row)
    Console().print(shown)


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
    parser.add_argument("--started", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.path.insert(0, str(HERE))
        measure = ENGINES[options.child]
        print(json.dumps(measure(str(options.root), options.voice, str(options.cache), options.started)))
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
        seconds = run(engine, interpreter, arguments[engine])["load, s"]
        print(f"{engine}'s first start: load {seconds:.1f} s", file=sys.stderr)
    rounds: dict[str, list[dict[str, float]]] = {engine: [] for engine in interpreters}
    for number in range(options.rounds):
        for engine, interpreter in list(interpreters.items())[:: -1 if number % 2 else 1]:
            rounds[engine].append(run(engine, interpreter, arguments[engine]))
            print(f"round {number + 1} of {options.rounds}: {engine} done", file=sys.stderr)
        rounds["asagoe"][-1] |= run("threads", sys.executable, arguments["threads"], ASAGOE_SHARED_POOL="1")
    report(rounds, options.rounds)
    print(f"\nload average before: {others:.1f}")


if __name__ == "__main__":
    main()
