"""Which hosts and addresses a briefing may reach: the public network, and of the house only what was configured."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host and port, in the order in which they should be tried. Raises OSError when there is none."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")  # RFC 8215; older Pythons call it global
# Top-level names that never lead out of a house: RFC 6761, 6762, 8375, and what routers hand out.
_LOCAL_DOMAINS = ("localhost", "local", "home.arpa", "internal", "lan", "home", "localdomain", "intranet", "private")


async def resolve(host: str, port: int) -> list[str]:
    """Ask the system's resolver.

    Raises:
        OSError: no address.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def names_the_house(host: str) -> bool:
    """Whether a host, as it is written, lies in the house: a private address, ``localhost``, ``nas``, ``nas.local``."""
    literal = parse_address(host)
    if literal is not None:
        return not is_public(literal)
    name = host.lower().rstrip(".")
    return "." not in name or any(name.endswith(f".{domain}") for domain in _LOCAL_DOMAINS)


def parse_address(text: str) -> _Address | None:
    """An address from its text, with or without brackets and zone; None for a name."""
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_public(address: _Address) -> bool:
    """Whether an address lies outside: not private, loopback, link-local, shared (RFC 6598), multicast or reserved.

    An IPv6 address that carries an IPv4 address (mapped, 6to4, Teredo, NAT64) is as public as that one.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address in _LOCAL_NAT64:
            return False
        inner = _carried(address)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None
