"""Unpacking while bytes arrive: the same whatever the pieces, and never more than the limit."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest

from daemon.briefings.unpacking import BrokenError, TooLargeError, Unpacker


def unpack(encoding, data, limit, sizes):
    unpacker = Unpacker(encoding, limit)
    while data:
        size = next(sizes)
        unpacker.feed(data[:size])
        data = data[size:]
    return unpacker.body()


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate", "raw deflate"])
def test_the_pieces_do_not_matter(encoding):
    rng = random.Random(5)
    packs = {"gzip": gzip.compress, "deflate": zlib.compress, "raw deflate": lambda data: zlib.compress(data)[2:-4]}
    pack = packs.get(encoding, bytes)
    encoding = encoding.removeprefix("raw ")
    for _ in range(30):
        text = rng.randbytes(rng.randrange(200)) * rng.randrange(1, 60)
        sizes = iter(lambda rng=rng: rng.randrange(1, 400), None)
        assert unpack(encoding, pack(text), len(text), sizes) == text


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_byte_beyond_the_limit_is_too_much(encoding):
    pack = gzip.compress if encoding else bytes
    assert unpack(encoding, pack(bytes(500)), 500, iter(lambda: 7, None)) == bytes(500)
    with pytest.raises(TooLargeError):
        unpack(encoding, pack(bytes(501)), 500, iter(lambda: 7, None))


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:20], lambda d: b"\x1f\x8b" + d[5:], lambda d: d + b"\x1f"]
)
def test_damage_is_seen(damage):
    packed = damage(gzip.compress(random.Random(1).randbytes(300)))
    with pytest.raises(BrokenError):
        unpack("gzip", packed, 1000, iter(lambda: 50, None))


def test_an_empty_body_is_empty():
    assert Unpacker("gzip", 10).body() == b""
