"""Announcements through a connection with random faults, and what became of each by the service's own journal."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.system.house import House, sender, wait_for
from tests.system.proxy import Proxy

_LINE = re.compile(r"^(\d\d:\d\d:\d\d) \w+ +announcement: .*")


@dataclass
class Outcome:
    """What was sent and what became of it.

    Attributes:
        faults: kinds of faults, with how often.
        sent: how many announcements the broker accepted.
        said: how many were said.
        expired: how many the service reported as expired.
        withheld: how many expired at the broker, by the MQTT 5 property.
        lost: that were to be said and were not.
        doubled: that were said more than once.
        stale: that were said although the moment in their text was past.
        unseen: that were said late because the broker did not tell that they expire: mosquitto leaves the property of
            MQTT 5 out in the last second of a message (it sends no expiry of 0), and a queue may be in between.
        redelivered: messages that the broker sent again and that were recognised.
        connections: how often the service connected.
    """

    faults: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    said: int = 0
    expired: int = 0
    withheld: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    redelivered: int = 0
    connections: int = 0


def run_with_faults(folder: Path, seconds: float, seed: int, *, pause: float = 1.0, calm: float = 1.5) -> Outcome:
    """Send announcements for so long while faults happen, then wait until all have ended."""
    config = {"audio": {"device": "null"}, "announcements": {"max_queue": 5000, "defaults": {"expires_in": "1h"}}}
    house = House(folder, config, sound=False)
    proxy = Proxy(house.mosquitto.port)
    house.service.config["mqtt"]["url"] = f"mqtt://127.0.0.1:{proxy.port}"
    outcome = Outcome()
    try:
        with house:
            faults: list[str] = []
            thread = threading.Thread(
                target=lambda: faults.extend(proxy.random_faults(seconds, seed, calm)), name="ThreadPoolExecutor-faults"
            )
            thread.start()
            sent = _send(house, thread, pause)
            thread.join()
            outcome.faults, outcome.sent = dict(Counter(faults)), len(sent)
            _wait_for_the_end(house, sent)
            time.sleep(2)  # whatever would come a second time
            _judge(house, sent, outcome)
    finally:
        proxy.close()
    return outcome


@dataclass(frozen=True)
class _Sent:
    text: str
    kind: str
    expires: float | None


def _send(house: House, thread: threading.Thread, pause: float) -> list[_Sent]:
    """One announcement after another, straight to the broker: with an id, as plain text, and two that expire."""
    sent: list[_Sent] = []
    with sender(house.mosquitto.port) as client:
        while thread.is_alive():
            number = len(sent)
            kind = ("id", "plain", "id", "plain", "expires_at", "property")[number % 6]
            text, properties, expires = f"{number}番。", None, None
            body = text
            if kind == "expires_at":
                expires = time.time() + 2.0
                body = json.dumps({"text": text, "expires_at": expires})
            elif kind == "property":
                expires = time.time() + 2.0
                properties = Properties(PacketTypes.PUBLISH)
                properties.MessageExpiryInterval = 2
            elif kind == "id":
                body = json.dumps({"text": text, "id": f"n{number}"})
            client.publish(f"{house.base}/announce", body, 1, properties=properties).wait_for_publish(5)
            sent.append(_Sent(text, kind, expires))
            time.sleep(pause)
    return sent


def _wait_for_the_end(house: House, sent: list[_Sent]):
    lasting = [item.text for item in sent if item.expires is None]

    def all_said():
        said = {text for _, text, _ in _journal(house.service.log)}
        return all(text in said for text in lasting)

    try:
        wait_for(all_said, 150, "the end of all announcements")
    except AssertionError:
        pass  # what is missing is counted


def _journal(log: str) -> list[tuple[float, str, str]]:
    """Second of the day, text and outcome of each announcement that has ended."""
    ended = []
    for line in log.splitlines():
        if _LINE.match(line) and (text := re.search(r"(\d+番。)", line)):
            hours, minutes, seconds = (int(part) for part in line[:8].split(":"))
            ended.append((hours * 3600 + minutes * 60 + seconds, text[1], re.search(r"outcome=(\w+)", line)[1]))
    return ended


def _judge(house: House, sent: list[_Sent], outcome: Outcome):
    ended = _journal(house.service.log)
    said = Counter(text for _, text, how in ended if how == "finished")
    when = {text: second for second, text, how in ended if how == "finished"}
    expired = {text for _, text, how in ended if how == "expired"}
    outcome.said, outcome.expired = sum(said.values()), len(expired)
    for item in sent:
        if said[item.text] > 1:
            outcome.doubled.append(item.text)
        if item.expires is None:
            if not said[item.text]:
                outcome.lost.append(item.text)
        elif not said[item.text]:
            outcome.withheld += item.text not in expired
        else:
            local = time.localtime(item.expires)
            limit = local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec
            # The journal tells the second of the end, and the announcement itself takes about one and a half.
            if when[item.text] > limit + 4:
                (outcome.stale if item.kind == "expires_at" else outcome.unseen).append(item.text)
    health = json.loads(house.listener.of("health")[-1])["mqtt"]
    outcome.redelivered = health["redelivered"]
    outcome.connections = house.service.log.count("connected to the broker")
