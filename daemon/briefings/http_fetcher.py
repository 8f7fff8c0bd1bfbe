"""Fetches for the sections of a briefing: bounded in time, size, type and target, and silent about secrets."""

from __future__ import annotations

import asyncio
import base64
import logging
import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import TYPE_CHECKING

from daemon.briefings.addresses import Resolver, is_public, names_the_house, parse_address, resolve
from daemon.briefings.fetcher import Answer
from daemon.briefings.unpacking import ENCODINGS, BrokenError, TooLargeError, Unpacker
from daemon.errors import SectionError

if TYPE_CHECKING:
    import httpx2

REDIRECTS = 3
_REDIRECTIONS = {301, 302, 303, 307, 308}
_ADDRESSES = 4  # of one host that are tried
_GOOD = {HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION, HTTPStatus.MULTI_STATUS}


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds.

    Attributes:
        connect: for one address, with TLS.
        read: without a byte.
        total: for everything, redirects included.
    """

    connect: float = 5.0
    read: float = 10.0
    total: float = 20.0


@dataclass(frozen=True, slots=True)
class _Step:
    """One request of a chain of redirects."""

    method: str
    url: httpx2.URL
    headers: Mapping[str, str]
    content: bytes | None
    private: bool  # whether the house may be reached


class HttpFetcher:
    """Gets what lies under an address.

    Only the public network is reached, by addresses that were checked after the name was resolved and to which the
    connection is then made, so that a name cannot change its mind in between. An address that itself names a host of
    the house (``http://192.168.1.5/``, ``http://nas.local/``) may be fetched; a redirect from outside may not lead
    there. Proxies of the environment and .netrc are not used.

    Args:
        version: of Asagoe, for the header User-Agent.
        patience: how long is waited.
        house: gives further names that may lead into the house, for those who have names of their own domain there.
        resolver: of names.
        trust: certificates; default: the system's.
    """

    def __init__(
        self,
        version: str,
        *,
        patience: Patience | None = None,
        house: Callable[[], Iterable[str]] = tuple,
        resolver: Resolver = resolve,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._agent = f"Asagoe/{version}"
        self._patience = patience or Patience()
        self._house = house
        self._resolver = resolver
        self._trust = trust

    async def get(
        self, url: str, *, accept: tuple[str, ...], limit: int, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Fetch; see :class:`daemon.briefings.fetcher.Fetcher`.

        Raises:
            SectionError: no good answer; the message names the host and the reason, never path, query or user.
        """
        return await self.request("GET", url, accept=accept, limit=limit, headers=headers)

    async def request(
        self,
        method: str,
        url: str,
        *,
        accept: tuple[str, ...],
        limit: int,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        """Ask with another method; see :class:`daemon.briefings.fetcher.WebDavFetcher`.

        Raises:
            SectionError: as for :meth:`get`.
        """
        step = self._first(method, url, headers or {}, content)
        try:
            async with asyncio.timeout(self._patience.total):
                for _ in range(REDIRECTS + 1):
                    found = await self._ask(step, accept, limit)
                    if isinstance(found, Answer):
                        return found
                    step = found
        except TimeoutError:
            raise SectionError(f"{step.url.host}: not answered within {self._patience.total:g} s") from None
        raise SectionError(f"{step.url.host}: redirects more than {REDIRECTS} times")

    def _first(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None) -> _Step:
        import httpx2  # noqa: PLC0415 - 60 ms that only briefings need

        try:
            parsed = httpx2.URL(url.strip())
        except (httpx2.InvalidURL, UnicodeError):
            parsed = httpx2.URL()
        if not _is_address(parsed):
            raise SectionError("the address is not one of http or https")
        own = dict(headers)
        if parsed.username or parsed.password:
            pair = f"{parsed.username}:{parsed.password}".encode()
            own["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        return _Step(method, _without_user(parsed), own, content, self._in_house(parsed.host))

    def _in_house(self, host: str) -> bool:
        own = {name.lower().rstrip(".") for name in self._house()}
        return host.lower().rstrip(".") in own or names_the_house(host)

    async def _ask(self, step: _Step, accept: tuple[str, ...], limit: int) -> Answer | _Step:
        import httpx2  # noqa: PLC0415 - see above

        # Requests of httpcore are logged at DEBUG with their targets.
        logging.getLogger("httpcore2").setLevel(logging.WARNING)
        host = step.url.host
        if self._trust is None and step.url.scheme == "https":
            self._trust = await asyncio.to_thread(httpx2.create_ssl_context)
        trouble = "no address answers"
        for address in await self._addresses(step):
            # A transport of its own for each request: connections are kept by address, and one that was verified for
            # another host of the same address must not be used for this one.
            transport = httpx2.AsyncHTTPTransport(
                verify=self._trust or False, trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0)
            )
            async with transport:
                try:
                    response = await transport.handle_async_request(self._request(step, address, accept))
                    try:
                        return await self._read(step, response, accept, limit)
                    finally:
                        await response.aclose()
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    trouble = _connection_trouble(error)
                    if trouble.startswith("its certificate"):
                        break
                except httpx2.ReadTimeout:
                    raise SectionError(f"{host}: silent for {self._patience.read:g} s") from None
                except (httpx2.TransportError, ssl.SSLError, OSError) as error:
                    raise SectionError(f"{host}: the connection broke off ({type(error).__name__})") from None
        raise SectionError(f"{host}: {trouble}")

    async def _addresses(self, step: _Step) -> list[str]:
        host = step.url.host
        port = step.url.port or (443 if step.url.scheme == "https" else 80)
        literal = parse_address(host)
        try:
            found = [str(literal)] if literal is not None else await self._resolver(host, port)
        except (OSError, UnicodeError):
            raise SectionError(f"{host}: the name has no address now (no network, or a wrong name)") from None
        if not step.private:
            found = [text for text in found if (address := parse_address(text)) is not None and is_public(address)]
            if not found:
                raise SectionError(
                    f"{host}: leads into a private network, which is refused; an address that names a host of the "
                    "house itself, such as http://192.168.1.5/ or http://nas.local/, may be given"
                )
        return found[:_ADDRESSES]

    def _request(self, step: _Step, address: str, accept: tuple[str, ...]) -> httpx2.Request:
        import httpx2  # noqa: PLC0415 - see above

        patience = self._patience
        timeouts = httpx2.Timeout(patience.read, connect=patience.connect, pool=patience.connect)
        headers = {
            "Host": step.url.netloc.decode("ascii"),
            "User-Agent": self._agent,
            "Accept": ", ".join(accept),
            "Accept-Encoding": ENCODINGS,
            "Connection": "close",
            **step.headers,
        }
        # The connection is made to the checked address; SNI and the certificate's check go by the name.
        extensions = {"timeout": timeouts.as_dict(), "sni_hostname": step.url.raw_host.decode("ascii").strip("[]")}
        target = step.url.copy_with(host=address)
        return httpx2.Request(step.method, target, headers=headers, content=step.content, extensions=extensions)

    async def _read(
        self, step: _Step, response: httpx2.Response, accept: tuple[str, ...], limit: int
    ) -> Answer | _Step:
        host = step.url.host
        if response.status_code in _REDIRECTIONS:
            return self._redirected(step, response.headers.get("Location", ""))
        if response.status_code not in _GOOD:
            raise SectionError(f"{host}: answers {response.status_code}{_phrase(response.status_code)}")
        kind, charset = _content_type(response.headers.get("Content-Type", ""))
        if not any(fnmatchcase(kind, pattern.lower()) for pattern in accept):
            raise SectionError(f"{host}: sends {_short(kind)}, but {' or '.join(accept)} is expected")
        length = response.headers.get("Content-Length", "")
        too_large = SectionError(f"{host}: the answer is larger than {limit / 1e6:g} MB")
        if length.isascii() and length.isdigit() and int(length[:19]) > limit:
            raise too_large
        broken = SectionError(f"{host}: the answer is damaged, or packed in an unknown way")
        try:
            unpacker = Unpacker(response.headers.get("Content-Encoding", ""), limit)
            async for chunk in response.aiter_raw():
                unpacker.feed(chunk)
            return Answer(unpacker.body(), kind, charset)
        except TooLargeError:
            raise too_large from None
        except BrokenError:
            raise broken from None

    def _redirected(self, step: _Step, location: str) -> _Step:
        import httpx2  # noqa: PLC0415 - see above

        host = step.url.host
        try:
            target = step.url.join(location) if location else None
        except (httpx2.InvalidURL, UnicodeError):
            target = None
        if target is None or not _is_address(target):
            raise SectionError(f"{host}: redirects to something that is no address of http or https")
        if step.url.scheme == "https" and target.scheme == "http":
            raise SectionError(f"{host}: redirects from https to http, which is refused")
        target = _without_user(target)
        headers = step.headers if _same_place(step.url, target) else {}
        return _Step(step.method, target, headers, step.content, step.private and self._in_house(target.host))


def _without_user(url: httpx2.URL) -> httpx2.URL:
    return url.copy_with(username=None, password=None, fragment=None)


def _is_address(url: httpx2.URL) -> bool:
    host = url.raw_host.decode("ascii")
    named = re.fullmatch(r"[A-Za-z0-9._-]{1,255}", host) is not None or parse_address(host) is not None
    return url.scheme in {"http", "https"} and named and (url.port is None or 0 < url.port < 65536)


def _same_place(url: httpx2.URL, target: httpx2.URL) -> bool:
    """Whether credentials may go along: the same host and port, or its change from http to https."""
    if url.host != target.host:
        return False
    upgraded = url.scheme == "http" and target.scheme == "https" and url.port is None and target.port is None
    return upgraded or (url.scheme == target.scheme and url.port == target.port)


def _content_type(header: str) -> tuple[str, str | None]:
    """The type in lower case, and the charset; RFC 9110 8.3: what names no type may be taken for any."""
    kind, *parameters = header.split(";")
    charset = None
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "charset":
            charset = value.strip().strip("\"'").lower() or None
    return kind.strip().lower() or "application/octet-stream", charset


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _short(text: str) -> str:
    return "".join(letter for letter in text[:60] if letter.isascii() and letter.isprintable()) or "an unknown type"


def _connection_trouble(error: BaseException) -> str:
    """Why no connection came about, in words; nothing of the address is repeated."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"its certificate is refused ({link.verify_message})"
        if isinstance(link, ssl.SSLError):
            return "TLS cannot be agreed upon"
        if isinstance(link, ConnectionRefusedError):
            return "refuses the connection"
        if isinstance(link, TimeoutError):
            return "cannot be reached in time"
        link = link.__cause__ or link.__context__
    return "cannot be reached"
