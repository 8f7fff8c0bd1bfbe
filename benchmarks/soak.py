"""Half an hour at a high rate: ten thousand announcements of several voices while the broker restarts.

    python -m benchmarks.soak [--minutes 30] [--rate 5.7] [--restart-every 180]

A real mosquitto that keeps its sessions on disk, the real service with files for a sound card (so nothing waits for
speech to be over), four voices of Open JTalk and a neural one (tiny, of random weights: its work is real, its sound is
not), and a phrase cache that holds a part of what is said. Every announcement that the broker has taken must end, once:
lost and doubled are counted, and what still waits is told apart. Resident memory, threads, descriptors and the queue
are noted every ten seconds; the slope is a line fitted to the second half of the sending.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.fakes.published import VOICE, unpack_published
from tests.system.house import House

_END = re.compile(r'announcement id="?(s\d+)"? outcome=(\w+)')

TEXTS = (
    "{}番目のお知らせです。",
    "洗濯が終わりました。{}回目です。",
    "玄関に{}人のお客様です。居間へお通しください。",
    "ただいまの室温は{}度、湿度は40%です。",
    "{}時になりました。お風呂の時間です。早めに入ってください。",
)
SPEAKERS = {"mei": {}, "slow": {"speed": 0.8}, "high": {"pitch": 3.0}, "quick": {"speed": 1.4}}
NEURAL = "neural"
CACHE = 40
"""MB of the phrase cache: less than all that is said, so that phrases are rendered, found and thrown away."""
PATIENCE = 60.0
"""Seconds without an end after which the rest counts as lost."""


@dataclass(frozen=True)
class Note:
    """What the service took at a moment (seconds after the beginning; MB)."""

    at: float
    resident: float
    threads: int
    descriptors: int
    queued: int


class Ends:
    """How each announcement ended, by the journal: a listener may miss events while the broker restarts."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = 0
        self.of: dict[str, list[str]] = {}

    def look(self) -> int:
        """Read what the journal has new; how many announcements have ended by now."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for name, outcome in _END.findall(whole.decode()):
            self.of.setdefault(name, []).append(outcome)
        return len(self.of)


def house_of(folder: Path) -> House:
    """A house whose broker keeps what it took over a restart."""
    tree = unpack_published(folder / "published")
    speakers = {name: {"source": "openjtalk:mei"} | options for name, options in SPEAKERS.items()}
    speakers[NEURAL] = {"source": str(tree), "name": VOICE}
    house = House(
        folder,
        {
            "speakers": speakers,
            "audio": {"device": f"file:{folder}/sound", "recordings": 10},
            "announcements": {"max_queue": 10_000, "defaults": {"chime": "none", "expires_in": "1h"}},
            "phrase_cache": {"max_mb": CACHE},
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
    parser.add_argument("--rate", type=float, default=5.7, help="announcements a second")
    parser.add_argument("--restart-every", type=float, default=180.0, help="seconds between two restarts of the broker")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, house_of(Path(name)) as house:
        report(*run(house, arguments.minutes * 60, arguments.rate, arguments.restart_every))


def run(house: House, seconds: float, rate: float, restart_every: float) -> tuple[list[str], list[Note], Ends, int]:
    """Send; returns the ids, what was noted of the process, the ends, and how often the broker was restarted."""
    rng = random.Random(1)
    sent: list[str] = []
    notes: list[Note] = []
    restarts = 0
    ends = Ends(house.service.folder / "service.log")
    begun = time.monotonic()
    next_note, next_restart = 0.0, restart_every
    while (now := time.monotonic() - begun) < seconds:
        while len(sent) < now * rate:
            body = {
                "id": f"s{len(sent)}",
                "text": rng.choice(TEXTS).format(rng.randint(1, 24)),
                "speaker": rng.choice((*SPEAKERS, NEURAL)),
                "priority": rng.choice(("low", "normal", "high")),
            }
            house.listener.client.publish(f"{house.base}/announce", json.dumps(body, ensure_ascii=False), qos=1)
            sent.append(body["id"])
        if now >= next_note:
            notes.append(noted(house, now, len(sent) - ends.look()))
            next_note += 10
        if now >= next_restart:
            house.mosquitto.stop()
            time.sleep(1)
            house.mosquitto.start()
            restarts += 1
            next_restart += restart_every
        time.sleep(0.05)

    ended, last = ends.look(), time.monotonic()
    while ended < len(sent) and time.monotonic() - last < PATIENCE:
        time.sleep(2)
        if (more := ends.look()) > ended:
            ended, last = more, time.monotonic()
    time.sleep(10)  # whatever would end a second time
    ends.look()
    notes.append(noted(house, time.monotonic() - begun, len(sent) - ended))
    return sent, notes, ends, restarts


def noted(house: House, now: float, queued: int) -> Note:
    service = house.service
    return Note(now, service.resident(), service.threads(), service.descriptors(), queued)


def report(sent: list[str], notes: list[Note], ends: Ends, restarts: int) -> None:
    """Print what was found."""
    *sending, rest = notes
    kinds = Counter(kind for found in ends.of.values() for kind in found)
    lost = [name for name in sent if name not in ends.of]
    doubled = [name for name in sent if len(ends.of.get(name, ())) > 1]
    half = sending[len(sending) // 2 :]
    at, memory = np.array([note.at for note in half]), np.array([note.resident for note in half])
    slope = np.polyfit(at / 3600, memory, 1)[0] if len(half) > 1 else float("nan")
    table = Table("what", "found", title=f"Soak: {len(sent):,} announcements, {restarts} restarts of the broker")
    table.add_row("ended as", ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common()))
    table.add_row("lost", str(len(lost)) + (f" ({', '.join(lost[:5])})" if lost else ""))
    table.add_row("ended twice", str(len(doubled)))
    table.add_row("waited at most", f"{max(note.queued for note in notes):,}; {rest.queued} at the end")
    quarters = [sending[len(sending) * n // 6] for n in range(6)] + [sending[-1]]
    table.add_row(
        "resident memory, MB",
        ", ".join(f"{note.resident:.0f} after {note.at / 60:.0f} min" for note in quarters)
        + f"; {rest.resident:.0f} when all was said",
    )
    table.add_row("its slope in the second half", f"{slope:+.1f} MB an hour")
    for what in ("threads", "descriptors"):
        values = [getattr(note, what) for note in notes]
        table.add_row(what, f"{values[0]} at first, {values[-1]} at last, {max(values)} at most")
    Console().print(table)


if __name__ == "__main__":
    main()
