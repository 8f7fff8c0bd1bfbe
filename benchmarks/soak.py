"""Half an hour at a high rate: ten thousand announcements of several voices while the broker restarts.

    python -m benchmarks.soak [--minutes 30] [--rate 6] [--restart-every 180]

A real mosquitto that keeps its sessions on disk, the real service with files for a sound card (so nothing waits for
speech to be over). Every announcement that the broker has taken must end, once: lost and doubled are counted. Resident
memory, threads and descriptors are noted every ten seconds; the slope is a line fitted to the second half.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.system.house import House, wait_for

_END = re.compile(r'announcement id="?(s\d+)"? outcome=(\w+)')

TEXTS = (
    "{}番目のお知らせです。",
    "洗濯が終わりました。{}回目です。",
    "玄関に{}人のお客様です。居間へお通しください。",
    "ただいまの室温は{}度、湿度は40%です。",
    "{}時になりました。お風呂の時間です。早めに入ってください。",
)
SPEAKERS = {"mei": {}, "slow": {"speed": 0.8}, "high": {"pitch": 3.0}, "quick": {"speed": 1.4}}


def house_of(folder: Path) -> House:
    """A house whose broker keeps what it took over a restart."""
    speakers = {name: {"source": "openjtalk:mei"} | options for name, options in SPEAKERS.items()}
    house = House(
        folder,
        {
            "speakers": speakers,
            "audio": {"device": f"file:{folder}/sound", "recordings": 10},
            "announcements": {"max_queue": 10_000, "defaults": {"chime": "none", "expires_in": "1h"}},
            "phrase_cache": {"max_mb": 5},
        },
        sound=False,
    )
    kept = folder / "mosquitto"
    kept.mkdir()
    kept.chmod(0o777)
    with house.mosquitto.config.open("a") as config:
        config.write(f"persistence true\npersistence_location {kept}/\nmax_queued_messages 0\nuser root\n")
    return house


def main() -> None:
    """Run, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=6.0, help="announcements a second")
    parser.add_argument("--restart-every", type=float, default=180.0, help="seconds between two restarts of the broker")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, house_of(Path(name)) as house:
        report(*run(house, arguments.minutes * 60, arguments.rate, arguments.restart_every), house)


def run(
    house: House, seconds: float, rate: float, restart_every: float
) -> tuple[list[str], list[tuple[float, float, int, int]], int]:
    """Send; returns the ids, what was noted of the process, and how often the broker was restarted."""
    rng = random.Random(1)
    sent: list[str] = []
    notes: list[tuple[float, float, int, int]] = []
    restarts = 0
    begun = time.monotonic()
    next_note, next_restart = 0.0, restart_every
    while (now := time.monotonic() - begun) < seconds:
        while len(sent) < now * rate:
            body = {
                "id": f"s{len(sent)}",
                "text": rng.choice(TEXTS).format(rng.randint(1, 24)),
                "speaker": rng.choice(tuple(SPEAKERS)),
                "priority": rng.choice(("low", "normal", "high")),
            }
            house.listener.client.publish(f"{house.base}/announce", json.dumps(body, ensure_ascii=False), qos=1)
            sent.append(body["id"])
        if now >= next_note:
            service = house.service
            notes.append((now, service.resident(), service.threads(), service.descriptors()))
            next_note += 10
        if now >= next_restart:
            house.mosquitto.stop()
            time.sleep(1)
            house.mosquitto.start()
            restarts += 1
            next_restart += restart_every
        time.sleep(0.05)

    try:
        wait_for(lambda: len(ends_of(house)) >= len(sent), 120, "the last announcements")
    except AssertionError as error:
        Console().print(str(error), style="red")
    return sent, notes, restarts


def ends_of(house: House) -> dict[str, list[str]]:
    """How each announcement ended, by the journal: a listener may miss events while the broker restarts."""
    ends: dict[str, list[str]] = {}
    for name, outcome in _END.findall(house.service.log):
        ends.setdefault(name, []).append(outcome)
    return ends


def report(sent: list[str], notes: list[tuple[float, float, int, int]], restarts: int, house: House) -> None:
    """Print what was found."""
    ends = ends_of(house)
    kinds = Counter(kind for found in ends.values() for kind in found)
    lost = [name for name in sent if name not in ends]
    doubled = [name for name in sent if len(ends.get(name, ())) > 1]
    half = notes[len(notes) // 2 :]
    at, memory = np.array([note[0] for note in half]), np.array([note[1] for note in half])
    slope = np.polyfit(at / 3600, memory, 1)[0] if len(half) > 1 else float("nan")
    table = Table("what", "found", title=f"Soak: {len(sent):,} announcements, {restarts} restarts of the broker")
    table.add_row("ended as", ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common()))
    table.add_row("lost", str(len(lost)) + (f" ({', '.join(lost[:5])})" if lost else ""))
    table.add_row("ended twice", str(len(doubled)))
    table.add_row("resident memory, MB", f"{notes[0][1]:.1f} at first, {notes[-1][1]:.1f} at last")
    table.add_row("its slope in the second half", f"{slope:+.1f} MB an hour")
    table.add_row("threads", f"{notes[0][2]} at first, {notes[-1][2]} at last, {max(n[2] for n in notes)} at most")
    table.add_row("descriptors", f"{notes[0][3]} at first, {notes[-1][3]} at last, {max(n[3] for n in notes)} at most")
    Console().print(table)


if __name__ == "__main__":
    main()
