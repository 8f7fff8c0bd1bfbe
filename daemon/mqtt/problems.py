"""Why there is no connection to the broker: one plain sentence for each cause, with what to do about it."""

from __future__ import annotations

import re
import socket
import ssl
from types import MappingProxyType

from paho.mqtt.client import WebsocketConnectionError

UNSUPPORTED_VERSION = 132
SESSION_TAKEN_OVER = 142
"""Reason codes of MQTT 5 (section 2.4)."""

_REFUSALS = MappingProxyType(
    {
        133: "it does not accept the client id {client_id!r}; set mqtt.client_id",
        134: "user name or password are wrong; correct mqtt.username and mqtt.password",
        135: "user name or password are wrong, or may not connect; correct mqtt.username and mqtt.password",
        136: "it is not available now",
        137: "it is busy",
        138: "this client is banned; ask who runs the broker",
        140: "it wants another way of authentication than user name and password",
        149: "the packet was too large for it",
        151: "its quota is used up",
        156: "it asks to use another broker; change mqtt.url",
        157: "it has moved to another address; change mqtt.url",
        159: "it limits how often clients may connect",
    }
)

# X509_V_ERR_… of OpenSSL's x509_vfy.h
_CERTIFICATE = MappingProxyType(
    {
        9: "its certificate is not valid yet; is this machine's clock right?",
        10: "its certificate has expired; renew the broker's certificate (or correct this machine's clock)",
        18: "its certificate is self-signed; name it, or the authority that signed it, in mqtt.tls.ca",
        19: "its certificate is signed by an authority that is not trusted here; name that authority in mqtt.tls.ca",
        20: "its certificate is signed by an authority that is not trusted here; name that authority in mqtt.tls.ca",
        21: "its certificate is signed by an authority that is not trusted here; name that authority in mqtt.tls.ca",
        62: "its certificate is for another host name; use that name in mqtt.url",
        64: "its certificate is not for this IP address; use the host name of the certificate in mqtt.url",
    }
)

# Parts of the names that OpenSSL gives to errors and alerts; their beginnings differ between versions.
_TLS = (
    ("WRONG_VERSION_NUMBER", "it does not speak TLS on this port; use mqtt:// (ws://), or its port for TLS"),
    ("HTTP_REQUEST", "it does not speak TLS on this port; use mqtt:// (ws://), or its port for TLS"),
    ("UNSUPPORTED_PROTOCOL", "it has no version of TLS that is allowed here; let the broker use TLS 1.2 or 1.3"),
    ("PROTOCOL_VERSION", "it refuses our versions of TLS; let the broker use TLS 1.2 or 1.3"),
    ("CERTIFICATE_REQUIRED", "it wants a client certificate; set mqtt.tls.certificate and mqtt.tls.key"),
    ("CERTIFICATE_EXPIRED", "our client certificate has expired; renew mqtt.tls.certificate"),
    ("UNKNOWN_CA", "it does not trust the authority that signed our client certificate, mqtt.tls.certificate"),
    ("BAD_CERTIFICATE", "it refuses our client certificate, mqtt.tls.certificate"),
    ("CERTIFICATE_UNKNOWN", "it refuses our client certificate, mqtt.tls.certificate"),
    ("CERTIFICATE_REVOKED", "our client certificate was revoked; renew mqtt.tls.certificate"),
    (
        "HANDSHAKE_FAILURE",
        "it and we have no cipher in common, or it wants a client certificate (mqtt.tls.certificate)",
    ),
)


def connection_failure(error: BaseException | None, address: object, *, tls: bool = False) -> str:
    """Why no connection came about.

    Args:
        error: what opening it raised; None when that is not known.
        address: of the broker, as it is to be named.
        tls: whether an encrypted connection was tried.
    """
    match error:
        case None:
            return f"no connection to the broker at {address}"
        case ConnectionResetError() | ssl.SSLEOFError() if tls:
            why = "it hangs up on TLS; does it speak TLS on this port? use mqtt:// (ws://), or its port for TLS"
        case ssl.SSLCertVerificationError():
            why = _CERTIFICATE.get(error.verify_code, f"its certificate is refused, {error.verify_message}")
        case ssl.SSLError():
            why = tls_failure(str(error)) or f"TLS fails, {error.reason or error}"
        case socket.gaierror():
            why = f"its name cannot be resolved ({error.strerror}); check mqtt.url and the name server"
        case ConnectionRefusedError():
            why = "nothing listens there; is the broker running, and is the port right?"
        case TimeoutError():
            why = "it does not answer in time"
        case WebsocketConnectionError():
            why = f"it does not speak MQTT over WebSockets on this path ({error}); check mqtt.url"
        case OSError():
            why = error.strerror or str(error)
        case _:
            why = f"a defect, {error!r}"
    return f"no connection to the broker at {address}: {why}"


def tls_failure(text: str) -> str | None:
    """What an error or alert of OpenSSL means, where its text names a known one."""
    name = re.search(r"\[(?:SSL|X509)[^\]]*: ([A-Z0-9_/]+)\]|([A-Z0-9]+_ALERT_[A-Z_]+)", text)
    if name is None:
        return None
    word = name[1] or name[2]
    return next((sentence for part, sentence in _TLS if part in word), None)


def refusal(code: int, name: str, address: object, client_id: str) -> str:
    """What a broker means that answers a connection with a reason code of MQTT 5; paho maps those of 3.1.1 to them."""
    why = _REFUSALS.get(code, f"{name} (reason code {code})").format(client_id=client_id)
    return f"the broker at {address} refuses the connection: {why}"


def twin(client_id: str, *, certain: bool, who: str | None = None) -> str:
    """Two clients with one id end each other's connections; where nobody says so one has to guess."""
    if certain:
        name = f" ({who[:80]!r})" if who else ""
        what = f"another client{name} came with the client id {client_id!r} and took over the session"
    else:
        what = f"connections last only moments: perhaps another client has the client id {client_id!r} too"
    return f"{what}; give each service its own node or mqtt.client_id"
