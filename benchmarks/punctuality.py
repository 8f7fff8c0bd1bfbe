"""How late alarms are: against their due moment, the first sample that is written, and the sound that arrives.

A real mosquitto, the real service, and a real PulseAudio null sink that is recorded. Alarms are made at run time, a few
seconds apart; meanwhile messages arrive, one of them just before each due moment, and long texts are rendered and said
that every alarm cuts into.

Two figures for each alarm, in milliseconds:

- `written`: `late_ms` of its `started` event, from the due moment to the first sample that was handed to the device.
- `arrived`: where its chime begins in the recording. It holds the latency of the device, of PulseAudio and of the
  recorder (20 ms), and is found by normalised cross-correlation with the chime.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from daemon.chimes import load_chime
from tests.system.house import RATE, House, wait_for

LONG = (
    "{}番目のお知らせです。今日の天気は晴れのち曇り、最高気温は{}度の予想です。",
    "午後{}時からは、南の風がやや強く吹くでしょう。洗濯物は、早めに取り込んでください。",
    "今日は燃えるごみの日です。{}時までに、集積所へ出してください。",
    "予定は{}件あります。十時から打ち合わせ、十五時から歯医者です。",
)
SHORT = "{}回目の洗濯が終わりました。取り出してください。"
CHIME = "rising"
AIM = 50.0
_WINDOW = (-0.5, 1.5)
_PATTERN = 0.3
_SURE = 0.6
"""From so much correlation on the chime is found: it is added to what the interrupted speech leaves in the sink."""


@dataclass
class Due:
    """One alarm: its id, its moment (seconds since 1970), and what was measured, in milliseconds."""

    name: str
    moment: float
    written: float | None = None
    arrived: float | None = None


class Positions:
    """Notes how far the recording is at which time: its samples have no times of their own."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._pairs: list[tuple[float, int]] = []
        self._quit = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more notes."""
        self._quit.set()
        self._thread.join()

    def begin(self, moment: float) -> float:
        """When sample 0 was written, by the least delayed of the notes within five seconds of a moment."""
        near = [at - position / RATE for at, position in self._pairs if abs(at - moment) < 5]
        return min(near)

    def _run(self) -> None:
        while not self._quit.wait(0.02):
            position = self._house.pulse.position  # before the time: where this thread is held up, the note is too late
            self._pairs.append((time.time(), position))


def arrival(recording: np.ndarray, chime: np.ndarray) -> float | None:
    """Seconds from the start of a recording at which a sound begins in it; None when it is not there."""
    pattern = chime[: round(_PATTERN * RATE)].astype(np.float64)
    count = len(recording) - len(pattern) + 1
    if count < 1:
        return None
    size = 1 << (len(recording) + len(pattern)).bit_length()
    spectrum = np.fft.rfft(recording, size) * np.conj(np.fft.rfft(pattern, size))
    products = np.fft.irfft(spectrum, size)[:count]
    energy = np.cumsum(np.concatenate([[0.0], recording.astype(np.float64) ** 2]))
    local = np.sqrt(np.maximum(energy[len(pattern) :] - energy[: -len(pattern)], 1e-6))
    likeness = products / (local * np.linalg.norm(pattern))
    best = int(np.argmax(likeness))
    return best / RATE if likeness[best] >= _SURE else None


def make_alarms(house: House, count: int, every: float) -> list[Due]:
    """Alarms for one occurrence each, the first in ten seconds."""
    first = datetime.now().astimezone().replace(microsecond=0) + timedelta(seconds=10 + count / 50)
    made = []
    for number in range(count):
        moment = (first + timedelta(seconds=number * every)).replace(microsecond=0)
        keys = {"at": moment.isoformat(), "text": f"{number}番のアラームです。", "sound": CHIME, "volume": 80}
        house.publish(f"set/alarm/a{number}", keys | {"repeat_every": "60s", "max_ring": "15s"})
        made.append(Due(f"a{number}", moment.timestamp()))
    wait_for(lambda: len(house.listener.state()["alarms"]) >= count, 30, "the alarms to be known")
    return made


def keep_busy(house: House, alarms: list[Due], quit_: threading.Event) -> None:
    """Long texts all the time, and a short message a quarter of a second before each alarm."""
    next_long = 0.0
    for number, due in enumerate(alarms):
        while not quit_.is_set() and (left := due.moment - 0.25 - time.time()) > 0:
            if time.monotonic() >= next_long:
                text = "".join(LONG).format(*(number * 7 + n for n in range(5))) * 3
                house.announce(text, priority="low", expires_in="15s", chime="none")
                next_long = time.monotonic() + 10
            quit_.wait(min(left, 0.5))
        house.announce(SHORT.format(number), expires_in="5s")


def measure(house: House, alarms: list[Due]) -> None:
    """Wait for each alarm, note how late it was, and dismiss it when its chime was heard."""
    for due in alarms:
        prefix = f'"id": "{due.name}@'
        wait_for(
            lambda prefix=prefix: any(
                '"event_type": "started"' in body and prefix in body for body in house.listener.of("event")[-60:]
            ),
            max(0.0, due.moment - time.time()) + 10,
            due.name,
        )
        time.sleep(0.6)
        house.publish("do/dismiss", due.name)
    for event in house.listener.events:
        if event["event_type"] == "started" and str(event["id"]).endswith("/0.0"):
            due = next(item for item in alarms if event["id"].startswith(f"{item.name}@"))
            due.written = event["late_ms"]


def find_arrivals(house: House, alarms: list[Due], positions: Positions) -> None:
    """Find each alarm's chime in the recording."""
    chime = load_chime(CHIME, RATE).samples
    for due in alarms:
        zero = positions.begin(due.moment)
        start = round((due.moment + _WINDOW[0] - zero) * RATE)
        length = round((_WINDOW[1] - _WINDOW[0]) * RATE)
        at = arrival(house.pulse.recording(start, start + length), chime)
        due.arrived = None if at is None else 1000 * (at + _WINDOW[0])


