"""Reads calendars of a CalDAV server (RFC 4791): finds them, and asks for what lies within some days."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

from daemon.briefings.clean import clean
from daemon.briefings.fetcher import Fetcher, WebDavFetcher
from daemon.briefings.sections.ics import LIMIT
from daemon.errors import SectionError

if TYPE_CHECKING:
    from daemon.briefings.sections.calendar import CalDavSettings

_DAV = "{DAV:}"
_CAL = "{urn:ietf:params:xml:ns:caldav}"
_ACCEPT = ("application/xml", "text/xml")
_MOST_CALENDARS = 20
_LIST = (
    '<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop>'
    "<D:resourcetype/><D:displayname/><D:current-user-principal/><C:calendar-home-set/>"
    "<C:supported-calendar-component-set/></D:prop></D:propfind>"
)
_QUERY = (
    '<?xml version="1.0" encoding="utf-8"?><C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">'
    '<D:prop><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">'
    '<C:time-range start="{start}" end="{end}"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>'
)


@dataclass(frozen=True, slots=True)
class _Resource:
    url: str
    name: str
    is_calendar: bool
    home: str | None
    principal: str | None


class CalDav:
    """Calendars of a server.

    Args:
        settings: where it is, and who asks.
    """

    def __init__(self, settings: CalDavSettings) -> None:
        self._settings = settings
        self._host = urlsplit(settings.url).hostname or "the CalDAV server"

    async def read(self, first: date, last: date, zone: ZoneInfo, fetcher: Fetcher) -> list[bytes]:
        """Get iCalendar texts that hold what takes place from ``first`` to ``last``, and maybe more.

        Raises:
            SectionError: no calendar is found, or the server refuses.
        """
        if not isinstance(fetcher, WebDavFetcher):
            raise SectionError(f"{self._host}: this fetcher cannot ask CalDAV servers")
        headers = self._headers()
        # Times without a zone and all-day events are compared in UTC by servers: a day more on both sides.
        start = datetime.combine(first - timedelta(days=1), time(), zone).astimezone(UTC)
        end = datetime.combine(last + timedelta(days=2), time(), zone).astimezone(UTC)
        query = _QUERY.format(start=f"{start:%Y%m%dT%H%M%SZ}", end=f"{end:%Y%m%dT%H%M%SZ}")
        texts: list[bytes] = []
        size = 0
        for url in await self._calendars(fetcher, headers):
            root = await self._ask(fetcher, "REPORT", url, query, {**headers, "Depth": "1"})
            for data in root.iter(f"{_CAL}calendar-data"):
                texts.append((data.text or "").encode())
                size += len(texts[-1])
            if size > LIMIT:
                raise SectionError(f"{self._host}: the calendars are larger than {LIMIT / 1e6:g} MB")
        return texts

    def _headers(self) -> dict[str, str]:
        settings = self._settings
        headers = {"Content-Type": "application/xml; charset=utf-8"}
        if settings.user is not None:
            try:
                password = settings.password.reveal() if settings.password is not None else ""
            except ValueError as error:
                raise SectionError(str(error)) from None
            pair = base64.b64encode(f"{settings.user}:{password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers

    async def _calendars(self, fetcher: WebDavFetcher, headers: dict[str, str]) -> list[str]:
        """Addresses of the calendars that are wanted: the one given, those below it, or those of the user's home."""
        url, seen = self._settings.url, set[str]()
        known: list[str] = []
        while url not in seen and len(seen) < 4:  # address, principal, home
            seen.add(url)
            found = await self._list(fetcher, url, headers)
            calendars = [resource for resource in found if resource.is_calendar]
            known += [resource.name for resource in calendars]
            wanted = [resource.url for resource in calendars if self._settings.calendar in {None, resource.name}]
            if wanted:
                return wanted[:_MOST_CALENDARS]
            onward = [link for resource in found for link in (resource.home, resource.principal) if link]
            url = next((link for link in onward if link not in seen), url)
        if known:
            names = ", ".join(clean(name, 40) for name in known)
            raise SectionError(f"{self._host}: there is no calendar {self._settings.calendar!r}; there are {names}")
        raise SectionError(f"{self._host}: no calendar is found at this address; give the address of a calendar")

    async def _list(self, fetcher: WebDavFetcher, url: str, headers: dict[str, str]) -> list[_Resource]:
        root = await self._ask(fetcher, "PROPFIND", url, _LIST, {**headers, "Depth": "1"})
        return list(self._resources(root, url))

    def _resources(self, root: ET.Element, base: str) -> Iterator[_Resource]:
        for response in root.iter(f"{_DAV}response"):
            kinds = response.find(f".//{_DAV}resourcetype")
            components = {part.get("name", "VEVENT") for part in response.iter(f"{_CAL}comp")} or {"VEVENT"}
            is_calendar = kinds is not None and kinds.find(f"{_CAL}calendar") is not None and "VEVENT" in components
            yield _Resource(
                self._join(base, response.findtext(f"{_DAV}href", "")),
                response.findtext(f".//{_DAV}displayname") or "",
                is_calendar,
                self._link(base, response.findtext(f".//{_CAL}calendar-home-set/{_DAV}href")),
                self._link(base, response.findtext(f".//{_DAV}current-user-principal/{_DAV}href")),
            )

    def _link(self, base: str, href: str | None) -> str | None:
        return self._join(base, href) if href and href.strip() else None

    def _join(self, base: str, href: str) -> str:
        """An address that a server names; never on another host, which would get the password."""
        try:
            url = urljoin(base, href.strip())
            if urlsplit(url)[:2] == urlsplit(base)[:2]:
                return url
        except ValueError:
            pass
        raise SectionError(
            f"{self._host}: names calendars on another host, which would get the password; give their own address"
        )

    async def _ask(
        self, fetcher: WebDavFetcher, method: str, url: str, body: str, headers: dict[str, str]
    ) -> ET.Element:
        answer = await fetcher.request(method, url, accept=_ACCEPT, limit=LIMIT, headers=headers, content=body.encode())
        try:
            text = answer.body.decode("utf-8-sig")
            if "<!DOCTYPE" in text:  # entities grow; no server of CalDAV needs them
                raise SectionError(f"{self._host}: the answer is no list of calendars")
            return ET.fromstring(text)  # noqa: S314 - without a document type there are no entities
        except (UnicodeDecodeError, ET.ParseError, RecursionError, ValueError):
            raise SectionError(f"{self._host}: the answer is no list of calendars") from None
