"""The ways to a real broker, and what is said where there is none: plainly, once, and it goes on trying."""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import subprocess
import threading
import warnings

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from daemon.config import MqttConfig
from daemon.errors import UnavailableError
from daemon.mqtt.address import broker_address
from daemon.mqtt.broker import MQTT_3_1_1, MQTT_5, PahoBroker
from daemon.mqtt.messages import Will
from tests.system.certificates import Authority
from tests.system.house import Mosquitto, free_port, sender
from tests.system.proxy import Proxy

# A handshake that fails leaves paho's socket to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*unclosed.*:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*unclosed.*:pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def make_mosquitto(tmp_path):
    brokers = []

    def make(*lines, more=(), start=True):
        folder = tmp_path / f"broker{len(brokers)}"
        folder.mkdir(mode=0o755)
        broker = Mosquitto(folder)
        text = f"listener {broker.port} 127.0.0.1\n" + "\n".join(lines) + "\n"
        broker.config.write_text(text if "allow_anonymous" in text else f"{text}allow_anonymous true\n")
        for name, content in more:
            (folder / name).write_text(content.format(folder=folder))
        broker.config.write_text(broker.config.read_text().format(folder=folder))
        if os.getuid() == 0:  # else it gives up its rights and cannot read these folders
            broker.config.write_text("user root\n" + broker.config.read_text())
        brokers.append(broker)
        if start:
            broker.start()
        return broker

    yield make
    for broker in brokers:
        broker.stop()


class Link:
    """A connection of our own kind, in this process."""

    def __init__(self, config, client_id="asagoe-test", **options):
        self.arrived, self.changes = [], []
        self.broker = PahoBroker(
            broker_address(MqttConfig.model_validate(config)),
            client_id=client_id,
            topics=["asagoe/test/announce"],
            heartbeat="asagoe/test/heartbeat",
            will=Will("asagoe/test/availability", "offline"),
            session_expiry=60,
            keepalive=options.pop("keepalive", 5),
            on_message=self._arrive,
            on_connection=self.changes.append,
            **({"protocol": MQTT_5} | options),
        )

    def _arrive(self, message):
        self.arrived.append(message.payload.decode())
        message.accepted()


async def until(condition, timeout=10.0):
    deadline = asyncio.get_running_loop().time() + timeout
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "waited too long"
        await asyncio.sleep(0.01)


def converse(config, **options):
    """Connect, send ourselves a message, and disconnect; the report of the connection."""

    async def scenario():
        link = Link(config, **options)
        link.broker.start()
        try:
            await until(lambda: link.broker.connected)
            link.broker.publish("asagoe/test/announce", "こんにちは")
            await until(lambda: link.arrived == ["こんにちは"])
            await until(lambda: link.broker.report()["heartbeat"] == "ok")
            return link.broker.report()
        finally:
            await link.broker.stop()

    return asyncio.run(scenario())


def complaints(config, caplog, *, seconds, **options):
    """What is logged while no connection comes about."""

    async def scenario():
        link = Link(config, **options)
        link.broker.start()
        try:
            await asyncio.sleep(seconds)
            assert not link.broker.connected
            return link.broker.report()["problem"]
        finally:
            await link.broker.stop()

    with caplog.at_level(logging.INFO, "asagoe.mqtt"):
        problem = asyncio.run(scenario())
    said = [record.message for record in caplog.records if record.name == "asagoe.mqtt"]
    return said, problem


def test_the_plain_way_with_mqtt_5(make_mosquitto):
    report = converse({"url": f"mqtt://127.0.0.1:{make_mosquitto().port}"})
    assert (report["connected"], report["protocol"], report["problem"]) == (True, "5", None)
    assert 0 < report["round_trip_ms"] < 2000


