"""How many texts of a house are read right, by bare Open JTalk and by us, and how long it takes.

``python benchmarks/readings.py`` from the root of the project; the tables are those of the tests.
"""

from __future__ import annotations

import contextlib
import io
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.text import TextPipeline, normalize
from tests.engine.text.canonical import canonical, cases

TABLES = ("handed_readings.tsv", "house_readings.tsv")


def bare(text: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()):
        import pyopenjtalk

    words = pyopenjtalk.run_frontend(text, predict_nani=False)
    return "".join(w["string"] if w["pos"] == "記号" else w["pron"] for w in words)


def score(name: str, read: Callable[[str], str]) -> None:
    for table in TABLES:
        right: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for text, accepted, group in cases(table):
            total[group] += 1
            right[group] += canonical(read(text)) in {canonical(reading) for reading in accepted}
        groups = ", ".join(f"{group} {right[group]}/{total[group]}" for group in total)
        print(f"{name}, {table}: {sum(right.values())}/{sum(total.values())} ({groups})")


def speed() -> None:
    text = "。".join(text for table in TABLES for text, _, _ in cases(table))
    for length in (1250, 2500, 5000, 10000):
        piece = (text * 4)[:length]
        best = min(_seconds(piece) for _ in range(7))
        print(f"normalise {length} characters: {best * 1000:.1f} ms")


def _seconds(text: str) -> float:
    start = time.perf_counter()
    normalize(text)
    return time.perf_counter() - start


def main() -> None:
    score("Open JTalk alone", bare)
    pipeline = TextPipeline()
    score("Asagoe", pipeline.kana)
    speed()
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
