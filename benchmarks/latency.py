"""How long it takes from a message to the first sample, and what an idle service costs.

A real mosquitto and the real service; sound goes to a real PulseAudio null sink, and to the service's own null sink,
which shows what is left when no device has to be opened. Times in milliseconds: `service` is from the arrival of the
message in the service to the first sample that is handed to the device, `whole` from publishing to the event that
says so.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.system.house import House

ROUNDS = 7
SHORT = "洗濯が{}回終わりました。"
LONG = "おはようございます、今日は{}日目です。気温は低めです。天気は晴れ、最高気温は十五度の予想です。傘は要りません。"


def measure(house: House, text: str, *, cached: bool, device_open: bool) -> list[tuple[float, float]]:
    """Pairs of service and whole milliseconds."""
    results = []
    number = 0
    if cached:
        house.ended(house.announce(text.format(0)))
    for _ in range(ROUNDS):
        number += 0 if cached else 1
        time.sleep(0.2 if device_open else 2.6)  # it is held open for two seconds
        sent = time.time()
        name = house.announce(text.format(number if cached else f"{number}{int(sent) % 1000}"))
        house.event("started", name)
        house.publish("do/skip", "")  # the rest is not the matter
        event = house.ended(name)[0]
        started = next(at for at, _, body, _ in house.listener.messages if f'"started", "id": "{name}"' in body)
        results.append((event["first_sample_ms"], (started - sent) * 1000))
    return results


def main() -> None:
    """Print the tables."""
    console = Console()
    table = Table(
        "sound goes to",
        "device",
        "sentence",
        "speech",
        "service",
        "(min–max)",
        "whole",
        title="Message to first sample, ms (median)",
    )
    for sink, settings in (
        ("PulseAudio", {"device": "default"}),
        ("PulseAudio, no lead-in", {"device": "default", "lead_in_ms": 0}),
        ("null", {"device": "null", "lead_in_ms": 0}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            audio = {"volume": 100, "keep_open": "500ms"} | settings
            with House(Path(folder), {"audio": audio}, sound=settings["device"] == "default") as house:
                house.ended(house.announce("準備。"))
                for device_open in (True, False):
                    for kind, text in (("short", SHORT), ("4 sentences", LONG)):
                        for cached in (False, True):
                            pairs = measure(house, text, cached=cached, device_open=device_open)
                            service = [pair[0] for pair in pairs]
                            table.add_row(
                                sink,
                                "open" if device_open else "closed",
                                kind,
                                "cached" if cached else "new",
                                f"{statistics.median(service):.0f}",
                                f"{min(service):.0f}–{max(service):.0f}",
                                f"{statistics.median(pair[1] for pair in pairs):.0f}",
                            )
                if sink == "null":
                    idle(console, house)
    console.print(table)


def idle(console: Console, house: House) -> None:
    """What the service costs while nothing happens."""
    time.sleep(3)
    before, seconds = house.service.processor_seconds(), 20.0
    time.sleep(seconds)
    used = house.service.processor_seconds() - before
    console.print(
        f"Idle for {seconds:.0f} s: {100 * used / seconds:.2f} % of one core, "
        f"{house.service.resident():.0f} MB resident, {house.service.threads()} threads"
    )


if __name__ == "__main__":
    main()
