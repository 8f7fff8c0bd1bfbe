"""Thousands of requests to four neural speakers, from threads and tasks, some cancelled: are any lost or mixed up?

    script/bench many_requests [FOLDER] [--count 2000]

FOLDER is that of ``benchmarks/engine.py``. The four speakers are the random voice with four seeds, so that every answer
is known beforehand to the sample. Memory (RSS without pages of files) is noted all the time; its slope is a line fitted
to the second half.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.engine import VOICE, describe_machine, memory, prepared_tree
from engine import TTS, Audio, CancelledSpeechError, DeadlineExceededError

TEXTS = ("はい。", "駅です。", "雨。風。", "行きます。")
SPEAKERS = ("a", "b", "c", "d")
TASKS = 12
TOLERANCE = 1e-3  # threads add up in another order

Request = tuple[str, str, str, bool, float]


class Tally:
    """What became of the requests; safe to share."""

    def __init__(self, expected: dict[tuple[str, str], Audio]) -> None:
        self._expected = expected
        self._lock = threading.Lock()
        self.outcomes: Counter[str] = Counter()
        self.memory: list[float] = []

    def spoken(self, speaker: str, text: str, audio: Audio) -> None:
        wanted = self._expected[speaker, text].samples
        same = len(wanted) == len(audio.samples) and np.abs(wanted - audio.samples).max() < TOLERANCE
        self.note("spoken" if same else "WRONG")

    def note(self, outcome: str) -> None:
        with self._lock:
            self.outcomes[outcome] += 1
            self.memory.append(memory("RssAnon"))


def from_thread(tts: TTS, requests: list[Request], tally: Tally) -> None:
    for name, text, kind, background, wait in requests:
        cancel = threading.Event()
        timer = threading.Timer(wait, cancel.set)
        if kind == "cancel":
            timer.start()
        try:
            deadline = wait if kind == "deadline" else None
            audio = tts.speakers[name].generate(text, cancel=cancel, deadline=deadline, background=background)
        except CancelledSpeechError:
            tally.note("cancelled")
        except DeadlineExceededError:
            tally.note("too late")
        else:
            tally.spoken(name, text, audio)
        timer.cancel()


async def from_tasks(tts: TTS, requests: list[Request], tally: Tally) -> None:
    waiting = iter(requests)

    async def work() -> None:
        for name, text, kind, background, wait in waiting:
            try:
                async with asyncio.timeout(wait if kind == "cancel" else None):
                    deadline = wait if kind == "deadline" else None
                    audio = await tts.speakers[name].agenerate(text, deadline=deadline, background=background)
            except TimeoutError:
                tally.note("cancelled")
            except DeadlineExceededError:
                tally.note("too late")
            else:
                tally.spoken(name, text, audio)

    await asyncio.gather(*(work() for _ in range(TASKS)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(tempfile.gettempdir()) / "asagoe-benchmark"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="where the random voice is kept")
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    folder = options.folder.resolve()
    tts = TTS(cache_dir=folder / "cache")
    for seed, name in enumerate(SPEAKERS):
        tts.load(name, source=str(prepared_tree(folder)), voice=VOICE, seed=seed)
    tts.prepare(warmup=True)
    tally = Tally({(name, text): tts.speakers[name].generate(text) for name in SPEAKERS for text in TEXTS})
    generator = random.Random(1)
    requests: list[Request] = [
        (
            generator.choice(SPEAKERS),
            generator.choice(TEXTS),
            generator.choice(("plain", "plain", "plain", "cancel", "deadline")),
            generator.random() < 0.3,
            generator.random() * 2,
        )
        for _ in range(options.count)
    ]
    half = options.count // 2
    threads = [threading.Thread(target=from_thread, args=(tts, requests[n:half:4], tally)) for n in range(4)]
    threads.append(threading.Thread(target=lambda: asyncio.run(from_tasks(tts, requests[half:], tally))))
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = np.array(tally.memory[options.count // 2 :])
    slope = np.polyfit(np.arange(len(late)), late, 1)[0] * 1000 if len(late) > 1 else float("nan")
    print(f"{describe_machine()}; {options.count} requests in {time.perf_counter() - begun:.0f} s")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.outcomes.items())))
    print(
        f"RssAnon {late.min():.0f} to {late.max():.0f} MB in the second half, slope {slope:+.2f} MB per 1,000 requests"
    )
    tts.close()
    if sum(tally.outcomes.values()) != options.count or tally.outcomes["WRONG"]:
        sys.exit("requests were lost or mixed up")


if __name__ == "__main__":
    main()
