"""Unpacks an answer while it arrives, and stops before it grows too large: a small file can hold gigabytes."""

from __future__ import annotations

import zlib

ENCODINGS = "gzip, deflate"
_ANY_HEADER = 47  # zlib: a header of gzip or of zlib
_NO_HEADER = -15  # zlib: neither; some servers understand `deflate` so


class TooLargeError(Exception):
    """More bytes than were allowed."""


class BrokenError(Exception):
    """Not what the encoding promises."""


class Unpacker:
    """Collects a body.

    Args:
        encoding: the header Content-Encoding; one layer of gzip or deflate, or none.
        limit: most bytes, unpacked.

    Raises:
        BrokenError: another encoding.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self._packed = encoding.strip().lower() not in {"", "identity"}
        if self._packed and encoding.strip().lower() not in {"gzip", "x-gzip", "deflate"}:
            # Several layers multiply what a bomb can hold; nobody asked for them.
            raise BrokenError
        self._limit = limit
        self._body = bytearray()
        self._stream: zlib._Decompress | None = None
        self._started = False
        self._held = b""  # a first byte, of which the kind cannot be told yet

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the wire.

        Raises:
            TooLargeError: the limit is passed; no more than a byte beyond it was unpacked.
            BrokenError: damaged.
        """
        if not self._packed:
            self._add(chunk)
            return
        chunk = self._held + chunk
        self._held = b""
        if not self._started and len(chunk) < 2:
            self._held = chunk
            return
        while chunk:
            if self._stream is None:
                self._stream = zlib.decompressobj(self._kind(chunk))
            self._started = True
            room = self._limit + 1 - len(self._body)
            try:
                self._add(self._stream.decompress(chunk, room))
            except zlib.error as error:
                raise BrokenError from error
            # A file of gzip may have several members, one after the other.
            chunk = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if self._stream.eof:
                self._stream = None

    def body(self) -> bytes:
        """All of it.

        Raises:
            BrokenError: it ends in the middle.
        """
        if self._packed and (self._stream is not None or self._held):
            raise BrokenError
        return bytes(self._body)

    def _add(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > self._limit:
            raise TooLargeError

    def _kind(self, chunk: bytes) -> int:
        if self._started:  # a further member, of gzip
            return _ANY_HEADER
        zlib_like = chunk[0] & 0x0F == 8 and int.from_bytes(chunk[:2]) % 31 == 0
        return _ANY_HEADER if zlib_like or chunk[0] == 0x1F else _NO_HEADER
