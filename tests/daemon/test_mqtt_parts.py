"""The small parts of the connection to the broker."""

import asyncio
import gc
import logging
import socket
import ssl
import time
import weakref

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from daemon.config import MqttConfig, parse_config
from daemon.errors import RequestError, UnavailableError
from daemon.mqtt.address import Address, broker_address
from daemon.mqtt.broker import PahoBroker
from daemon.mqtt.callbacks import Callbacks, Handlers
from daemon.mqtt.client import disconnected, new_client
from daemon.mqtt.envelope import Envelope, parse_envelope
from daemon.mqtt.heartbeat import Heartbeat
from daemon.mqtt.messages import Will
from daemon.mqtt.patience import FLAPPING, LONGEST, SUSPICIOUS, Patience
from daemon.mqtt.problems import connection_failure, refusal, tls_failure, twin
from daemon.mqtt.redelivery import Redelivery
from daemon.mqtt.strict import decode
from daemon.mqtt.subscriptions import Subscriptions


def test_a_client_that_has_disconnected_leaves_no_socket_to_the_garbage_collector():
    """paho has sockets that only the end of the client closes, and its callbacks would keep it until some later day."""
    ends = []

    async def scenario(port):
        client = new_client(Address("127.0.0.1", port), "asagoe-test")
        tell = Handlers(*[lambda *_: None] * 6)
        subscriptions = Subscriptions([], [])
        loop = asyncio.get_running_loop()
        Callbacks(client, loop=loop, handlers=tell, address=Address("127.0.0.1", port), subscriptions=subscriptions)
        client.connect_async("127.0.0.1", port)
        client.loop_start()
        while client.socket() is None:
            await asyncio.sleep(0.01)
        ends.extend([weakref.ref(client), weakref.ref(client.socket())])
        await disconnected(client)

    gc.disable()
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            asyncio.run(scenario(server.getsockname()[1]))
        deadline = time.monotonic() + 5
        while any(end() for end in ends) and time.monotonic() < deadline:
            time.sleep(0.01)  # the thread that disconnected is about to end
        assert [end() for end in ends] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("text", "envelope"),
    [
        ("50", Envelope("50")),
        ("", Envelope("")),
        ('{"value":50,"id":"c1"}', Envelope("50", "c1")),
        ('{"value":"ON"}', Envelope("ON")),
        ('{"id":"c1"}', Envelope("", "c1")),
        ('{"value":null,"id":"c1"}', Envelope("", "c1")),
        ('{"value":true}', Envelope("true")),
        ('{"value":{"a":"あ"},"id":"c"}', Envelope('{"a": "あ"}', "c")),
        ('{"state":"ON","tone":"x"}', Envelope('{"state":"ON","tone":"x"}')),
        ("{ 名前 }", Envelope("{ 名前 }")),
    ],
)
def test_a_command_is_a_value_or_an_object_with_value_and_id(text, envelope):
    assert parse_envelope(text) == envelope


@pytest.mark.parametrize("text", ['{"value":1,"id":5}', '{"id":""}', '{"id":"\\ud800"}', '{"value":NaN}', '{"value"'])
def test_a_bad_envelope_is_refused(text):
    with pytest.raises(RequestError):
        parse_envelope(text)


def test_a_second_encoding_is_tried_where_it_is_configured():
    assert decode("洗濯".encode("cp932"), 100, "cp932") == "洗濯"
    assert decode("洗濯".encode(), 100, "cp932") == "洗濯"
    with pytest.raises(RequestError, match="neither UTF-8 nor cp932"):
        decode(b"\x81", 100, "cp932")


@pytest.mark.parametrize("name", ["cp9999", "base64", "idna", "unicode_escape", "rot13"])
def test_a_second_encoding_that_is_none_is_a_mistake_of_the_configuration(name):
    with pytest.raises(Exception, match=r"mqtt\.second_encoding: the name of an encoding of text"):
        parse_config(f"mqtt: {{second_encoding: {name}}}\n")


