"""From the configuration to the address of the broker."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from daemon.config import MqttConfig
from daemon.errors import UnavailableError
from daemon.mqtt.broker import Address


def broker_address(mqtt: MqttConfig) -> Address:
    """Where the broker is.

    Raises:
        UnavailableError: a certificate cannot be read.
    """
    if mqtt.embedded:
        return Address(mqtt.bind, mqtt.port)
    parts = urlsplit(str(mqtt.url))
    context = None
    if parts.scheme == "mqtts":
        tls = mqtt.tls
        try:
            context = ssl.create_default_context(cafile=tls.ca if tls else None)
            if tls and tls.certificate:
                context.load_cert_chain(tls.certificate, tls.key)
        except OSError as error:
            message = f"mqtt.tls: a certificate cannot be read ({error})"
            raise UnavailableError(message) from error
    port = parts.port or (8883 if context else 1883)
    password = mqtt.password.reveal() if mqtt.password else None
    return Address(str(parts.hostname), port, context, mqtt.username or parts.username, password)
