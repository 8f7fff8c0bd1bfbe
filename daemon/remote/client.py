"""Speakers whose sentences are made on another node. To the renderer they are speakers like any other.

While the other node is away, says nothing for too long or cannot do it, they are not there, and the renderer takes its
substitute: the embedded voice. A node that fell silent is asked again when it shows itself, or after a while.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from daemon.clock import Clock
from daemon.mqtt.messages import Incoming
from daemon.remote.protocol import (
    ANSWER,
    MAX_SECONDS,
    REQUEST,
    VOICES,
    Header,
    VoiceFacts,
    Voices,
    joined,
    parse_answer,
    parse_voices,
)
from daemon.remote.server import Publish
from engine import EngineError, Speaker, SpeechOptions, Spoken, VoiceNotAvailableError
from engine.text import Sentence, TextPipeline
from engine.voices.base import Rendered

_log = logging.getLogger("asagoe.remote")

SULK = 60.0
"""Seconds for which a node that fell silent is not asked again, unless it shows itself."""
REFUSED = 5.0
"""Seconds for which a node that refused a sentence is not asked again: the embedded voice has to have its turn."""
LONGEST = 90.0
"""Seconds that a sentence may take, however often the other node says that it is at work."""
_AVAILABLE = "online"


@dataclass(frozen=True, slots=True)
class RemoteSpeaker:
    """A speaker of the configuration that another node speaks.

    Attributes:
        node: that renders.
        speaker: its name there; None for that node's default.
        options: the speaker's own speech options.
    """

    node: str
    speaker: str | None
    options: Mapping[str, Any]


@dataclass(slots=True)
class _Asked:
    """A sentence that is being made elsewhere."""

    node: str
    future: concurrent.futures.Future[Spoken]
    pieces: list[bytes] = field(default_factory=list)
    samples: int = 0
    timer: asyncio.TimerHandle | None = None


class RemoteVoice:
    """A voice, as the engine knows them, that has another node do the work."""

    family = "node"

    def __init__(self, client: RemoteRenderer, node: str, name: str, facts: VoiceFacts) -> None:
        self._client = client
        self._node = node
        self._name = name
        self.sample_rate = facts.rate
        self.styles = facts.styles
        self.options = frozenset(facts.options) & SpeechOptions.__dataclass_fields__.keys() - {"style", "volume"}
        self.fingerprint = f"node {node} speaker {name} {facts.revision}"

    def check(self, options: SpeechOptions) -> None:
        """The other node checks."""

    def synthesize(self, sentence: Sentence, options: SpeechOptions) -> Rendered:
        """Ask for a sentence and wait for it; in a thread of the renderer.

        Raises:
            VoiceNotAvailableError: it does not come.
        """
        wanted = {name: value for name, value in options.given().items() if name != "volume"}
        spoken = self._client.fetch(self._node, self._name, sentence.text, wanted)
        return Rendered(spoken.audio)

    def memory(self) -> int:
        """Nothing is held here."""
        return 0

    def close(self) -> None:
        """Nothing is held here."""


class RemoteRenderer:
    """Has sentences made by other nodes.

    Args:
        base: first part of all topics.
        node: this node's name.
        publish: sends requests.
        connected: whether messages get through.
        configured: speakers that others speak, by name.
        text: the pipeline that cuts texts into sentences.
        clock: of the time for which a silent node is left alone.
        timeout: seconds for which a node may be silent.
        on_change: called when speakers come or go.
    """

    def __init__(
        self,
        *,
        base: str,
        node: str,
        publish: Publish,
        connected: Callable[[], bool],
        configured: Mapping[str, RemoteSpeaker],
        text: TextPipeline,
        clock: Clock,
        timeout: float,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._base = base
        self._node = node
        self._publish = publish
        self._connected = connected
        self._configured = dict(configured)
        self._text = text
        self._clock = clock
        self._timeout = timeout
        self.on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._speakers: dict[str, Speaker] = {}
        self._reasons: dict[str, str] = {}
        self._voices: dict[str, Voices] = {}
        self._online: dict[str, bool] = {}
        self._silent_until: dict[str, float] = {}
        self._asked: dict[str, _Asked] = {}
        self._closed = False

    @property
    def topics(self) -> list[str]:
        """What has to be subscribed to; means something only now (QoS 0)."""
        nodes = sorted({item.node for item in self._configured.values()})
        about = [f"{self._base}/{node}/{name}" for node in nodes for name in (VOICES, "availability")]
        return [*about, f"{self._base}/{self._node}/{ANSWER}"] if nodes else []

    def listen(self, to: Callable[..., None]) -> None:
        """Register with whoever hands out messages (see ``Gateway.listen``)."""
        for node in {item.node for item in self._configured.values()}:
            to(f"{self._base}/{node}/{VOICES}", self._heard_voices(node), retained=True)
            to(f"{self._base}/{node}/availability", self._heard_availability(node), retained=True)
        if self._configured:
            to(f"{self._base}/{self._node}/{ANSWER}", self._heard_answer)

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """Those that can speak now. Safe to ask from any thread."""
        return {name: speaker for name, speaker in list(self._speakers.items()) if self._obstacle(name) is None}

    @property
    def problems(self) -> Mapping[str, str]:
        """Why the others cannot."""
        problems = ((name, self._obstacle(name)) for name in self._configured)
        return {name: problem for name, problem in problems if problem is not None}

    def on_connection(self, up: bool) -> None:
        """The way to the other nodes opened or closed."""
        if not up:
            for request_id in list(self._asked):
                self._fail(request_id, "the connection to the broker broke", sulk=0.0)

    def close(self) -> None:
        """End what is waited for: nobody will answer any more."""
        self._closed = True
        for request_id in list(self._asked):
            self._fail(request_id, "the service stops", sulk=0.0)

    def fetch(self, node: str, speaker: str, text: str, options: Mapping[str, Any]) -> Spoken:
        """Have a sentence made; called in a thread, waits.

        Raises:
            VoiceNotAvailableError: the node is silent, refuses, or sends what cannot be used.
        """
        future: concurrent.futures.Future[Spoken] = concurrent.futures.Future()
        request: dict[str, Any] = {"id": secrets.token_hex(8), "node": self._node, "speaker": speaker, "text": text}
        request |= {"options": dict(options), "patience": self._timeout}
        try:
            self._loop.call_soon_threadsafe(self._ask, node, request, future)
            return future.result(LONGEST)
        except TimeoutError as error:
            message = f"node {node} took longer than {LONGEST:g} s for a sentence"
            raise VoiceNotAvailableError(message) from error
        except RuntimeError as error:
            message = "the service stops"
            raise VoiceNotAvailableError(message) from error

    # On the event loop.

    def _ask(self, node: str, request: dict[str, Any], future: concurrent.futures.Future[Spoken]) -> None:
        request_id = request["id"]
        self._asked[request_id] = _Asked(node, future)
        if self._closed or not self._connected():
            self._fail(request_id, "there is no connection to the broker", sulk=0.0)
            return
        self._watch(request_id)
        self._publish(f"{self._base}/{node}/{REQUEST}", json.dumps(request, ensure_ascii=False), qos=0)

    def _watch(self, request_id: str) -> None:
        asked = self._asked[request_id]
        if asked.timer is not None:
            asked.timer.cancel()
        reason = f"it said nothing for {self._timeout:g} s"
        asked.timer = self._loop.call_later(self._timeout, self._fail, request_id, reason)

    def _heard_answer(self, message: Incoming) -> None:
        header, data = parse_answer(message.payload)
        asked = self._asked.get(header.id)
        if asked is None:
            return  # it was given up
        self._watch(header.id)
        if header.kind == "error":
            self._fail(header.id, header.reason or "it refuses", sulk=REFUSED)
        elif header.kind == "sound":
            self._collect(asked, header, data)

    def _collect(self, asked: _Asked, header: Header, data: bytes) -> None:
        asked.samples += header.samples
        if header.seq != len(asked.pieces) or asked.samples > MAX_SECONDS * header.rate:
            self._fail(header.id, "its pieces of sound do not fit together")
            return
        asked.pieces.append(data)
        if header.last:
            self._end(header.id)
            if not asked.future.done():
                asked.future.set_result(joined(asked.pieces, header.rate, header.pause))

    def _end(self, request_id: str) -> _Asked:
        asked = self._asked.pop(request_id)
        if asked.timer is not None:
            asked.timer.cancel()
        return asked

    def _fail(self, request_id: str, reason: str, *, sulk: float = SULK) -> None:
        asked = self._end(request_id)
        if sulk:
            self._silent_until[asked.node] = self._clock.monotonic() + sulk
            _log.warning("node %s does not make our speech: %s; the embedded voice speaks", asked.node, reason)
            self.on_change()
        if not asked.future.done():
            asked.future.set_exception(VoiceNotAvailableError(f"node {asked.node}: {reason}"))

    def _heard_voices(self, node: str) -> Callable[[Incoming], None]:
        def heard(message: Incoming) -> None:
            self._voices[node] = parse_voices(message.payload)
            self._silent_until.pop(node, None)
            self._build(node)
            self.on_change()

        return heard

    def _heard_availability(self, node: str) -> Callable[[Incoming], None]:
        def heard(message: Incoming) -> None:
            before, now = self._online.get(node), message.payload == _AVAILABLE.encode()
            self._online[node] = now
            if now and not message.retained:
                self._silent_until.pop(node, None)
            if before != now:
                self.on_change()

        return heard

    def _build(self, node: str) -> None:
        """Make the speakers of a node anew: their voice, or what it can do, may have changed."""
        voices = self._voices[node]
        for name, item in self._configured.items():
            if item.node != node:
                continue
            self._speakers.pop(name, None)
            there = item.speaker or voices.default
            facts = voices.speakers.get(there) if there else None
            if facts is None or there is None:
                has = ", ".join(voices.speakers) or "none"
                self._reasons[name] = f"node {node} renders no speaker {there or 'by itself'}; it has {has}"
                continue
            voice = RemoteVoice(self, node, there, facts)
            try:
                options = {k: v for k, v in item.options.items() if k in voice.options or k in ("style", "volume")}
                self._speakers[name] = Speaker(name, voice, self._text, SpeechOptions.of(options))
            except EngineError as error:
                self._reasons[name] = str(error)

    def _obstacle(self, name: str) -> str | None:
        item = self._configured[name]
        if not self._connected():
            return "there is no connection to the broker"
        if item.node not in self._voices:
            return f"node {item.node} has not said yet what it renders"
        if not self._online.get(item.node, False):
            return f"node {item.node} is not online"
        if self._silent_until.get(item.node, 0.0) > self._clock.monotonic():
            return f"node {item.node} did not answer"
        return None if name in self._speakers else self._reasons.get(name, "it cannot be had")