def test_user_and_password_by_credential(make_mosquitto, tmp_path, monkeypatch, caplog):
    broker = make_mosquitto(
        "allow_anonymous false",
        "password_file {folder}/passwords",
        more=[("passwords", "node:secret-word\n")],
        start=False,
    )
    passwords = broker.config.parent / "passwords"
    subprocess.run(["mosquitto_passwd", "-U", str(passwords)], check=True)
    broker.start()
    (tmp_path / "mqtt-password").write_text("secret-word\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    config = {"url": f"mqtt://127.0.0.1:{broker.port}", "username": "node"}
    assert converse(config | {"password": {"credential": "mqtt-password"}})["connected"]
    for options in ({}, {"protocol": 4}):  # reason code 135 of MQTT 5, return code 5 of 3.1.1
        caplog.clear()
        said, problem = complaints(config | {"password": "wrong-word"}, caplog, seconds=4, **options)
        assert len(said) == 1, said
        assert "user name or password are wrong" in said[0]
        assert "correct mqtt.username and mqtt.password" in problem
        assert "wrong-word" not in caplog.text


def tls_lines(authority, certificate, key, *more):
    return (f"cafile {authority.path}", f"certfile {certificate}", f"keyfile {key}", *more)


def test_tls_with_an_authority_and_with_a_client_certificate(make_mosquitto, tmp_path, caplog):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    ours, our_key = authority.issue("client")
    broker = make_mosquitto(*tls_lines(authority, certificate, key))
    tls = {"ca": str(authority.path)}
    assert converse({"url": f"mqtts://127.0.0.1:{broker.port}", "tls": tls})["connected"]
    strict = make_mosquitto(*tls_lines(authority, certificate, key, "require_certificate true"))
    url = f"mqtts://127.0.0.1:{strict.port}"
    both = tls | {"certificate": str(ours), "key": str(our_key)}
    assert converse({"url": url, "tls": both})["connected"]
    said, _ = complaints({"url": url, "tls": tls}, caplog, seconds=5)
    assert [line for line in said if "it wants a client certificate; set mqtt.tls.certificate" in line]
    assert len(said) == 1, said


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("expired", "its certificate has expired; renew the broker's certificate"),
        ("wrong authority", "signed by an authority that is not trusted here; name that authority in mqtt.tls.ca"),
        ("wrong host", "its certificate is not for this IP address"),
        ("old TLS", "let the broker use TLS 1.2 or 1.3"),
        ("no TLS", "speak TLS on this port? use mqtt://"),
        ("our certificate expired", "our client certificate has expired; renew mqtt.tls.certificate"),
    ],
)
def test_what_is_wrong_with_tls_is_named_once(make_mosquitto, tmp_path, caplog, fault, words):
    authority = Authority(tmp_path)
    certificate, key = authority.issue(
        "server", days=-1 if fault == "expired" else 10, host="example.org" if fault == "wrong host" else "127.0.0.1"
    )
    other = Authority(tmp_path, "another")
    ours, our_key = authority.issue("client", days=-1)
    tls = {"ca": str(other.path if fault == "wrong authority" else authority.path)}
    lines = () if fault == "no TLS" else tls_lines(authority, certificate, key)
    if fault == "our certificate expired":
        lines = (*lines, "require_certificate true")
        tls |= {"certificate": str(ours), "key": str(our_key)}
    if fault == "old TLS":  # mosquitto's own list ends at 1.2: a small server of our own that knows only 1.1
        port, stop = old_tls_server(certificate, key)
    else:
        port, stop = make_mosquitto(*lines).port, lambda: None
    try:
        said, problem = complaints({"url": f"mqtts://127.0.0.1:{port}", "tls": tls}, caplog, seconds=5)
    finally:
        stop()
    assert len(said) == 1, said
    assert words in said[0]
    assert words in problem


