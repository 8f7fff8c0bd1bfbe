"""From the configuration to the address of the broker."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from daemon.config import MqttConfig
from daemon.errors import UnavailableError

_PORTS = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the broker is, and how to get in.

    Attributes:
        host: name or address.
        port: TCP port.
        tls: context for an encrypted connection, or None.
        username: or None.
        password: or None.
        path: of the WebSocket, such as ``/mqtt``; None for plain TCP.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    path: str | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def broker_address(mqtt: MqttConfig) -> Address:
    """Where the broker is.

    Raises:
        UnavailableError: a certificate or the password cannot be read.
    """
    if mqtt.embedded:
        return Address(mqtt.bind, mqtt.port)
    parts = urlsplit(str(mqtt.url))
    context = _context(mqtt) if parts.scheme in ("mqtts", "wss") else None
    try:
        password = mqtt.password.reveal() if mqtt.password else None
    except ValueError as error:
        message = f"mqtt.password: {error}"
        raise UnavailableError(message) from error
    path = (parts.path.rstrip("/") or "/mqtt") if parts.scheme in ("ws", "wss") else None
    port = parts.port or _PORTS[parts.scheme]
    return Address(str(parts.hostname), port, context, mqtt.username or parts.username, password, path)


def _context(mqtt: MqttConfig) -> ssl.SSLContext:
    tls = mqtt.tls
    try:
        context = ssl.create_default_context(cafile=tls.ca if tls else None)
        if tls and tls.certificate:
            # Without an answer to it OpenSSL would ask on the terminal for the password of an encrypted key.
            context.load_cert_chain(tls.certificate, tls.key, password=_no_password)
    except (OSError, ValueError) as error:
        message = f"mqtt.tls: a certificate or its key cannot be read ({error})"
        raise UnavailableError(message) from error
    return context


def _no_password() -> str:
    message = "the key is encrypted; give one that is not, readable by the service alone"
    raise ValueError(message)
