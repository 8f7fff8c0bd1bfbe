"""The two ends of a connection to the broker inside the service, as amqtt reads and writes them.

amqtt 0.12 waits for ever for the rest of a packet, goes on in the middle of one that it refuses, and keeps whatever a
client does not fetch. So it is given whole packets of MQTT 3.1.1 that keep the rules, or the end of the connection; and
what it writes has a bound.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from amqtt.adapters import ReaderAdapter, WriterAdapter

MAX_PACKET = 4_194_304
"""Bytes of a packet, as the service takes them from any broker."""
_MAX_BEHIND = 16_777_216
"""Bytes that wait for a client that does not read."""
_GREETING = 10.0
"""Seconds for the first packet."""
_REST = 60.0
"""Seconds for the rest of a packet that has begun."""
_LINGER = 1.0
"""Seconds for what is still to be sent when a connection is closed."""

_CONNECT, _PUBLISH = 1, 3
_FLAGS = {1: 0, 4: 0, 5: 0, 6: 2, 7: 0, 8: 2, 10: 2, 12: 0, 14: 0}
"""Types of packets that a client may send beside PUBLISH, and their flags (MQTT 3.1.1, table 2.2)."""
_ACKNOWLEDGEMENTS = (4, 5, 6, 7)
_SUBSCRIBE, _UNSUBSCRIBE = 8, 10


class BrokenPacketError(Exception):
    """A packet that MQTT 3.1.1 does not allow here; the connection ends."""


class RefusedError(BrokenPacketError):
    """A CONNECT that is answered by a refusal.

    Attributes:
        answer: the CONNACK packet.
    """

    def __init__(self, reason: str, answer: bytes) -> None:
        super().__init__(reason)
        self.answer = answer


class PacketReader(ReaderAdapter):  # type: ignore[misc] # amqtt is an extra, without types here
    """Gives out whole, sound packets, and the end of the connection instead of anything else.

    Args:
        reader: of the connection.
        on_end: called with why, and what is to be answered, when it ends for another reason than the client's own.
    """

    def __init__(self, reader: asyncio.StreamReader, on_end: Callable[[str, bytes], None]) -> None:
        self._reader = reader
        # A client that goes without reading our answer resets its connection. asyncio would then drop what it has
        # received before: here that is read to its end.
        reader.set_exception = lambda _: reader.feed_eof()  # type: ignore[method-assign, assignment]
        self._on_end = on_end
        self._packet = b""
        self._at = 0
        self._patience: float | None = _GREETING
        self._greeted = False
        self._ended = False

    async def read(self, n: int = -1) -> bytes:
        """The next ``n`` bytes; they never reach over the end of a packet.

        Raises:
            asyncio.IncompleteReadError: the connection has ended.
        """
        if n == 0:
            return b""
        if self._at == len(self._packet) and not self._ended:
            # What the packet before asked for is done first: the end of a connection takes all that is not begun.
            await asyncio.sleep(0)
            await self._fetch()
        part = self._packet[self._at :] if n < 0 else self._packet[self._at : self._at + n]
        self._at += len(part)
        if self._ended or len(part) < n:
            raise asyncio.IncompleteReadError(part, n)
        return part

    def feed_eof(self) -> None:
        """Give out nothing more."""
        self._ended = True

    async def _fetch(self) -> None:
        try:
            self._packet = await self._whole_packet()
            self._at = 0
        except (asyncio.IncompleteReadError, OSError) as error:
            self._ended = True
            if isinstance(error, TimeoutError):
                self._on_end("says nothing any more" if self._greeted else "connects and says nothing", b"")
        except BrokenPacketError as error:
            self._ended = True
            self._on_end(str(error), error.answer if isinstance(error, RefusedError) else b"")

    async def _whole_packet(self) -> bytes:
        async with asyncio.timeout(self._patience):
            header = bytearray(await self._reader.readexactly(2))
        async with asyncio.timeout(_REST if self._greeted else _GREETING):
            while header[-1] & 0x80:
                if len(header) == 5:
                    raise BrokenPacketError("sends what is not MQTT")
                header += await self._reader.readexactly(1)
            length = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(header[1:]))
            if self._greeted == (header[0] >> 4 == _CONNECT):
                raise BrokenPacketError("sends what is not MQTT")
            if len(header) + length > MAX_PACKET:
                raise BrokenPacketError(f"sends a message of more than {MAX_PACKET} bytes")
            body = await self._reader.readexactly(length)
        if not self._greeted:
            body, keepalive = _greeting(header[0], body)
            self._patience = 1.5 * keepalive if keepalive else None  # [MQTT-3.1.2-24]
            self._greeted = True
        elif not _sound(header[0], body):
            raise BrokenPacketError("sends a packet that breaks the rules of MQTT 3.1.1")
        return bytes(header) + body


class BoundedWriter(WriterAdapter):  # type: ignore[misc] # as above
    """Never waits for the client: what it does not read waits here, and beyond a bound the connection ends.

    Args:
        writer: of the connection.
        on_end: called with why, when it ends.
    """

    def __init__(self, writer: asyncio.StreamWriter, on_end: Callable[[str], None]) -> None:
        self._transport = writer.transport
        self._on_end = on_end

    def write(self, data: bytes) -> None:
        """Send, or keep until the client reads; nothing once the connection is closing."""
        if self._transport.is_closing():
            return
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > _MAX_BEHIND:
            self._transport.abort()
            self._on_end("does not read what it subscribed to")

    async def drain(self) -> None:
        """Nothing to wait for: whoever waited for one client would keep others waiting."""

    def get_peer_info(self) -> tuple[str, int] | None:
        """Address and port of the client."""
        peer = self._transport.get_extra_info("peername")
        return (peer[0], peer[1]) if peer else None

    def get_ssl_info(self) -> ssl.SSLObject | None:
        """None: there is no TLS here."""
        return None

    async def close(self) -> None:
        """Close after what is still to be sent; not for long."""
        if not self._transport.is_closing():
            self._transport.close()
            asyncio.get_running_loop().call_later(_LINGER, self._transport.abort)


def _greeting(first: int, body: bytes) -> tuple[bytes, int]:
    """The body of a CONNECT packet with a clean session, and its keepalive in seconds.

    No session outlives its connection here: amqtt mixes up those that are taken over, and would keep messages without
    a bound. The flag says so to amqtt, and CONNACK to the client.
    """
    fields = _Fields(body)
    name, level, flags = fields.text(), fields.number(1), fields.number(1)
    keepalive_at = fields.at
    keepalive = fields.number(2)
    if name in ("MQTT", "MQIsdp") and level != 4:
        version = {3: "3.1", 5: "5"}.get(level, f"of level {level}")
        # A client of MQTT 5 expects its own form of CONNACK: reason code 0x84, and properties.
        answer = b"\x20\x03\x00\x84\x00" if level >= 5 else b"\x20\x02\x00\x01"
        raise RefusedError(f"speaks MQTT {version}; set it to MQTT 3.1.1, or use a broker that knows both", answer)
    client_id = fields.text()
    will, name_given, password_given = flags & 0x04, flags & 0x80, flags & 0x40
    topic = fields.text() if will else "-"
    for given in (will, name_given, password_given):
        if given:
            fields.data()
    bad_will = flags & 0x18 == 0x18 if will else bool(flags & 0x38)
    if name != "MQTT" or first & 0x0F or flags & 0x01 or bad_will or fields.left or not _is_topic(topic):
        raise BrokenPacketError("sends what is not MQTT")
    if not client_id and not flags & 0x02:
        raise RefusedError("wants a session without a client id", b"\x20\x02\x00\x02")  # [MQTT-3.1.3-8]
    at = keepalive_at - 1
    return body[:at] + bytes([flags | 0x02]) + body[at + 1 :], keepalive


def _sound(first: int, body: bytes) -> bool:
    """Whether a packet after CONNECT keeps the rules, so that amqtt reads it to its end and no further."""
    kind, flags = first >> 4, first & 0x0F
    try:
        fields = _Fields(body)
        if kind == _PUBLISH:
            qos = flags >> 1 & 3
            return _is_topic(fields.text()) and qos < 3 and (qos == 0 or fields.number(2) > 0)
        if flags != _FLAGS.get(kind):
            return False
        if kind in _ACKNOWLEDGEMENTS:
            return len(body) == 2
        if kind not in (_SUBSCRIBE, _UNSUBSCRIBE):
            return not body
        sound = fields.number(2) > 0 and bool(fields.left)
        while sound and fields.left:
            sound = bool(fields.text()) and (kind == _UNSUBSCRIBE or fields.number(1) < 3)
    except BrokenPacketError:
        return False
    return sound


def _is_topic(name: str) -> bool:
    return bool(name) and not any(sign in name for sign in "+#\0")


class _Fields:
    """Fields of a packet, one after the other; ``at`` is where the next one begins."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.at = 0

    @property
    def left(self) -> int:
        return len(self._body) - self.at

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size))

    def data(self) -> bytes:
        return self._take(self.number(2))

    def text(self) -> str:
        try:
            return self.data().decode("utf-8")
        except UnicodeDecodeError as error:
            raise BrokenPacketError("sends text that is not UTF-8") from error

    def _take(self, size: int) -> bytes:
        if self.left < size:
            raise BrokenPacketError("sends a packet that is cut short")
        self.at += size
        return self._body[self.at - size : self.at]