def old_tls_server(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                try:
                    context.wrap_socket(client, server_side=True).close()
                except OSError:
                    pass

    threading.Thread(target=serve, daemon=True, name="ThreadPoolExecutor-tls").start()

    def stop():
        server.shutdown(socket.SHUT_RDWR)
        server.close()

    return server.getsockname()[1], stop


def test_a_certificate_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UnavailableError, match=r"mqtt\.tls: a certificate or its key cannot be read"):
        broker_address(MqttConfig.model_validate({"url": "mqtts://x", "tls": {"ca": str(tmp_path / "none.pem")}}))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mqtt://no-such-host.invalid", "its name cannot be resolved"),
        ("mqtt://127.0.0.1:{free}", "nothing listens there; is the broker running"),
        ("ws://127.0.0.1:{plain}/mqtt", "no connection to the broker"),
    ],
)
def test_what_is_wrong_with_the_address_is_named_once(make_mosquitto, caplog, url, words):
    plain = make_mosquitto()
    said, _ = complaints({"url": url.format(free=free_port(), plain=plain.port)}, caplog, seconds=6)
    assert len(said) == 1, said
    assert words in said[0]


@contextlib.contextmanager
def web_socket_broker(**listener):
    """A broker of amqtt that listens for WebSockets; Debian's mosquitto is built without them."""
    from amqtt.broker import Broker

    loop, port, stop, ready = asyncio.new_event_loop(), free_port(), asyncio.Event(), threading.Event()
    config = {
        "listeners": {"default": {"type": "ws", "bind": f"127.0.0.1:{port}"} | listener},
        "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
    }

    async def serve():
        broker = Broker(config)
        await broker.start()
        ready.set()
        await stop.wait()
        await broker.shutdown()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(10)
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def test_web_sockets(tmp_path):
    with web_socket_broker() as port:
        assert converse({"url": f"ws://127.0.0.1:{port}/mqtt"}, protocol=MQTT_3_1_1)["connected"]


