"""What stands before every request: who may ask, from which page, and how much.

A page in a browser can send requests to any address, this one among them. Three things keep foreign pages out: the
name under which the server was asked must be one of this machine's (else a page could lead its own name here, DNS
rebinding); a request that a browser sends for a page tells its origin, which must be this server's or a configured one;
and no foreign page is allowed to read an answer (CORS).
"""

from __future__ import annotations

import hmac
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from daemon.config.http import HttpConfig
from daemon.http.page import PATHS
from daemon.http.problems import problem

_OPEN = frozenset({"/health", *PATHS})
"""Paths that need no token: the page's files, and `/health`, which without it tells only that the service is there."""
_READS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may ask.

    Attributes:
        token: that requests must bring; None for none.
        origins: pages that may ask, besides the server's own.
        hosts: names of this machine.
        max_body: bytes.
    """

    token: str | None
    origins: frozenset[str]
    hosts: frozenset[str]
    max_body: int

    @classmethod
    def of(cls, config: HttpConfig) -> Rules:
        """The rules of a configuration."""
        own = socket.gethostname().lower()
        short = own.partition(".")[0]
        hosts = {
            "localhost",
            own,
            short,
            f"{short}.local",
            config.bind.lower(),
            *(name.lower() for name in config.hosts),
        }
        token = None if config.token is None else config.token.reveal()
        return cls(token, frozenset(config.origins), frozenset(hosts), config.max_body)

    def knows_host(self, header: str) -> bool:
        """Whether the Host header names this machine. Addresses do: only a name can be led astray."""
        match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/\s]+)(?::\d{1,5})?", header)
        if match is None:
            return False
        name = match[1].strip("[]").lower().removesuffix(".")
        try:
            ip_address(name)
        except ValueError:
            return name in self.hosts
        return True

    def allows_origin(self, origin: str, host: str) -> bool:
        """Whether a page may ask: it is configured, or comes from the address that is asked."""
        return origin in self.origins or (origin != "null" and urlsplit(origin).netloc.lower() == host.lower())

    def allows_token(self, authorization: str) -> bool:
        """Whether a request brings the token."""
        if self.token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode("utf-8", "replace"), self.token.encode()
        )

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Status and sentence for a request that is not let in; None for one that is."""
        host = headers.get("host", "")
        if not self.knows_host(host):
            return HTTPStatus.MISDIRECTED_REQUEST, "this machine is not known under that name; see http.hosts"
        origin = headers.get("origin")
        if origin is not None and not self.allows_origin(origin, host):
            return HTTPStatus.FORBIDDEN, "pages of that origin may not use this server; see http.origins"
        foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if origin is None and foreign and not (method in _READS and headers.get("sec-fetch-mode") == "navigate"):
            return HTTPStatus.FORBIDDEN, "other pages may not use this server; see http.origins"
        if path not in _OPEN and method != "OPTIONS" and not self.allows_token(headers.get("authorization", "")):
            return HTTPStatus.UNAUTHORIZED, "send the token of http.token: Authorization: Bearer …"
        return None


class _TooLargeError(Exception):
    """The body is larger than it may be."""


class Guard:
    """Lets through what the rules allow. An ASGI middleware.

    Args:
        app: what is guarded.
        rules: see there.
    """

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSocket is served, and an upgrade would slip past the origin's check
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._rules.refusal(scope["method"], scope["path"], headers)
        length = headers.get("content-length", "0")
        if refused is None and (
            not length.isascii() or not length.isdigit() or int(length[:20]) > self._rules.max_body
        ):
            refused = self._too_large()
        if refused is not None:
            status, detail = refused
            extra = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
            await problem(scope["path"], status, detail, {**extra, "Connection": "close"})(scope, receive, send)
            return
        await self._bounded(scope, receive, send)

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0
        answered = False

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._rules.max_body:
                raise _TooLargeError
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = True
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_SAFE]}
            await send(message)

        try:
            await self._app(scope, counted, noted)
        except _TooLargeError:
            if not answered:
                status, detail = self._too_large()
                await problem(scope["path"], status, detail, {"Connection": "close"})(scope, receive, send)

    def _too_large(self) -> tuple[int, str]:
        return (
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body may have {self._rules.max_body:,} bytes; see http.max_body",
        )


_SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
