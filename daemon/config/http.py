"""Keys of `http`."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from daemon.config.base import Model
from daemon.config.values import Secret


class HttpConfig(Model):
    """The HTTP server: VOICEVOX's interface, one of Asagoe's own, numbers for Prometheus. Needs asagoe[http]."""

    bind: str = Field(default="127.0.0.1", min_length=1, description="address to listen on; any other needs a token")
    port: int = Field(default=50021, ge=1, le=65535, description="TCP port; 50021 is where VOICEVOX clients look")
    token: Secret | None = Field(
        default=None,
        description="what clients send as Bearer: text, or {credential: NAME}, {file: PATH}, {env: NAME}",
    )
    origins: list[str] = Field(default=[], description="web pages that may use it, such as https://panel.example")
    hosts: list[str] = Field(
        default=[],
        description="names of this machine that clients may use, besides localhost, its host name and addresses",
    )
    max_waiting: int = Field(default=64, ge=1, le=1000, description="so many requests for speech are worked on at once")
    max_body: int = Field(default=8_000_000, ge=10_000, le=100_000_000, description="bytes of a request, at most")

    @field_validator("origins")
    @classmethod
    def _origin_form(cls, value: list[str]) -> list[str]:
        for origin in value:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query:
                message = (
                    f"an origin such as https://panel.example or http://localhost:3000 is expected, got {origin!r}"
                )
                raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _token_beyond_loopback(self) -> HttpConfig:
        if not self.is_loopback and self.token is None:
            message = f"bind: {self.bind} can be reached by others: set a token, or bind to 127.0.0.1"
            raise ValueError(message)
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.bind).is_loopback
        except ValueError:
            return self.bind == "localhost"
