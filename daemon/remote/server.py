"""Makes sentences for other nodes, with this node's own speakers only: a request never travels on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from daemon.mqtt.messages import Incoming
from daemon.remote.protocol import ANSWER, VOICES, Request, answers_of, parse_request, refused, working
from daemon.renderer import EMBEDDED, Renderer
from daemon.service.tasks import Background
from engine import EngineError, Speaker

_log = logging.getLogger("asagoe.remote")

MOST = 8
"""So many requests are worked on or wait at a time; one more is refused."""


class Publish(Protocol):
    """Sends a message."""

    def __call__(self, topic: str, payload: str | bytes, *, retain: bool = False, qos: int = 1) -> None:
        """Publish, or drop what cannot be sent now at QoS 0."""


class RenderServer:
    """Answers requests of other nodes.

    Args:
        base: first part of all topics.
        node: this node's name.
        publish: sends answers.
        renderer: makes the sentences, behind what this node itself is waiting for.
        speakers: this node's own, those that are ready.
        default: name of the speaker that announcements without one have.
    """

    def __init__(
        self,
        *,
        base: str,
        node: str,
        publish: Publish,
        renderer: Renderer,
        speakers: Callable[[], Mapping[str, Speaker]],
        default: Callable[[], str],
    ) -> None:
        self._base = base
        self._node = node
        self._publish = publish
        self._renderer = renderer
        self._speakers = speakers
        self._default = default
        self._background = Background()
        self._working = 0

    def publish_voices(self) -> None:
        """Tell other nodes, retained, what can be had here; off the loop, as revisions take planning."""
        self._background.start(self._publish_voices(), "voices for other nodes")

    def on_message(self, message: Incoming) -> None:
        """Work on a request.

        Raises:
            RequestError: it is none: there is nobody to answer.
        """
        request = parse_request(message.payload)
        if self._working >= MOST:
            self._answer(request, refused(request.id, f"{self._node} is busy with {MOST} requests"))
            return
        self._working += 1
        self._background.start(self._work(request), f"render for {request.node}")

    async def _work(self, request: Request) -> None:
        telling = asyncio.create_task(self._tell_working(request))
        try:
            spoken = [
                item async for item in self._renderer.render_for_another(request.speaker, request.text, request.options)
            ]
        except EngineError as error:
            _log.info("a sentence for %s cannot be made: %s", request.node, error)
            self._answer(request, refused(request.id, str(error)))
        else:
            for answer in answers_of(request.id, spoken):
                self._answer(request, answer)
        finally:
            telling.cancel()
            self._working -= 1

    async def _tell_working(self, request: Request) -> None:
        while True:
            self._answer(request, working(request.id))
            await asyncio.sleep(request.patience / 3)

    def _answer(self, request: Request, payload: bytes) -> None:
        self._publish(f"{self._base}/{request.node}/{ANSWER}", payload, qos=0)

    async def _publish_voices(self) -> None:
        try:
            body = await asyncio.to_thread(self._facts)
        except EngineError as error:  # a speaker was unloaded meanwhile: its change is told again
            _log.debug("voices for other nodes: %s", error)
            return
        self._publish(f"{self._base}/{self._node}/{VOICES}", json.dumps(body, ensure_ascii=False), retain=True)

    def _facts(self) -> dict[str, Any]:
        own = {name: speaker for name, speaker in self._speakers().items() if name != EMBEDDED}
        default = self._default()
        facts = {
            name: {
                "rate": speaker.sample_rate,
                "styles": list(speaker.styles),
                "options": sorted(speaker.options),
                # The key of a sentence changes with the voice, the dictionary and the speaker's own options.
                "revision": speaker.plan("はい。").segments[0].key,
            }
            for name, speaker in own.items()
        }
        return {"default": default if default in own else next(iter(own), None), "speakers": facts}
