"""Keys of `mqtt`."""

from __future__ import annotations

import codecs
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from daemon.config.base import Model
from daemon.config.values import Duration, Secret

_NO_TEXT = ("unicode_escape", "raw_unicode_escape", "idna", "punycode", "undefined")
_URL_HELP = "mqtt://HOST:PORT, mqtts://HOST:PORT (TLS), or by WebSockets ws://HOST:PORT/PATH, wss://HOST:PORT/PATH"


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


_TOPIC = r"^[^+#\s/]+(/[^+#\s/]+)*$"


class DiscoveryConfig(Model):
    """What Home Assistant is told, so that it finds this node by itself."""

    enabled: bool | None = Field(
        default=None,
        description="default: when `url` names a broker; false removes the device from Home Assistant",
    )
    prefix: str = Field(default="homeassistant", pattern=_TOPIC, description="as in Home Assistant's MQTT settings")
    birth_topic: str = Field(
        default="homeassistant/status", pattern=_TOPIC, description="where Home Assistant says that it has started"
    )
    birth_payload: str = Field(default="online", min_length=1, max_length=200, description="what it says then")
    locale: Literal["ja", "en"] = Field(default="ja", description="language of the entities' names")
    optional_platforms: list[Literal["time", "datetime", "siren", "update", "event", "notify"]] = Field(
        default=["time", "datetime"],
        description="kinds of entities on topics of their own: a Home Assistant that does not know one of them would "
        "refuse the whole device otherwise",
    )


class MqttConfig(Model):
    """The broker."""

    url: str | None = Field(
        default=None,
        description=f"{_URL_HELP}; without it a broker is started inside the service",
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
    second_encoding: str | None = Field(
        default=None,
        description="how payloads are read that are not UTF-8, for example cp932; default: they are refused",
    )
    hermes: bool = Field(default=True, description="also understand hermes/tts/say, the topic of Rhasspy and Hermes")
    hermes_sites: list[str] = Field(
        default=["default"],
        max_length=64,
        description="values of siteId that this node answers to, besides its name, its groups and `all`",
    )
    render_timeout: Duration = Field(
        default=3.0,
        description="how long another node that renders for this one may be silent before the embedded voice speaks",
    )
    render_for_others: bool = Field(
        default=True, description="make the speech of nodes that name this one in render_on or in a speaker's source"
    )
    base_topic: str = Field(default="asagoe", pattern=_TOPIC, description="first part of all topics")
    discovery: DiscoveryConfig = DiscoveryConfig()
    keepalive: Duration = Field(default=30.0, description="how soon a dead connection is noticed")

    @field_validator("keepalive")
    @classmethod
    def _keepalive_range(cls, value: float) -> float:
        if not 5 <= value <= 1200:
            message = "a duration from 5s to 20m is expected"
            raise ValueError(message)
        return value

    @field_validator("second_encoding")
    @classmethod
    def _encoding_exists(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                is_text = codecs.lookup(value).name.replace("-", "_") not in _NO_TEXT and b"a".decode(value) == "a"
            except (LookupError, ValueError, TypeError):
                is_text = False
            if not is_text:
                message = "the name of an encoding of text such as cp932 or euc_jp is expected"
                raise ValueError(message)
        return value

    @field_validator("render_timeout")
    @classmethod
    def _render_timeout_range(cls, value: float) -> float:
        if not 0.5 <= value <= 60:
            message = "a duration from 0.5s to 60s is expected"
            raise ValueError(message)
        return value

    @field_validator("url")
    @classmethod
    def _url_form(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        try:
            known = parts.scheme in ("mqtt", "mqtts", "ws", "wss")
            path = bool(parts.path.strip("/")) and parts.scheme not in ("ws", "wss")
            # The codec of host names refuses what no name server could know; paho would meet it again and again.
            bad = not known or not parts.hostname or path or not parts.hostname.encode("idna") or parts.port == 0
        except ValueError:
            bad = True
        if bad:
            message = "mqtt://HOST:PORT, mqtts://HOST:PORT, ws://HOST:PORT/PATH or wss://HOST:PORT/PATH is expected"
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
    def discovers(self) -> bool:
        """Whether Home Assistant is told of this node."""
        return self.url is not None if self.discovery.enabled is None else self.discovery.enabled

    @property
    def embedded(self) -> bool:
        """Whether the broker runs inside the service."""
        return not self.url and self.broker != "none"
