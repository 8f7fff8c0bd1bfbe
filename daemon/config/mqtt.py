"""Keys of `mqtt`."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from daemon.config.base import Model
from daemon.config.values import Duration, Secret


class TlsConfig(Model):
    """TLS towards the broker; the system's certificates are used unless `ca` names others."""

    ca: str | None = Field(default=None, description="file of certificates that may sign the broker's")
    certificate: str | None = Field(default=None, description="client certificate")
    key: str | None = Field(default=None, description="key of the client certificate")

    @model_validator(mode="after")
    def _pair(self) -> TlsConfig:
        if (self.certificate is None) != (self.key is None):
            message = "certificate and key go together"
            raise ValueError(message)
        return self


class MqttConfig(Model):
    """The broker."""

    url: str | None = Field(
        default=None,
        description="mqtt://HOST:PORT or mqtts://HOST:PORT; without it a broker is started inside the service",
    )
    broker: Literal["embedded", "none"] | None = Field(
        default=None, description="`embedded` starts a broker inside the service, `none` does without MQTT"
    )
    bind: str = Field(default="127.0.0.1", description="address of the embedded broker")
    port: int = Field(default=1883, ge=1, le=65535, description="port of the embedded broker")
    client_id: str | None = Field(default=None, max_length=64, description="default: asagoe-NODE")
    username: str | None = None
    password: Secret | None = Field(default=None, description="text, or {credential: NAME}, {file: PATH}, {env: NAME}")
    tls: TlsConfig | None = None
    base_topic: str = Field(
        default="asagoe", pattern=r"^[^+#\s/]+(/[^+#\s/]+)*$", description="first part of all topics"
    )
    keepalive: Duration = Field(default=30.0, description="how soon a dead connection is noticed")

    @field_validator("keepalive")
    @classmethod
    def _keepalive_range(cls, value: float) -> float:
        if not 5 <= value <= 1200:
            message = "a duration from 5s to 20m is expected"
            raise ValueError(message)
        return value

    @field_validator("url")
    @classmethod
    def _url_form(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        try:
            bad = parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or parts.path.strip("/")
            _ = parts.port
        except ValueError:
            bad = True
        if bad:
            message = "mqtt://HOST:PORT or mqtts://HOST:PORT is expected"
            raise ValueError(message)
        if parts.password:
            message = "the password does not belong into the address; use the key password"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _one_broker(self) -> MqttConfig:
        if self.url and self.broker:
            message = "url and broker exclude each other: a broker elsewhere, or one of our own"
            raise ValueError(message)
        return self

    @property
    def embedded(self) -> bool:
        """Whether the broker runs inside the service."""
        return not self.url and self.broker != "none"
