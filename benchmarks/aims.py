"""What the neural engine is to reach, and the table that says whether it does."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass

Runs = dict[str, list[dict[str, float]]]
"""Of each engine, the figures of its rounds, in order: rounds of the same number ran one after the other."""

OURS, THEIRS = "asagoe", "hayakoe"


@dataclass(frozen=True)
class Aim:
    """A bound for a row.

    Attributes:
        most: of the ratio to the other engine, or of the figure itself.
        ratio: which of the two.
        reason: why it is out of reach, where it is.
    """

    most: float
    ratio: bool = True
    reason: str = ""


TUNED = {"98 characters, s": 0.65}
"""Aims of the tuned voice, ratios to the other engine, where they differ."""

FLOAT32 = (
    "float32 convolutions are four fifths of the time, and run 1.6 times as fast as numpy's matrix product already; "
    "`asagoe voices tune` quantises them"
)
AIMS = {
    "start to first audio, s": Aim(
        0.5,
        reason="half of it is the sentence itself; the rest, half of theirs, is importing Python's libraries "
        "and ONNX Runtime's graphs; the tuned voice reaches it",
    ),
    "20 characters, s": Aim(0.95, reason=FLOAT32),
    "98 characters, s": Aim(0.85, reason=FLOAT32),
    "first audio of 98 characters, s": Aim(
        0.35, reason="both sides stream after the first sentence, which is float32 convolutions"
    ),
    "RSS loaded, MB": Aim(0.6),
    "RSS after 500 characters, MB": Aim(
        0.4, reason="mapped weights count as resident once they are used; see the row without files"
    ),
    "RSS after 500 / after one sentence": Aim(1.1, ratio=False),
    "RSS per further speaker, MB": Aim(0.8, reason="mapped weights count as resident once they are used"),
    "threads with four speakers": Aim(
        (os.cpu_count() or 1) + 2,
        ratio=False,
        reason="sessions share one pool only where it may spin (next row), at a price in processor time",
    ),
    "threads, ASAGOE_SHARED_POOL=1": Aim((os.cpu_count() or 1) + 2, ratio=False),
}


def table(runs: Runs) -> tuple[list[str], list[list[str]]]:
    """Head and rows: medians with the least and the most, the ratio of each round likewise, the aim and the verdict."""
    head = ["", *runs, *(f"{engine} / {THEIRS}" for engine in runs if engine != THEIRS and THEIRS in runs), "aim", ""]
    rows = []
    for row in runs[OURS][0]:
        cells = [shown_all([figures[row] for figures in each]) if row in each[0] else "" for each in runs.values()]
        ratios = []
        verdict_on: list[float] = []
        if THEIRS in runs:
            for engine in runs:
                if engine == THEIRS:
                    continue
                both = [
                    (ours[row] / theirs[row])
                    for ours, theirs in zip(runs[engine], runs[THEIRS], strict=True)
                    if theirs.get(row) and row in ours
                ]
                ratios.append(shown_all(both) if both else "")
                if engine == OURS:
                    verdict_on = both
        rows.append([row, *cells, *ratios, *_verdict(row, runs, verdict_on)])
    return head, rows


def _verdict(row: str, runs: Runs, ratios: list[float]) -> tuple[str, str]:
    aim = AIMS.get(row)
    if aim is None:
        return "", ""
    said = f"≤ {aim.most:g}" + (" of hayakoe" if aim.ratio else "")
    if row in TUNED and "tuned" in runs:
        said += f"; tuned ≤ {TUNED[row]:g}"
    values = ratios if aim.ratio else [figures[row] for figures in runs[OURS] if row in figures]
    if not values:
        return said, ""
    if statistics.median(values) <= aim.most:
        return said, "reached"
    return said, f"out of reach: {aim.reason}" if aim.reason else "not reached"


def shown_all(values: list[float]) -> str:
    return f"{shown(statistics.median(values))} ({shown(min(values))} – {shown(max(values))})"


def shown(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
