"""What clients of the HTTP server cost the house: punctuality of alarms, memory, and whether each gets its own sound.

A real mosquitto and the real service with the embedded voice, or with the neural voices of a folder; sound goes to the
null sink. Two measurements: one long text, and many clients at once while alarms ring.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import tempfile
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

from rich.console import Console

from tests.system.house import House, free_port, wait_for

SENTENCE = "今日は朝から雲が多く、午後は雨が降るところがあるでしょう。"
LONG = (SENTENCE * 30)[:653]
ALARM_EVERY = 8.0


def ask(port: int, method: str, path: str, body: object = None, **params: object) -> tuple[int, bytes]:
    """Status and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    data = None if body is None else json.dumps(body).encode()
    query = f"?{urlencode(params)}" if params else ""
    connection.request(method, path + query, data, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    result = answer.status, answer.read()
    connection.close()
    return result


class Memory:
    """Watches the resident memory of the service, in MB."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._stop = threading.Event()
        self.peak = 0.0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self.before = self._house.service.resident()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        time.sleep(1.0)
        self.after = self._house.service.resident()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.peak = max(self.peak, self._house.service.resident())

    def __str__(self) -> str:
        return f"memory {self.before:.0f} MB before, {self.peak:.0f} at its peak, {self.after:.0f} one second after"


def long_text(console: Console, house: House, port: int, style: int) -> None:
    """One text of 653 characters, three times."""
    _, query = ask(port, "POST", "/audio_query", text=LONG, speaker=style)
    for attempt in ("first", "second", "third"):
        began = time.monotonic()
        with Memory(house) as memory:
            status, sound = ask(port, "POST", "/synthesis", json.loads(query), speaker=style)
            took = time.monotonic() - began
        console.print(
            f"{len(LONG)} characters, {attempt} time: status {status}, {len(sound) / 96_000:.0f} s of sound at 48 kHz "
            f"in {took:.1f} s; {memory}"
        )


def many_clients(console: Console, house: House, port: int, style: int, clients: int, seconds: float) -> None:
    """Clients at once, each with texts of its own, while alarms ring."""
    texts = [f"{number}番の客の文です。" + "あ" * (number % 17) for number in range(clients)]
    queries = [json.loads(ask(port, "POST", "/audio_query", text=text, speaker=style)[1]) for text in texts]
    sounds = [ask(port, "POST", "/synthesis", query, speaker=style)[1] for query in queries]
    times: list[float] = []
    counts = {"right": 0, "of another": 0, "refused": 0, "failed": 0}
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        while time.monotonic() < end:
            began = time.monotonic()
            status, sound = ask(port, "POST", "/synthesis", queries[number], speaker=style)
            if status == 503:
                counts["refused"] += 1
                time.sleep(random.random())
                continue
            times.append(time.monotonic() - began)
            counts["failed" if status != 200 else "right" if sound == sounds[number] else "of another"] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    with Memory(house) as memory:
        for thread in threads:
            thread.start()
        late = [ring(house, number) for number in range(max(1, int(seconds / ALARM_EVERY) - 1))]
        for thread in threads:
            thread.join()
    console.print(f"{clients} clients for {seconds:.0f} s: {counts}, median {statistics.median(times):.2f} s an answer")
    middle = statistics.median(late)
    console.print(f"{len(late)} alarms: first sample {min(late):.0f} to {max(late):.0f} ms late, median {middle:.0f}")
    console.print(str(memory))


def ring(house: House, number: int) -> float:
    """An alarm in a few seconds; how late its first sample was, in ms."""
    name = f"a{number}"
    due = (datetime.now().astimezone() + timedelta(seconds=ALARM_EVERY - 2)).replace(microsecond=0)
    keys = {"at": due.isoformat(), "text": f"{number}回目の目覚ましです。", "repeat_every": "2s"}
    house.publish(f"set/alarm/{name}", keys)

    def started() -> dict | None:
        events = house.listener.events if house.listener else []
        return next((e for e in events if e["event_type"] == "started" and str(e["id"]).startswith(f"{name}@")), None)

    late = float(wait_for(started, 30, f"alarm {name}")["late_ms"])
    house.publish("do/dismiss", "")
    return late


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", help="of the voice; default: the embedded one")
    parser.add_argument("--voice", help="its name at the source")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    console = Console(width=140)
    port = free_port()
    speaker = {"source": options.source or "openjtalk:mei", "seed": 1} | (
        {"name": options.voice} if options.voice else {}
    )
    config = {"audio": {"device": "null"}, "http": {"port": port, "max_waiting": 200}, "speakers": {"voice": speaker}}
    with tempfile.TemporaryDirectory() as folder, House(Path(folder), config, sound=False) as house:
        style = json.loads(ask(port, "GET", "/speakers")[1])[0]["styles"][0]["id"]
        ask(port, "POST", "/audio_query", text="準備。", speaker=style)
        long_text(console, house, port, style)
        many_clients(console, house, port, style, options.clients, options.seconds)


if __name__ == "__main__":
    main()
