"""Speech of a neural voice on the processor: Asagoe beside hayakoe, in turns, each run in a process of its own.

    python benchmarks/engine.py ROOT VOICE [--rounds 3] [--hayakoe /path/to/its/python]

ROOT is a tree of voices in the published layout (``benchmarks/random_voice.py`` makes one without anybody's voice,
``asagoe voices convert`` brings it into the layout). hayakoe (``pip install hayakoe==1.3.1``) goes into an environment
of its own, named by its interpreter; without it Asagoe is measured alone. Figures are medians over the rounds: import
and loading, resident memory (RSS), and for a short and a long text the best of three times in a round, with the first
one apart. Only runs of one table are comparable: a busy machine slows both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TEXTS = {
    "20 characters": "今日は天気がとても良いので散歩に行こう。",
    "98 characters": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で"
    "ニャーニャー泣いていた事だけは記憶している。吾輩はここで始めて人間というものを見た。しかもあとで聞く。",
}
REPEATS = 3


def memory(field: str) -> float:
    """A field of /proc/self/status in MB: VmRSS now, VmHWM at most so far, RssAnon without mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def measure_asagoe(root: str, voice: str, cache: str) -> dict[str, Any]:
    start = time.perf_counter()
    from engine import TTS

    imported = time.perf_counter()
    tts = TTS(cache_dir=cache).load(voice, source=root).prepare()
    loaded = time.perf_counter()
    speaker = tts.speakers[voice]

    def speak(text: str) -> float:
        return speaker.generate(text).duration

    return measured(start, imported, loaded, speak)


def measure_hayakoe(root: str, voice: str, _cache: str) -> dict[str, Any]:
    start = time.perf_counter()
    from hayakoe import TTS

    imported = time.perf_counter()
    tts = TTS(bert_source=f"file://{root}").load(voice, source=f"file://{root}").prepare()
    loaded = time.perf_counter()
    speaker = tts.speakers[voice]

    def speak(text: str) -> float:
        audio = speaker.generate(text)
        return len(audio.data) / audio.sr

    return measured(start, imported, loaded, speak)


def measured(start: float, imported: float, loaded: float, speak: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "import, s": imported - start,
        "load, s": loaded - imported,
        "RSS loaded, MB": memory("VmRSS"),
    }
    for name, text in TEXTS.items():
        times, factors, processor = [], [], []
        for _ in range(REPEATS):
            begun, begun_processor = time.perf_counter(), time.process_time()
            seconds = speak(text)
            times.append(time.perf_counter() - begun)
            processor.append(time.process_time() - begun_processor)
            factors.append(times[-1] / seconds)
        figures |= {
            f"{name}: first, s": times[0],
            f"{name}: best, s": min(times),
            f"{name}: least processor time, s": min(processor),
            f"{name}: best time / audio": min(factors),
            f"{name}: audio, s": seconds,
        }
    return figures | {
        "RSS after, MB": memory("VmRSS"),
        "of it anonymous, MB": memory("RssAnon"),
        "RSS at most, MB": memory("VmHWM"),
    }


ENGINES = {"asagoe": measure_asagoe, "hayakoe": measure_hayakoe}


def run(engine: str, interpreter: str, arguments: list[str]) -> dict[str, Any]:
    command = [interpreter, __file__, *arguments, "--child", engine]
    here = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here)
    if done.returncode:
        sys.exit(f"{engine} failed:\n{done.stderr[-3000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=lambda text: str(Path(text).resolve()))
    parser.add_argument("voice")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hayakoe", help="interpreter of an environment with hayakoe")
    parser.add_argument("--cache", default=str(Path(tempfile.gettempdir()) / "asagoe-benchmark"))
    parser.add_argument("--child", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        print(json.dumps(ENGINES[options.child](options.root, options.voice, options.cache)))
        return
    interpreters = {"asagoe": sys.executable} | ({"hayakoe": options.hayakoe} if options.hayakoe else {})
    arguments = [options.root, options.voice, "--cache", options.cache]
    first = run("asagoe", sys.executable, arguments)
    print(f"asagoe's first start with this voice (a published graph is prepared then): {first['load, s']:.1f} s")
    rounds: dict[str, list[dict[str, Any]]] = {engine: [] for engine in interpreters}
    for number in range(options.rounds):
        for engine, interpreter in interpreters.items():
            rounds[engine].append(run(engine, interpreter, arguments))
            print(f"round {number + 1}: {engine} done", file=sys.stderr)
    print(f"{'median of ' + str(options.rounds):40}" + "".join(f"{engine:>12}" for engine in rounds))
    for row in next(iter(rounds.values()))[0]:
        values = [statistics.median(figures[row] for figures in runs) for runs in rounds.values()]
        print(f"{row:40}" + "".join(f"{value:12.2f}" if value < 100 else f"{value:12.0f}" for value in values))


if __name__ == "__main__":
    main()
