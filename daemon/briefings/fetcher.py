"""The network as sections see it: bounded in time, size, type and target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from daemon.errors import SectionError


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer.

    Attributes:
        body: at most as large as was allowed.
        content_type: without parameters, in lower case.
        charset: as the server named it, or None.
    """

    body: bytes
    content_type: str
    charset: str | None = None


class Fetcher(Protocol):
    """Gets what lies under an address."""

    async def get(
        self,
        url: str,
        *,
        accept: tuple[str, ...],
        limit: int,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Fetch.

        Args:
            url: http or https; may hold a secret, which no message will repeat.
            accept: content types that are taken, such as ``application/json`` or ``text/*``.
            limit: most bytes of the body after decompression.
            headers: sent along, not to another host after a redirect.

        Raises:
            SectionError: no good answer; the message names the host and the reason.
        """


class NoFetcher:
    """The network of a house that has none."""

    async def get(
        self, url: str, *, accept: tuple[str, ...], limit: int, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Nothing.

        Raises:
            SectionError: always.
        """
        del url, accept, limit, headers
        message = "there is no way to the network"
        raise SectionError(message)


@runtime_checkable
class WebDavFetcher(Fetcher, Protocol):
    """A fetcher that can also ask with other methods than GET: for CalDAV."""

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
        """As :meth:`Fetcher.get`, with a method such as PROPFIND.

        A redirect keeps the method and the ``content``, the body of the request.

        Raises:
            SectionError: as for ``get``.
        """