def test_a_heartbeat_that_comes_back_is_a_round_trip():
    heart = Heartbeat()
    heart.connected(0)
    assert heart.heard(heart.beat(10.0), 10.25)
    assert (heart.state, heart.round_trip) == ("ok", 0.25)
    assert not heart.heard("somebody else", 11.0)


def test_two_that_do_not_come_back_are_lost_and_before_the_first_answer_nothing_is_concluded():
    heart = Heartbeat()
    heart.connected(0)
    for moment in range(4):
        heart.beat(moment)
    assert (heart.state, heart.unanswered) == ("unanswered", True)
    heart.connected(0)
    heart.heard(heart.beat(10), 10.1)
    heart.beat(20)
    heart.beat(30)
    assert heart.state == "ok"
    heart.beat(40)
    assert heart.state == "lost"


def test_a_twin_shows_in_what_the_broker_kept_but_not_at_the_first_connection():
    heart = Heartbeat()
    heart.connected(0)
    mine = heart.beat(1.0)
    assert heart.twin("other/1 abc") is None  # of a process before this one
    heart.connected(0)
    assert heart.twin("other/1 abc") == "other/1"
    assert heart.twin(mine) is None


def test_only_flag_identifier_and_content_together_are_a_repetition():
    seen = Redelivery()
    assert not seen.is_repeated(1, False, "t", b"a")
    assert not seen.is_repeated(1, False, "t", b"a")  # the identifier is free again, the same words on purpose
    assert not seen.is_repeated(2, True, "t", b"a")  # sent again, but we never had it
    assert not seen.is_repeated(1, True, "t", b"b")
    assert seen.is_repeated(1, True, "t", b"a")
    assert seen.count == 1


def test_a_heartbeat_that_returns_settles_what_was_acknowledged_before_it():
    seen = Redelivery()
    seen.is_repeated(1, False, "t", b"a")
    seen.beat()
    seen.is_repeated(2, False, "t", b"b")
    seen.beat_returned()
    assert not seen.is_repeated(1, True, "t", b"a")
    assert seen.is_repeated(2, True, "t", b"b")
    seen.forget()
    assert not seen.is_repeated(2, True, "t", b"b")


def test_pauses_grow_with_connections_of_moments_and_have_an_end_and_jitter():
    patience = Patience()
    firsts = {round(patience.pauses()[0], 6) for _ in range(20)}
    assert len(firsts) > 10
    assert all(0.75 <= first <= 1.25 for first in firsts)
    assert [patience.ended(1.0, taken_over=False) for _ in range(SUSPICIOUS)] == [False, False, True]
    assert 1.5 <= patience.pauses()[0] <= 2.5
    for _ in range(100):
        patience.ended(1.0, taken_over=False)
    first, longest = patience.pauses()
    assert 0.75 * FLAPPING <= first <= 1.25 * FLAPPING
    assert 0.75 * LONGEST <= longest <= 1.25 * LONGEST
    patience.ended(600.0, taken_over=True)
    assert 0.75 * LONGEST <= patience.pauses()[0] <= 1.25 * LONGEST
    patience.ended(600.0, taken_over=False)
    assert patience.pauses()[0] <= 1.25


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, "no connection to the broker at b:1"),
        (ConnectionRefusedError(111, "refused"), "nothing listens there"),
        (TimeoutError(), "does not answer in time"),
        (socket.gaierror(-2, "Name or service not known"), "its name cannot be resolved"),
        (OSError(113, "No route to host"), "No route to host"),
        (KeyError("x"), "a defect, KeyError('x')"),
    ],
)
def test_causes_of_a_failed_connection(error, words):
    assert words in connection_failure(error, "b:1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("failed to receive on socket: [SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert", "wants a client"),
        ("[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] sslv3 alert", "our client certificate has expired"),
        ("[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca", "does not trust the authority"),
        ("[SSL: TLSV1_ALERT_PROTOCOL_VERSION] x", "let the broker use TLS 1.2 or 1.3"),
    ],
)
def test_alerts_of_tls(text, words):
    assert words in tls_failure(text)
    assert words in connection_failure(ssl.SSLError(1, text), "b:1", tls=True)


