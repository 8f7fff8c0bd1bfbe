"""Payloads as strangers send them: a committed corpus, and what random changes make of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

CORPUS = {
    path.stem: path.read_bytes() for path in sorted((Path(__file__).parents[1] / "daemon" / "payloads").glob("*.bin"))
}

COMMANDS = (
    "announce",
    "announce",
    "announce",
    "do/stop",
    "do/replay",
    "do/release",
    "do/none",
    "set/volume",
    "set/mute",
    "set/quiet",
    "set/a/b/c",
)
_PIECES = (
    b'{"text":',
    b'"id":',
    b"}",
    b"]",
    b"[",
    b"{",
    b'"',
    b"\\",
    b",",
    b"NaN",
    b"1e999",
    b"\xff",
    b"\x00",
    b"\xf0\x9f",
)


def payloads(count: int, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Pairs of a command (the last part of a topic) and a payload: the whole corpus first, then changed ones."""
    dice = random.Random(seed)
    known = list(CORPUS.values())
    for number in range(count):
        command = dice.choice(COMMANDS)
        payload = known[number] if number < len(known) else _changed(dice.choice(known), known, dice)
        yield command, payload


def _changed(payload: bytes, known: list[bytes], dice: random.Random) -> bytes:
    data = bytearray(payload[: dice.choice((50, 400, 20_000))])
    for _ in range(dice.randint(1, 6)):
        at = dice.randint(0, len(data))
        match dice.randrange(6):
            case 0:
                data[at:at] = dice.choice(_PIECES)
            case 1 if data:
                data[at % len(data)] ^= 1 << dice.randrange(8)
            case 2:
                del data[at : at + dice.randint(1, 8)]
            case 3:
                data[at:at] = dice.choice(known)[: dice.randint(1, 60)]
            case 4:
                data[at:at] = bytes(dice.randrange(256) for _ in range(dice.randint(1, 12)))
            case _:
                data = data[:at]
    return bytes(data)