def report(console: Console, alarms: list[Due], load: tuple[float, float]) -> None:
    """Print the figures."""
    table = Table(
        "ms after the due moment", "alarms", "least", "median", "95 %", "worst", title="Punctuality of alarms"
    )
    for name, figures in (
        ("first sample written", [item.written for item in alarms if item.written is not None]),
        ("sound arrived in the sink", [item.arrived for item in alarms if item.arrived is not None]),
    ):
        shown = [f"{np.percentile(figures, part):.1f}" for part in (0, 50, 95, 100)] if figures else ["–"] * 4
        table.add_row(name, f"{len(figures)} of {len(alarms)}", *shown)
    console.print(table)
    late = [item.name for item in alarms if item.written is None or item.written >= AIM]
    console.print(f"Load of the machine: {load[0]:.1f} before, {load[1]:.1f} after, {os.cpu_count()} processors.")
    console.print(f"Later than {AIM:g} ms: {', '.join(late) or 'none'}.")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="script/bench punctuality", description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--number", type=int, default=100, help="how many alarms; default: 100")
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two of them; default: 3")
    options = parser.parse_args()
    if not 1 <= options.number <= 200 or options.every < 2:
        parser.error("from 1 to 200 alarms, at least 2 seconds apart")
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, House(Path(folder)) as house:
        positions, quit_ = Positions(house), threading.Event()
        alarms = make_alarms(house, options.number, options.every)
        busy = threading.Thread(target=keep_busy, args=(house, alarms, quit_), daemon=True)
        busy.start()
        try:
            measure(house, alarms)
        finally:
            quit_.set()
            positions.stop()
        find_arrivals(house, alarms, positions)
    report(Console(), alarms, (before, os.getloadavg()[0]))


if __name__ == "__main__":
    main()
