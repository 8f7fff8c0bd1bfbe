"""What two nodes say to each other about speech: what there is, a sentence to make, and its sound in pieces.

============================== ========== =========================================================================
topic                          direction  payload
============================== ========== =========================================================================
``<base>/<big>/render/voices`` out, kept  JSON: the speakers that the node renders for others
``<base>/<big>/render/request`` in        JSON: one sentence
``<base>/<small>/render/answer`` in       a line of JSON; for sound, 16-bit samples (little-endian, mono) follow it
============================== ========== =========================================================================

An answer goes to the topic of the node that asked, whose name is an identifier: no request can choose a topic. Requests
and answers are sent at QoS 0: what does not come at once is worth nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daemon.config.values import Identifier
from daemon.errors import RequestError
from daemon.mqtt.strict import decode, has_half_pair, parse_json
from engine import Audio, Spoken

VOICES, REQUEST, ANSWER = "render/voices", "render/request", "render/answer"

MAX_REQUEST = 32_768
MAX_VOICES = 262_144
"""Bytes of a message."""
MAX_PIECE = 120_000
"""Samples in one answer."""
MAX_SECONDS = 120.0
"""Of sound for one sentence."""

_Token = Annotated[str, Field(pattern=r"^[0-9a-f]{8,64}$")]
_Rate = Annotated[int, Field(ge=8_000, le=192_000)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


_M = TypeVar("_M", bound=_Message)


class VoiceFacts(_Message):
    """A speaker that a node renders for others.

    Attributes:
        rate: of its sound, in Hz.
        styles: of the voice, the neutral one first.
        options: names of the speech options that it honours.
        revision: another one, and the same sentence may sound otherwise.
    """

    rate: _Rate
    styles: tuple[Annotated[str, Field(max_length=100)], ...] = Field(min_length=1, max_length=500)
    options: tuple[Annotated[str, Field(max_length=40)], ...] = Field(default=(), max_length=40)
    revision: str = Field(max_length=128)


class Voices(_Message):
    """All speakers that a node renders for others, and the one that it takes by itself."""

    default: str | None = None
    speakers: dict[Identifier, VoiceFacts] = Field(default={}, max_length=200)


class Request(_Message):
    """One sentence that is to be made.

    Attributes:
        id: of the request; answers carry it.
        node: that asks.
        speaker: at the node that is asked.
        text: of the sentence.
        options: speech options.
        patience: seconds of silence after which the asking node gives up.
    """

    id: _Token
    node: Identifier
    speaker: Identifier
    text: str = Field(min_length=1, max_length=4000)
    options: dict[Annotated[str, Field(max_length=40)], str | float | int] = Field(default={}, max_length=40)
    patience: float = Field(default=3.0, ge=0.1, le=60)


class Header(_Message):
    """The line before the samples.

    Attributes:
        id: of the request.
        kind: ``working`` (it takes a moment), ``sound``, or ``error``.
        seq: of the pieces of sound, from 0.
        last: whether no piece follows.
        rate: in Hz.
        samples: in this piece.
        crc: CRC-32 of its bytes.
        pause: seconds of silence that follow the sentence.
        reason: of an error.
    """

    id: _Token
    kind: Literal["working", "sound", "error"]
    seq: int = Field(default=0, ge=0, le=10_000)
    last: bool = False
    rate: _Rate = 24_000
    samples: int = Field(default=0, ge=0, le=MAX_PIECE)
    crc: int = 0
    pause: float = Field(default=0.0, ge=0, le=10)
    reason: str | None = Field(default=None, max_length=500)


def parse_voices(payload: bytes) -> Voices:
    """Read what a node renders; an empty payload is a node that renders nothing.

    Raises:
        RequestError: it is not that.
    """
    return _read(Voices, payload, MAX_VOICES) if payload else Voices()


def parse_request(payload: bytes) -> Request:
    """Read a request.

    Raises:
        RequestError: it is none.
    """
    request = _read(Request, payload, MAX_REQUEST)
    if has_half_pair(request.text):
        message = "text: half of a surrogate pair is no character"
        raise RequestError(message)
    return request


def answers_of(request_id: str, spoken: list[Spoken]) -> Iterator[bytes]:
    """A sentence's sound as messages, in order. What was cut in several is joined with its pauses."""
    rate = spoken[0].audio.sample_rate
    parts = []
    for index, item in enumerate(spoken):
        parts.append(item.audio.resampled(rate).pcm16)
        if index < len(spoken) - 1:
            parts.append(np.zeros(round(item.pause * rate), np.int16))
    samples = np.concatenate(parts).astype("<i2")
    starts = range(0, max(1, len(samples)), MAX_PIECE)
    for seq, start in enumerate(starts):
        data = samples[start : start + MAX_PIECE].tobytes()
        header: dict[str, Any] = {"id": request_id, "kind": "sound", "seq": seq, "last": seq == len(starts) - 1}
        header |= {"rate": rate, "samples": len(data) // 2, "crc": zlib.crc32(data), "pause": spoken[-1].pause}
        yield json.dumps(header).encode() + b"\n" + data


def working(request_id: str) -> bytes:
    """The answer that says that the sound is being made."""
    return json.dumps({"id": request_id, "kind": "working"}).encode()


def refused(request_id: str, reason: str) -> bytes:
    """The answer that no sound will come."""
    return json.dumps({"id": request_id, "kind": "error", "reason": reason[:400]}).encode()


def parse_answer(payload: bytes) -> tuple[Header, bytes]:
    """Read an answer: its header and the bytes of its samples.

    Raises:
        RequestError: it is damaged.
    """
    line, _, data = payload.partition(b"\n")
    header = _read(Header, line, 2048)
    if len(data) != 2 * header.samples or (header.kind == "sound" and zlib.crc32(data) != header.crc):
        message = "an answer with sound is damaged"
        raise RequestError(message)
    return header, data


def joined(pieces: list[bytes], rate: int, pause: float) -> Spoken:
    """The sound of all pieces."""
    samples = np.frombuffer(b"".join(pieces), "<i2").astype(np.float32) / 32767.0
    return Spoken(Audio(samples, rate), pause)


def _read(model: type[_M], payload: bytes, limit: int) -> _M:
    body = parse_json(decode(payload, limit))
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        message = f"{'.'.join(str(part) for part in first['loc']) or 'message'}: {first['msg']}"
        raise RequestError(message) from error
