"""Checks of the broker: can it be found, does it let us in, may we listen and publish?"""

from __future__ import annotations

import contextlib
import queue
import secrets
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.reasoncodes import ReasonCode

from daemon.config import Config
from daemon.doctor.findings import Finding, Patient, fail, ok, warn
from daemon.errors import UnavailableError
from daemon.mqtt.address import Address, broker_address
from daemon.mqtt.broker import MQTT_3_1_1, MQTT_5
from daemon.mqtt.topics import Topics
from daemon.service.pulse import pulse_path

_PATIENCE = 4.0
"""Seconds for each answer of the broker."""
_NOT_AUTHORIZED, _BAD_LOGIN, _BAD_VERSION = 135, 134, 132
_BANNED = 138


def check_broker(patient: Patient) -> Iterator[Finding]:
    """The broker of the configuration, or the one inside the service."""
    config = patient.config
    if config is None:
        return
    mqtt = config.mqtt
    if mqtt.broker == "none":
        yield ok("MQTT is switched off (mqtt.broker: none)")
        return
    try:
        address = broker_address(mqtt)
    except (UnavailableError, ValueError) as error:
        yield fail(str(error), "see the keys mqtt.tls and mqtt.password")
        return
    problem = _unreachable(address)
    if problem is None:
        yield from _talk(address, config)
    elif not mqtt.embedded:
        yield problem
    elif pulse_path(config.node).exists():
        yield fail(f"the broker inside the service does not answer on {address}", "journalctl -u asagoe | grep broker")
    else:
        yield from _can_embed(mqtt.bind, mqtt.port)


def _can_embed(host: str, port: int) -> Iterator[Finding]:
    try:
        import amqtt  # noqa: F401, PLC0415 - an extra
    except ImportError:
        yield fail(
            "the broker inside the service is not installed",
            "pip install 'asagoe[broker]' into its environment, or set mqtt.url to a broker",
        )
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            yield fail(f"{host}:{port} cannot be listened on: {error.strerror}", "set mqtt.port or mqtt.bind")
            return
    yield ok(f"the service will start its own broker on {host}:{port}")


def _unreachable(address: Address) -> Finding | None:
    try:
        socket.create_connection((address.host, address.port), _PATIENCE).close()
    except socket.gaierror:
        return fail(f"the name {address.host} is not known", "correct mqtt.url, or give the broker's IP address")
    except ConnectionRefusedError:
        remedy = "start the broker; check its port and that it listens on more than its own machine (listener 1883)"
        return fail(f"nothing listens on {address}", remedy)
    except TimeoutError:
        return fail(f"{address} does not answer", "is the machine on? does a firewall drop the port?")
    except OSError as error:
        return fail(f"{address} cannot be reached: {error.strerror or error}", "check the network of this machine")
    return None


def _talk(address: Address, config: Config) -> Iterator[Finding]:
    """Connect as the service does, but under an id of our own: the same one would throw the service out."""
    with _Conversation(address, MQTT_5) as talk:
        code = talk.connect()
    if code is None or code == _BAD_VERSION:
        with _Conversation(address, MQTT_3_1_1) as older:
            again = older.connect()
            if again == 0:
                yield ok(f"{address} lets us in (MQTT 3.1.1)")
                yield from _exchange(older, config)
                return
        code = again if code is None else code
    if code is None:
        tls = "; a broker with TLS wants mqtts://" if address.tls is None else ""
        yield fail(f"{address} takes the connection but does not speak MQTT", f"check the port{tls}")
    elif isinstance(code, ssl.SSLError | str):
        yield fail(f"TLS towards {address} fails: {code}", "mqtt.tls.ca names the certificate that signed the broker's")
    elif code in (_BAD_LOGIN, _NOT_AUTHORIZED, _BANNED):
        who = f"user {address.username!r}" if address.username else "without a user name"
        yield fail(f"{address} refuses us ({who})", "check mqtt.username and mqtt.password")
    elif code != 0:
        yield fail(f"{address} refuses the connection (reason code {code})", "see the broker's log")
    else:
        with _Conversation(address, MQTT_5) as talk:
            talk.connect()
            yield ok(f"{address} lets us in (MQTT 5)")
            yield from _exchange(talk, config)


def _exchange(talk: _Conversation, config: Config) -> Iterator[Finding]:
    topics = Topics(config.mqtt.base_topic, config.node, tuple(config.groups))
    remedy = f"allow it in the broker's access list: topic readwrite {config.mqtt.base_topic}/#"
    listening = talk.subscribe(f"{topics.own}/announce")
    if listening is None or listening >= 128:
        yield fail(f"we may not listen to {topics.own}/announce", remedy)
    topic = f"{topics.own}/doctor"
    published = talk.publish(topic, "examined")
    if published is None:
        yield warn(f"a message to {topic} was not acknowledged", "see the broker's log")
    elif published >= 128:
        yield fail(f"we may not publish to {topics.own}/…", remedy)
    else:
        yield ok(f"we may listen to and publish on {topics.own}/…")


class _Conversation:
    """A client for a few questions, each with an answer or None."""

    def __init__(self, address: Address, protocol: MQTTProtocolVersion) -> None:
        self._address = address
        self._answers: queue.SimpleQueue[tuple[str, int | str]] = queue.SimpleQueue()
        self._client = client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id=f"asagoe-doctor-{secrets.token_hex(4)}", protocol=protocol
        )
        client.connect_timeout = _PATIENCE
        client.suppress_exceptions = True
        if address.username is not None:
            client.username_pw_set(address.username, address.password)
        if address.tls is not None:
            client.tls_set_context(address.tls)
        client.on_connect = lambda _c, _u, _f, code, _p: self._answers.put(("connected", _number(code)))
        client.on_subscribe = lambda _c, _u, _m, codes, _p: self._answers.put(("subscribed", _number(codes[0])))
        client.on_publish = lambda _c, _u, _m, code, _p: self._answers.put(("published", _number(code)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def connect(self) -> int | str | None:
        """The reason code of CONNACK; the text of an error of TLS; None without an answer."""
        try:
            self._client.connect(self._address.host, self._address.port, 30)
        except ssl.SSLError as error:
            return str(error.reason or error)
        except OSError:
            return None
        self._client.loop_start()
        return self._wait("connected")

    def subscribe(self, topic: str) -> int | None:
        """The reason code of SUBACK."""
        self._client.subscribe(topic, 1)
        return self._code(lambda: self._wait("subscribed"))

    def publish(self, topic: str, text: str) -> int | None:
        """The reason code of PUBACK; 3.1.1 knows only success."""
        self._client.publish(topic, text, qos=1)
        return self._code(lambda: self._wait("published"))

    @staticmethod
    def _code(ask: Callable[[], int | str | None]) -> int | None:
        answer = ask()
        return answer if isinstance(answer, int) else None

    def _wait(self, kind: str) -> int | str | None:
        with contextlib.suppress(queue.Empty):
            while True:
                got, code = self._answers.get(timeout=_PATIENCE)
                if got == kind:
                    return code
        return None


def _number(code: Any) -> int:
    return int(code.value) if isinstance(code, ReasonCode) else int(code)
