"""The broker inside the service: what a client publishes arrives, also when it goes at once."""

import queue
import socket
import threading
import time

import paho.mqtt.client as paho
import pytest

pytest.importorskip("amqtt")

from daemon.mqtt.embedded import EmbeddedBroker

CONNECT = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00"  # MQTT 3.1.1, a clean session, no name
DISCONNECT = b"\xe0\x00"


def publish(topic, payload):
    """A PUBLISH packet of QoS 0."""
    body = len(topic).to_bytes(2) + topic.encode() + payload.encode()
    return b"\x30" + bytes([len(body)]) + body


@pytest.fixture
def port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number = found.getsockname()[1]
    broker = EmbeddedBroker("127.0.0.1", number)
    broker.start()
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
        self.client.disconnect()
        self.client.loop_stop()


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
