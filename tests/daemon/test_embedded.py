"""The broker inside the service: what is published arrives, and no client can harm it or the others."""

import queue
import socket
import struct
import threading
import time
from pathlib import Path

import paho.mqtt.client as paho
import pytest

pytest.importorskip("amqtt")

from daemon.mqtt import embedded_amqtt, embedded_wire
from daemon.mqtt.embedded import EmbeddedBroker
from tests.system.house import close

CONNECT = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00"  # MQTT 3.1.1, a clean session, no name
DISCONNECT = b"\xe0\x00"


def publish(topic, payload):
    """A PUBLISH packet of QoS 0."""
    body = len(topic).to_bytes(2) + topic.encode() + payload.encode()
    return b"\x30" + bytes([len(body)]) + body


def subscribe(name, qos):
    """A SUBSCRIBE packet of packet id 1."""
    body = b"\x00\x01" + len(name).to_bytes(2) + name.encode() + bytes([qos])
    return b"\x82" + bytes([len(body)]) + body


def connect(*, client_id="", keepalive=60, will=None, clean=True):
    """A CONNECT packet; ``will`` is a topic and a payload, of QoS 0."""
    fields = [client_id.encode(), *([will[0].encode(), will[1]] if will else [])]
    payload = b"".join(len(field).to_bytes(2) + field for field in fields)
    body = b"\x00\x04MQTT\x04" + bytes([2 * clean | 4 * bool(will)]) + keepalive.to_bytes(2) + payload
    return b"\x10" + bytes([len(body)]) + body


def greeted(port, **options):
    """A connection that the broker has accepted."""
    client = socket.create_connection(("127.0.0.1", port), timeout=5)
    client.sendall(connect(**options))
    assert client.recv(4) == b"\x20\x02\x00\x00"
    return client


def exactly(client, count):
    """So many bytes from the broker."""
    received = b""
    while len(received) < count:
        received += client.recv(count - len(received))
    return received


def ends(client):
    """Wait until the broker closes the connection; what came before, in a list, or nothing if it stays open."""
    received = b""
    client.settimeout(5)
    try:
        while data := client.recv(65536):
            received += data
    except TimeoutError:
        return []
    except ConnectionError:
        pass
    return [received]


def started():
    """A broker, and its port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number = found.getsockname()[1]
    broker = EmbeddedBroker("127.0.0.1", number)
    broker.start()
    return broker, number


@pytest.fixture
def port():
    broker, number = started()
    yield number
    broker.stop()


class Subscriber:
    """A client that keeps what arrives, by topic."""

    def __init__(self, port, *filters):
        self.arrived = queue.Queue()
        self._subscribed = threading.Event()
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.client.on_message = lambda _client, _data, message: self.arrived.put((message.topic, message.payload))
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        self.client.on_socket_open = lambda _client, _data, opened: opened.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        for name in filters:
            self._subscribed.clear()
            self.client.subscribe(name, 1)
            assert self._subscribed.wait(5)

    def take(self, count):
        """So many messages, or fewer where no more comes."""
        found = []
        try:
            while len(found) < count:
                found.append(self.arrived.get(timeout=1))
        except queue.Empty:
            pass
        return found

    def stop(self):
        close(self.client)


def hit_and_run(port, packets):
    """Connect, publish and go, as `mosquitto_pub` does."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(CONNECT)
        assert client.recv(4) == b"\x20\x02\x00\x00"
        client.sendall(packets + DISCONNECT)


def test_what_is_published_by_a_client_that_goes_at_once_arrives(port):
    own = [f"asagoe/home/{number}" for number in range(30)]
    service = Subscriber(port, "asagoe/home/announce", *own)
    try:
        for topic in own:  # as the service retains its state, its health and its heartbeat
            service.client.publish(topic, "retained", 1, retain=True).wait_for_publish(5)
        assert len(service.take(len(own))) == len(own)
        for number in range(20):
            hit_and_run(port, b"".join(publish("asagoe/home/announce", f"{number}.{part}") for part in range(5)))
            time.sleep(0.02)
        arrived = [payload.decode() for _, payload in service.take(100)]
        assert arrived == [f"{number}.{part}" for number in range(20) for part in range(5)]
    finally:
        service.stop()


def test_a_client_gets_the_retained_messages_of_what_it_subscribed_to_and_no_others(port):
    service = Subscriber(port, "asagoe/home/heartbeat", "asagoe/home/state")
    for name in ("heartbeat", "state"):
        service.client.publish(f"asagoe/home/{name}", name, 1, retain=True).wait_for_publish(5)
    other = Subscriber(port, "asagoe/home/state")
    last = Subscriber(port, "asagoe/#")
    try:
        assert other.take(2) == [("asagoe/home/state", b"state")]
        assert sorted(last.take(3)) == [("asagoe/home/heartbeat", b"heartbeat"), ("asagoe/home/state", b"state")]
    finally:
        for client in (service, other, last):
            client.stop()


