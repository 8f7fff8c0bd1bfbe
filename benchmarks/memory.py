"""Memory against the length of a text, for both families; and which of the runtime's settings give memory back.

    python -m benchmarks.memory [FOLDER] [--lengths 20,100,500,1000,5000] [--svg docs/memory.svg]
    python -m benchmarks.memory [FOLDER] --settings

FOLDER is that of ``benchmarks/engine.py``: the random neural voice of full size is made there if it is not there yet.
Every measurement has a process of its own: a speaker is loaded, says a short sentence, and streams a text whose chunks
are thrown away, as a player would. RSS is resident memory; RssAnon the part of it that is not pages of files, which the
system can take back when it is short; the peaks are the most of each while the text was spoken. All in MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.engine import HERE, TEXTS, VOICE, describe_machine, memory, prepared_tree

LENGTHS = (20, 50, 100, 200, 500, 1000, 2000, 5000)
FAMILIES = ("openjtalk", "style_bert_vits2")
SETTINGS = ("as it is", "no shrinkage", "no malloc_trim", "neither", "no arena", "shared allocator")
SENTENCES = (
    TEXTS["98 characters"]
    + "今日は朝から雨が降っていて、夕方まで止まないそうですから、出かけるときには傘を忘れないでください。"
)
SETTINGS_LENGTH = 150
POLL = 0.02  # seconds


def text_of(length: int) -> str:
    return (SENTENCES * (length // len(SENTENCES) + 1))[:length]


# In the child processes.


def measure(family: str, length: int, setting: str, root: str, cache: str) -> dict[str, float]:
    change(setting)
    from engine import TTS

    source = {"source": "openjtalk:mei"} if family == "openjtalk" else {"source": root, "voice": VOICE}
    tts = TTS(cache_dir=cache).load("speaker", **source).prepare()
    speaker = tts.speakers["speaker"]
    loaded = memory("VmRSS")
    speaker.generate("はい、準備ができました。")
    ready, ready_anonymous = memory("VmRSS"), memory("RssAnon")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew (proc(5))
    anonymous, ended = [0.0], threading.Event()

    def poll() -> None:
        while not ended.wait(POLL):
            anonymous[0] = max(anonymous[0], memory("RssAnon"))

    watch = threading.Thread(target=poll)
    watch.start()
    begun = time.perf_counter()
    seconds = sum(chunk.duration for chunk in speaker.stream(text_of(length)))
    taken = time.perf_counter() - begun
    ended.set()
    watch.join()
    figures = {
        "loaded": loaded,
        "ready": ready,
        "ready, RssAnon": ready_anonymous,
        "peak": memory("VmHWM"),
        "peak, RssAnon": anonymous[0],
        "after": memory("VmRSS"),
        "after, RssAnon": memory("RssAnon"),
    }
    tts.release_memory()
    figures["released, RssAnon"] = memory("RssAnon")
    speaker.release()
    tts.release_memory()
    return figures | {"resting": memory("VmRSS"), "audio, s": seconds, "taken, s": taken}


def change(setting: str) -> None:
    """Take away what gives memory back, to see what it is worth."""
    from engine.voices.style_bert_vits2 import voice
    from engine.voices.style_bert_vits2.runtime import session as onnx_session

    ort = onnx_session.runtime()
    if setting in {"no malloc_trim", "neither"}:
        voice.trim = lambda: None
    if setting in {"no shrinkage", "neither", "no arena"}:
        begin = onnx_session.Graph.__init__

        def without(self: Any, *arguments: Any, **options: Any) -> None:
            begin(self, *arguments, **options)
            self._run_options = ort.RunOptions()

        onnx_session.Graph.__init__ = without  # type: ignore[method-assign]
    options_of = onnx_session.session_options
    if setting == "no arena":

        def no_arena(*arguments: Any, **options: Any) -> Any:
            made = options_of(*arguments, **options)
            made.enable_cpu_mem_arena = False
            return made

        onnx_session.session_options = no_arena
    if setting == "shared allocator":
        place = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
        ort.create_and_register_allocator(place, None)

        def shared(*arguments: Any, **options: Any) -> Any:
            made = options_of(*arguments, **options)
            made.add_session_config_entry("session.use_env_allocators", "1")
            return made

        onnx_session.session_options = shared


# In the parent.


def run(family: str, length: int, setting: str, root: Path, cache: Path) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        "--child",
        family,
        str(length),
        setting,
        str(root),
        str(cache),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    if done.returncode:
        sys.exit(f"{family}, {length} characters, {setting}:\n{done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"{family}, {length} characters, {setting}: {figures['taken, s']:.0f} s", file=sys.stderr)
    return figures


def print_rows(head: list[str], rows: list[list[str]]) -> None:
    """A table in Markdown, as the documentation has it."""
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


COLUMNS = ("ready", "peak", "peak, RssAnon", "after", "after, RssAnon", "resting")
COLOURS = {"peak": "#c0392b", "peak, RssAnon": "#e67e22", "after, RssAnon": "#2980b9"}


def plot(path: Path, results: dict[str, dict[int, dict[str, float]]]) -> None:
    """Memory over the length of the text (logarithmic), one panel a family, as SVG."""
    from math import log10

    width, height, left, top, plot_width, plot_height = 960, 380, 60, 40, 360, 260
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (family, by_length) in enumerate(results.items()):
        x0 = left + number * (plot_width + 110)
        lengths = sorted(by_length)
        low, high = log10(lengths[0]), log10(lengths[-1])
        most = max(max(figures[name] for name in COLOURS) for figures in by_length.values())
        step = next(s for s in (25, 50, 100, 200, 250, 500, 1000) if most / s <= 6)
        ceiling = step * (int(most / step) + 1)

        def x(length: int, x0: int = x0, low: float = low, high: float = high) -> float:
            return x0 + plot_width * (log10(length) - low) / ((high - low) or 1)

        def y(value: float, ceiling: float = ceiling) -> float:
            return top + plot_height * (1 - value / ceiling)

        parts.append(f'<text x="{x0}" y="{top - 14}" font-size="14">{family}, MB</text>')
        parts += [
            f'<line x1="{x0}" x2="{x0 + plot_width}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
            f'<text x="{x0 - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>'
            for value in range(0, ceiling + 1, step)
        ]
        parts += [
            f'<text x="{x(length):.1f}" y="{top + plot_height + 18}" text-anchor="middle">{length}</text>'
            for length in lengths
        ]
        for name, colour in COLOURS.items():
            points = [(x(length), y(by_length[length][name])) for length in lengths]
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
        parts.append(
            f'<text x="{x0 + plot_width / 2}" y="{top + plot_height + 38}" text-anchor="middle">characters</text>'
        )
    for number, (name, colour) in enumerate(COLOURS.items()):
        x1 = left + number * 180
        parts.append(f'<rect x="{x1}" y="{height - 22}" width="12" height="12" fill="{colour}"/>')
        parts.append(
            f'<text x="{x1 + 18}" y="{height - 12}">{name.replace("peak", "peak RSS").replace("RSS, ", "")}</text>'
        )
    path.write_text("\n".join([*parts, "</svg>", ""]), "utf-8")


def compare_settings(root: Path, cache: Path) -> None:
    names = ("ready, RssAnon", "peak, RssAnon", "after, RssAnon", "released, RssAnon")
    print_rows([f"{SETTINGS_LENGTH} characters", *names], [])
    for setting in SETTINGS:
        figures = run(FAMILIES[1], SETTINGS_LENGTH, setting, root, cache)
        print("| " + " | ".join([setting, *(f"{figures[name]:.0f}" for name in names)]) + " |", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        family, length, setting, root, cache = sys.argv[2:]
        print(json.dumps(measure(family, int(length), setting, root, cache)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(tempfile.gettempdir()) / "asagoe-benchmark"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="where the random voice is kept")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="characters, with commas between")
    parser.add_argument("--settings", action="store_true", help="compare settings of the runtime instead")
    parser.add_argument("--keep", type=Path, help="a JSON file with what was measured before, which is not again")
    parser.add_argument("--svg", type=Path, help="where the plot is written")
    options = parser.parse_args()
    folder = options.folder.resolve()
    root, cache = prepared_tree(folder), folder / "cache"
    print(describe_machine())
    if options.settings:
        compare_settings(root, cache)
        return
    lengths = [int(length) for length in options.lengths.split(",")]
    results: dict[str, dict[int, dict[str, float]]] = {family: {} for family in FAMILIES}
    kept: dict[str, dict[str, float]] = {}
    if options.keep and options.keep.exists():
        kept = json.loads(options.keep.read_text("utf-8"))
    for length in lengths:
        for family in FAMILIES:
            name = f"{family} {length}"
            if name not in kept:
                kept[name] = run(family, length, SETTINGS[0], root, cache)
                if options.keep:
                    options.keep.write_text(json.dumps(kept), "utf-8")
            results[family][length] = kept[name]
    for family, by_length in results.items():
        rows = [[str(n), *(f"{figures[name]:.0f}" for name in COLUMNS)] for n, figures in by_length.items()]
        print(f"\n{family}:\n")
        print_rows(["characters", *COLUMNS], rows)
    if options.svg:
        plot(options.svg, results)


if __name__ == "__main__":
    main()
