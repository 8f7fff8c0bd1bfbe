"""The topics of Hermes, the protocol of Rhasspy: ``hermes/tts/say`` in, ``sayFinished`` and errors out.

Keys that are not ours to honour (``lang`` among them) are ignored, as the protocol wants it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from daemon import events
from daemon.announcement import Announcement, new_id
from daemon.clock import Clock
from daemon.config import AnnouncementsConfig
from daemon.errors import RequestError
from daemon.events import Event
from daemon.mqtt.messages import Incoming
from daemon.mqtt.payloads import AnnounceMessage, announcement_of
from daemon.mqtt.strict import decode, has_half_pair, parse_json

SAY = "hermes/tts/say"
FINISHED = "hermes/tts/sayFinished"
ERROR = "hermes/error/tts"
DEFAULT_SITE = "default"
"""The ``siteId`` of a message that names none."""

_LONGEST_ID = 256


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who waits for an answer, in the sender's own words."""

    site: str
    id: str | None
    session: str | None

    def answer(self, **more: str | None) -> str:
        body = {"siteId": self.site, "sessionId": self.session} | more
        return json.dumps(body, ensure_ascii=False)


class Hermes:
    """Says what ``hermes/tts/say`` asks for, and answers when it was said.

    Args:
        submit: hands an announcement on.
        publish: with topic and payload; answers are not retained.
        sites: values of ``siteId`` that mean this node.
        settings: of announcements, asked for each message.
        clock: for receiving times.
        zone: of local times.
        second_encoding: tried where a payload is not UTF-8.
    """

    def __init__(
        self,
        *,
        submit: Callable[[Announcement], object],
        publish: Callable[[str, str], None],
        sites: Sequence[str],
        settings: Callable[[], AnnouncementsConfig],
        clock: Clock,
        zone: ZoneInfo,
        second_encoding: str | None = None,
    ) -> None:
        self._submit = submit
        self._publish = publish
        self._sites = frozenset(sites)
        self._settings = settings
        self._clock = clock
        self._zone = zone
        self._second_encoding = second_encoding
        self._waiting: dict[str, _Asked] = {}

    def on_message(self, message: Incoming) -> None:
        """Carry out a message; what is wrong with it is answered as an error of the protocol."""
        asked = _Asked(DEFAULT_SITE, None, None)
        try:
            body = _body(decode(message.payload, self._settings().max_payload, self._second_encoding))
            asked = _Asked(_text(body, "siteId") or DEFAULT_SITE, _text(body, "id"), _text(body, "sessionId"))
            if asked.site not in self._sites:
                return
            self._say(body, asked, message.expires_in)
        except RequestError as error:
            if asked.site in self._sites:
                self._publish(ERROR, asked.answer(error=str(error), context=asked.id))

    def on_event(self, event: Event) -> None:
        """Answer when an announcement of ours has ended."""
        if event.type not in events.TERMINAL or event.id not in self._waiting:
            return
        asked = self._waiting.pop(event.id)
        if event.type == events.FINISHED:
            self._publish(FINISHED, asked.answer(id=asked.id))
        else:
            self._publish(ERROR, asked.answer(error=f"{event.type}: {event.reason}", context=asked.id))

    def _say(self, body: dict[str, Any], asked: _Asked, expires_in: float | None) -> None:
        text = body.get("text")
        if not isinstance(text, str) or has_half_pair(text):
            message = "text: text is expected"
            raise RequestError(message)
        if not text.strip():
            self._publish(FINISHED, asked.answer(id=asked.id))
            return
        # Dialogue managers may use an id again: inside the service it has a name of its own.
        request = AnnounceMessage(text=text, id=f"hermes-{new_id()}", volume=_volume(body))
        announcement = announcement_of(
            request,
            self._settings(),
            origin="hermes",
            now=self._clock.now(),
            monotonic=self._clock.monotonic(),
            zone=self._zone,
        )
        if expires_in is not None:
            announcement = replace(announcement, max_wait=expires_in, default_wait=False)
        self._waiting[announcement.id] = asked
        self._submit(announcement)


def _body(text: str) -> dict[str, Any]:
    body = parse_json(text)
    if not isinstance(body, dict):
        message = "a JSON object with the key text is expected"
        raise RequestError(message)
    return body


def _text(body: dict[str, Any], key: str) -> str | None:
    value = body.get(key)
    if value is not None and not (isinstance(value, str) and len(value) <= _LONGEST_ID and not has_half_pair(value)):
        message = f"{key}: text of at most {_LONGEST_ID} characters is expected"
        raise RequestError(message)
    return value


def _volume(body: dict[str, Any]) -> int | None:
    """From 0 to 1, as an amplitude, to our perceptual 0 to 100."""
    value = body.get("volume")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        message = "volume: a number from 0 to 1 is expected"
        raise RequestError(message)
    return round(100 * math.sqrt(value))