# What a client sends that breaks the rules, and what it does not do.


@pytest.mark.parametrize("keepalive", [0, 60])
@pytest.mark.parametrize("reset", [False, True])
def test_what_comes_in_one_piece_with_its_end_arrives_whole_and_in_order(port, keepalive, reset):
    service = Subscriber(port, "home/x")
    try:
        for number in range(20):
            end = DISCONNECT if number % 2 else b""
            packets = b"".join(publish("home/x", f"{number}.{part}") for part in range(5))
            with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
                if reset:  # at once, in place of an orderly end
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(connect(keepalive=keepalive) + packets + end)
        arrived = [payload.decode() for _, payload in service.take(100)]
        for number in range(20):  # each in its order; one client may overtake another
            own = [text for text in arrived if text.startswith(f"{number}.")]
            assert own == [f"{number}.{part}" for part in range(5)]
    finally:
        service.stop()


WILL = ("home/will", b"gone")


@pytest.mark.parametrize(
    "packet",
    [
        pytest.param(b"\x00\x00", id="a reserved type"),
        pytest.param(b"\xf0\x00", id="the other reserved type"),
        pytest.param(b"\x20\x02\x00\x00", id="a packet of the broker"),
        pytest.param(b"\x30\xff\xff\xff\xff\x01", id="a length of five bytes"),
        pytest.param(b"\x30\x03\x00\x09a", id="a topic longer than its packet"),
        pytest.param(b"\x30\x0f\x00\x03a/#" + publish("home/x", "x"), id="a wildcard in a topic"),
        pytest.param(publish("", "x"), id="no topic"),
        pytest.param(b"\x30\x05\x00\x02\xff\xfex", id="a topic that is not UTF-8"),
        pytest.param(publish("a\0b", "x"), id="a null character"),
        pytest.param(b"\x36\x06\x00\x01a\x00\x01x", id="QoS 3"),
        pytest.param(b"\x32\x06\x00\x01a\x00\x00x", id="packet id 0"),
        pytest.param(b"\x82\x02\x00\x01", id="a subscription to nothing"),
        pytest.param(b"\x82\x05\x00\x01\x00\x00\x00", id="a subscription to an empty filter"),
        pytest.param(b"\x82\x06\x00\x01\x00\x01a\x03", id="a subscription at QoS 3"),
        pytest.param(b"\x80\x06\x00\x01\x00\x01a\x00", id="a subscription with wrong flags"),
        pytest.param(b"\xa2\x03\x00\x01\x00", id="half a filter"),
        pytest.param(b"\x40\x04\x00\x01\x00\x00", id="a long acknowledgement"),
        pytest.param(b"\xc0\x01\x00", id="a ping with a body"),
        pytest.param(CONNECT, id="a second CONNECT"),
    ],
)
def test_a_packet_that_breaks_the_rules_ends_the_connection_and_nothing_else(port, packet):
    service = Subscriber(port, "home/#")
    try:
        with greeted(port, client_id="bad", will=WILL) as client:
            client.sendall(packet)
            assert ends(client)
        assert service.take(1) == [WILL]
        hit_and_run(port, publish("home/x", "still"))
        assert service.take(1) == [("home/x", b"still")]
    finally:
        service.stop()


@pytest.mark.parametrize(
    ("packet", "answer"),
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", b"", id="HTTP"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"", id="TLS"),
        pytest.param(b"\xc0\x00", b"", id="not CONNECT"),
        pytest.param(b"\x10\x0c\x00\x04MQTZ\x04\x02\x00\x3c\x00\x00", b"", id="another protocol"),
        pytest.param(b"\x10\x0c\x00\x04MQTT\x04\x03\x00\x3c\x00\x00", b"", id="a reserved flag"),
        pytest.param(b"\x10\x0c\x00\x04MQTT\x04\x06\x00\x3c\x00\x00", b"", id="a will that is missing"),
        pytest.param(
            b"\x10\x0c\x00\x04MQTT\x04\x00\x00\x3c\x00\x00", b"\x20\x02\x00\x02", id="a lasting session, no id"
        ),
        pytest.param(b"\x10\x0e\x00\x06MQIsdp\x03\x02\x00\x3c\x00\x00", b"\x20\x02\x00\x01", id="MQTT 3.1"),
        pytest.param(b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x00", b"\x20\x03\x00\x84\x00", id="MQTT 5"),
    ],
)
def test_who_does_not_speak_mqtt_3_1_1_is_refused_at_once(port, packet, answer):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(packet)
        assert ends(client) == [answer]