def test_other_lines_are_no_alerts():
    assert tls_failure("Connection reset by peer") is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (134, "user name or password are wrong"),
        (135, "correct mqtt.username"),
        (133, "set mqtt.client_id"),
        (151, "quota"),
    ],
)
def test_refusals(code, words):
    assert words in refusal(code, "x", "b:1", "me")


def unconnected(address):
    return PahoBroker(
        address,
        client_id="me",
        topics=[],
        will=Will("t", "offline"),
        session_expiry=1,
        keepalive=5,
        on_message=lambda _: None,
        on_connection=lambda _: None,
    )


def test_a_session_that_was_taken_over_is_told_by_the_reason_code(caplog):
    broker = unconnected(broker_address(MqttConfig(url="mqtt://127.0.0.1:1")))

    class Client:
        def reconnect_delay_set(self, first, longest):
            self.pauses = first, longest

    async def scenario():
        broker._client, broker._connected = Client(), True
        taken = ReasonCode(PacketTypes.DISCONNECT, identifier=142)
        broker._on_disconnect(broker._client, taken, True, None)

    import asyncio

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert twin("me", certain=True) in caplog.text


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("mqtt://b", "b", 1883, None),
        ("mqtts://b", "b", 8883, None),
        ("ws://b", "b", 80, "/mqtt"),
        ("wss://b:9001/some/path", "b", 9001, "/some/path"),
        ("mqtt://[::1]:1884", "::1", 1884, None),
    ],
)
def test_addresses(url, host, port, path):
    address = broker_address(MqttConfig(url=url))
    assert (address.host, address.port, address.path, bool(address.tls)) == (
        host,
        port,
        path,
        url.startswith(("mqtts", "wss")),
    )


@pytest.mark.parametrize(
    "url", ["mqtt://b/path", "http://b", "ws://", "mqtt://b:0", "mqtt://b:99999", f"mqtt://{'a' * 64}"]
)
def test_what_is_no_address(url):
    with pytest.raises(ValueError, match="is expected"):
        MqttConfig(url=url)


def test_a_password_that_cannot_be_read_is_named(tmp_path):
    config = MqttConfig.model_validate({"url": "mqtt://b", "password": {"file": str(tmp_path / "none")}})
    with pytest.raises(UnavailableError, match=r"mqtt\.password: the secret file"):
        broker_address(config)


def test_the_heartbeat_tells_how_long_the_way_held_back_what_arrives():
    heart = Heartbeat()
    heart.connected(900)
    assert heart.held_back(1000, 5) == 0  # nothing is known yet
    beat = heart.beat(1000)
    assert heart.held_back(1020, 5) == 0
    heart.heard(beat, 1000.1)
    assert [heart.held_back(now, 5) for now in (1001, 1005, 1012, 1030)] == [0, 0, 7, 25]
    heart.beat(1025)
    last = heart.beat(1030)
    heart.heard(last, 1030.5)  # the way is free again: what follows is new
    assert heart.held_back(1031, 5) == 0
    heart.connected(1990)  # what comes now was sent since then
    assert heart.held_back(2000, 5) == 5


@pytest.mark.parametrize(
    "alerts", [["the reason", None, None], [None, "the reason", None], ["the reason", "the reason"]]
)
def test_a_refusal_is_told_once_also_where_its_alert_is_lost_with_the_connection(alerts, caplog):
    async def attempts():
        broker = unconnected(Address("127.0.0.1", 8883, tls=ssl.create_default_context()))
        broker._client = client = object()
        for alert in alerts:
            broker._no_answer(client, hung_up=True, alert=alert)

    asyncio.run(attempts())
    (record,) = caplog.records
    assert record.getMessage().startswith("the broker at 127.0.0.1:8883 refuses the connection: the reason; trying")