def test_web_sockets_with_tls(tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    with web_socket_broker(ssl=True, certfile=str(certificate), keyfile=str(key), cafile=str(authority.path)) as port:
        url, tls = f"wss://127.0.0.1:{port}/mqtt", {"ca": str(authority.path)}
        assert converse({"url": url, "tls": tls}, protocol=MQTT_3_1_1)["connected"]


def test_it_starts_without_a_broker_and_finds_it_when_it_comes(make_mosquitto):
    broker = make_mosquitto()
    broker.kill()

    async def scenario():
        link = Link({"url": f"mqtt://127.0.0.1:{broker.port}"})
        link.broker.start()
        try:
            await asyncio.sleep(1.5)
            assert not link.broker.connected
            await asyncio.to_thread(broker.start)
            await until(lambda: link.broker.connected, 15)
        finally:
            await link.broker.stop()

    asyncio.run(scenario())


def test_a_thread_that_dies_is_told_and_replaced(make_mosquitto, caplog, monkeypatch):
    broker = make_mosquitto()

    async def scenario():
        link = Link({"url": f"mqtt://127.0.0.1:{broker.port}"})
        link.broker.start()
        try:
            await until(lambda: link.broker.connected)
            client = link.broker._client

            def defect(*_):
                monkeypatch.undo()
                raise KeyError("a defect of paho")

            monkeypatch.setattr(client, "_handle_publish", defect)
            link.broker.publish("asagoe/test/announce", "1")
            await until(lambda: link.changes == [True, False])
            await until(lambda: link.broker.connected, 15)
            await until(lambda: link.arrived[-1:] == ["1"])  # its acknowledgement was not sent: it came again
            link.broker.publish("asagoe/test/announce", "2")
            await until(lambda: link.arrived[-1:] == ["2"])
        finally:
            await link.broker.stop()

    asyncio.run(scenario())
    assert "a defect" in caplog.text


def test_a_broker_that_passes_on_nothing_any_more_is_left_and_found_again(make_mosquitto, caplog):
    """The connection stays open and pings are answered; only the heartbeat shows that nothing gets through."""
    broker = make_mosquitto()

    async def scenario():
        link = Link({"url": f"mqtt://127.0.0.1:{broker.port}"}, keepalive=5)
        link.broker.start()
        try:
            await until(lambda: link.broker.report()["heartbeat"] == "ok")
            link.broker._keepalive = 0.3  # of the heartbeat only; the protocol's own goes on
            link.broker._client.unsubscribe("asagoe/test/heartbeat")
            link.broker._beat()
            await until(lambda: link.broker.report()["connections"] == 2, 15)
            await until(lambda: link.broker.report()["heartbeat"] == "ok")
        finally:
            await link.broker.stop()

    asyncio.run(scenario())
    assert "passes on nothing any more" in caplog.text


def test_a_heartbeat_that_the_broker_forbids_is_told_and_breaks_nothing(make_mosquitto, caplog):
    rules = "topic readwrite asagoe/test/announce\ntopic readwrite asagoe/test/availability\n"
    broker = make_mosquitto("acl_file {folder}/rules", more=[("rules", rules)])

    async def scenario():
        link = Link({"url": f"mqtt://127.0.0.1:{broker.port}"})
        link.broker.start()
        try:
            await until(lambda: link.broker.connected)
            link.broker._keepalive = 0.3  # of the heartbeat only
            link.broker._beat()
            await until(lambda: "let its rules allow that topic" in caplog.text)
            await asyncio.sleep(1.5)
            assert link.broker.report()["connections"] == 1
            link.broker.publish("asagoe/test/announce", "1")
            await until(lambda: link.arrived == ["1"])
        finally:
            await link.broker.stop()

    asyncio.run(scenario())
    assert caplog.text.count("let its rules allow that topic") == 1


def test_a_message_whose_acknowledgement_was_lost_comes_again_and_is_handled_once(make_mosquitto):
    broker = make_mosquitto()
    proxy = Proxy(broker.port)

    async def scenario():
        sender, link = (
            Link({"url": f"mqtt://127.0.0.1:{broker.port}"}, "sender"),
            Link({"url": f"mqtt://127.0.0.1:{proxy.port}"}),
        )
        sender.broker.start()
        link.broker.start()
        try:
            await until(lambda: link.broker.connected and sender.broker.connected)
            await until(lambda: link.broker.report()["heartbeat"] == "ok")
            proxy.mute = True
            sender.broker.publish("asagoe/test/announce", "一回だけ")
            await until(lambda: link.arrived == ["一回だけ"])
            await asyncio.to_thread(proxy.cut)
            proxy.mute = False
            await until(lambda: link.broker.report()["redelivered"] == 1, 15)
            # The same words again, on purpose: another message.
            sender.broker.publish("asagoe/test/announce", "一回だけ")
            await until(lambda: len(link.arrived) == 2)
        finally:
            await link.broker.stop()
            await sender.broker.stop()

    try:
        asyncio.run(scenario())
    finally:
        proxy.close()


def test_what_is_delivered_again_is_no_younger_than_the_silence_before_it(make_mosquitto):
    """A broker that had begun to deliver a message may send it again at any age, with the expiry that it had then."""
    broker = make_mosquitto()
    proxy = Proxy(broker.port)

    async def scenario():
        link = Link({"url": f"mqtt://127.0.0.1:{proxy.port}"})
        taken = []
        link.broker._on_message = lambda message: (taken.append(message), message.accepted())
        link.broker.start()
        try:
            with sender(broker.port) as client:
                await until(lambda: link.broker.report()["heartbeat"] == "ok")
                proxy.deaf = True  # the broker sends, and nothing arrives
                for expiry in (2, 60):
                    properties = Properties(PacketTypes.PUBLISH)
                    properties.MessageExpiryInterval = expiry
                    client.publish("asagoe/test/announce", str(expiry), 1, properties=properties).wait_for_publish(5)
                await asyncio.sleep(3)
                await asyncio.to_thread(proxy.cut)
                proxy.deaf = False
                await until(lambda: any(message.payload == b"60" for message in taken), 15)
                left = {message.payload: message.expires_in for message in taken}
                assert left.get(b"2", 0.0) == 0.0
                assert 40 < left[b"60"] < 57.5
        finally:
            await link.broker.stop()

    try:
        asyncio.run(scenario())
    finally:
        proxy.close()