def test_a_client_of_mqtt_5_is_told_to_use_another_version_and_the_log_says_so(port, caplog):
    answers = queue.Queue()
    client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.on_connect = lambda _client, _data, _flags, reason, _properties: answers.put(reason.value)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        assert answers.get(timeout=5) == 132  # unsupported protocol version
    finally:
        close(client)
    said = [record.getMessage() for record in caplog.records if "speaks MQTT 5" in record.getMessage()]
    assert len(said) == 1
    assert "MQTT 3.1.1" in said[0]


def test_a_client_that_says_nothing_is_let_go(port, monkeypatch):
    monkeypatch.setattr(embedded_wire, "_GREETING", 0.3)
    for begin in (b"", CONNECT[:5]):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(begin)
            assert ends(client)


@pytest.mark.parametrize("half", [b"", b"\x30\x20\x00\x03abc"], ids=["silent", "half a packet"])
def test_a_dead_client_is_noticed_by_its_keepalive_and_its_will_published(port, monkeypatch, half):
    monkeypatch.setattr(embedded_wire, "_REST", 0.5)
    service = Subscriber(port, "home/will")
    try:
        with greeted(port, client_id="dead", keepalive=1, will=WILL) as client:
            began = time.monotonic()
            client.sendall(half)
            assert ends(client)
            assert time.monotonic() - began < 3
        assert service.take(1) == [WILL]
    finally:
        service.stop()


def test_a_client_that_pings_within_its_keepalive_stays(port):
    with greeted(port, keepalive=1) as client:
        for _ in range(3):
            time.sleep(0.8)
            client.sendall(b"\xc0\x00")
            assert client.recv(2) == b"\xd0\x00"


# Bounds.


def test_the_largest_message_passes_and_a_larger_one_ends_the_connection_of_its_sender_alone(port):
    service = Subscriber(port, "x")
    try:
        largest = b"z" * (embedded_wire.MAX_PACKET - 1 - 4 - 3)  # the type, the length, the topic
        for payload, arrives in ((largest, True), (largest + b"z", False)):
            length = len(payload) + 3
            header = b"\x30" + bytes(
                [length & 127 | 128, length >> 7 & 127 | 128, length >> 14 & 127 | 128, length >> 21]
            )
            with greeted(port) as client:
                try:
                    client.sendall(header + b"\x00\x01x" + payload)
                except OSError:  # it was closed while we sent
                    assert not arrives
                assert [len(found) for _, found in service.take(1)] == [len(payload)] * arrives
                assert arrives or ends(client)
        hit_and_run(port, publish("x", "still"))
        assert service.take(1) == [("x", b"still")]
    finally:
        service.stop()


@pytest.mark.parametrize("qos", [0, 1])
def test_a_subscriber_that_does_not_read_is_let_go_and_keeps_no_other_waiting(port, monkeypatch, qos):
    monkeypatch.setattr(embedded_wire, "_MAX_BEHIND", 2_000_000)
    service = Subscriber(port, "home/#")
    slow = socket.socket()
    try:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", port))
        slow.sendall(connect(client_id="slow") + subscribe("home/#", qos))
        time.sleep(0.2)
        for number in range(300):
            service.client.publish("home/x", number.to_bytes(2) * 20_000, qos)
            assert [payload[:2] for _, payload in service.take(1)] == [number.to_bytes(2)]
        assert ends(slow)
    finally:
        slow.close()
        service.stop()


def test_more_clients_than_the_bound_are_turned_away_until_others_go(port, monkeypatch):
    monkeypatch.setattr(embedded_amqtt, "_MAX_CLIENTS", 2)
    with greeted(port, client_id="a"):
        with greeted(port, client_id="b"), socket.create_connection(("127.0.0.1", port), timeout=5) as third:
            assert ends(third)
        time.sleep(0.2)
        with greeted(port, client_id="c"):
            pass


def test_clients_that_come_and_go_leave_no_descriptors_and_no_memory_behind(port):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(200):
        with greeted(port, client_id=f"c{number}", will=WILL) as client:
            client.sendall(subscribe(f"home/{number}", 1) + publish("home/x", "x"))
            client.sendall(b"\xa2\x0a\x00\x02" + (6).to_bytes(2) + b"home/x" + (DISCONNECT if number % 2 else b""))
    deadline = time.monotonic() + 5
    while len(list(Path("/proc/self/fd").iterdir())) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_the_broker_stops_soon_while_clients_are_silent_or_do_not_read():
    broker, number = started()
    with socket.create_connection(("127.0.0.1", number)), greeted(number, client_id="a"):
        began = time.monotonic()
        broker.stop()
        assert time.monotonic() - began < 1.9
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", number)) != 0


# Sessions.


@pytest.mark.parametrize("clean", [True, False])
def test_a_second_client_of_the_same_id_takes_over(port, clean):
    service = Subscriber(port, "home/will")
    try:
        with greeted(port, client_id="twin", will=WILL, clean=clean) as old:
            old.sendall(subscribe("home/x", 1))
            assert old.recv(5) == b"\x90\x03\x00\x01\x01"
            with greeted(port, client_id="twin", will=("home/will", b"later"), clean=clean) as new:
                assert ends(old)
                assert service.take(2) == [WILL]
                new.sendall(subscribe("home/x", 1))
                assert new.recv(5) == b"\x90\x03\x00\x01\x01"
                time.sleep(1.5)  # sessions that have ended are swept every second
                service.client.publish("home/x", "x", 0)
                assert new.recv(100) == publish("home/x", "x")
    finally:
        service.stop()


def test_nothing_is_kept_for_a_client_that_is_away(port):
    service = Subscriber(port)
    try:
        for _ in range(2):
            with greeted(port, client_id="phone", clean=False) as client:  # answered with: no session present
                client.sendall(subscribe("home/x", 1))
                assert client.recv(5) == b"\x90\x03\x00\x01\x01"
                client.sendall(DISCONNECT)
                assert ends(client) == [b""]
            service.client.publish("home/x", "x", 1).wait_for_publish(5)
    finally:
        service.stop()


def test_a_release_that_is_not_known_any_more_is_answered(port):
    with greeted(port) as client:  # of QoS 2, after a lost connection
        client.sendall(b"\x62\x02\x00\x07")
        assert client.recv(4) == b"\x70\x02\x00\x07"


# Subscriptions and retained messages.


def test_a_message_comes_once_and_at_the_lower_quality_of_service(port):
    with greeted(port) as client:
        client.sendall(subscribe("home/#", 1) + subscribe("home/x", 0))
        exactly(client, 10)
        client.sendall(publish("home/x", "0"))
        assert client.recv(100) == publish("home/x", "0")
        client.sendall(b"\x34\x0b\x00\x06home/x\x00\x092" + b"\x62\x02\x00\x09")  # QoS 2
        answers = exactly(client, 4 + 4 + 13)
        assert b"\x32\x0b\x00\x06home/x\x00\x012" in answers
        client.sendall(b"\xc0\x00")
        assert client.recv(100) == b"\xd0\x00"


def test_a_repeated_subscription_takes_the_place_of_the_first_and_ends_with_one_word(port):
    with greeted(port) as client:
        client.sendall(subscribe("home/x", 1) + subscribe("home/x", 0))
        assert exactly(client, 10) == b"\x90\x03\x00\x01\x01" + b"\x90\x03\x00\x01\x00"
        hit_and_run(port, b"\x32\x0b\x00\x06home/x\x00\x091")
        assert client.recv(100) == publish("home/x", "1")
        client.sendall(b"\xa2\x0a\x00\x02\x00\x06home/x")
        assert client.recv(4) == b"\xb0\x02\x00\x02"
        hit_and_run(port, publish("home/x", "2"))
        client.sendall(b"\xc0\x00")
        assert client.recv(100) == b"\xd0\x00"


def test_topics_that_begin_with_a_dollar_are_for_those_who_name_them(port):
    everything, own = Subscriber(port, "#"), Subscriber(port, "$home/#")
    try:
        hit_and_run(port, publish("$home/x", "1") + publish("home/x", "2"))
        assert everything.take(2) == [("home/x", b"2")]
        assert own.take(1) == [("$home/x", b"1")]
    finally:
        everything.stop()
        own.stop()


def test_retained_messages_do_not_wait_for_acknowledgements_and_are_gone_when_emptied(port):
    service = Subscriber(port)
    try:
        for number in range(3):
            service.client.publish(f"home/{number}", "x", number, retain=True).wait_for_publish(5)
        with greeted(port) as client:
            client.settimeout(2)
            client.sendall(subscribe("home/#", 1) + b"\xc0\x00")
            answers = b""
            while b"\xd0\x00" not in answers:
                answers += client.recv(100)
            hit_and_run(port, publish("home/x", "next"))
            client.sendall(publish("home/y", "own"))
            while publish("home/y", "own") not in answers:
                answers += client.recv(100)
            assert b"\x31\x09\x00\x06home/0x" in answers  # at QoS 0, as it was published
            assert answers.count(b"\x33\x0b\x00\x06home/") == 2
        for number in range(3):
            service.client.publish(f"home/{number}", b"", 1, retain=True).wait_for_publish(5)
        late = Subscriber(port, "home/#")
        assert late.take(1) == []
        late.stop()
    finally:
        service.stop()
