"""Who is let in, and what is refused before it can do anything."""

import http.client
import socket
import time

import pytest

from daemon.config import ConfigError, parse_config
from daemon.config.http import HttpConfig
from daemon.http.guard import Rules

PAGE = "https://panel.example"


def rules(**settings):
    return Rules.of(HttpConfig.model_validate(settings))


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.168.1.10", "kitchen.example"])
def test_beyond_loopback_a_token_is_needed(bind):
    with pytest.raises(ConfigError, match=r"http: bind: .* can be reached by others: set a token, or bind to 127"):
        parse_config(f"http: {{bind: '{bind}'}}")
    parse_config(f"http: {{bind: '{bind}', token: secret}}")


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_on_loopback_none_is_needed(bind):
    assert parse_config(f"http: {{bind: '{bind}'}}").http.bind == bind


def test_without_the_key_there_is_no_server():
    assert parse_config("").http is None
    assert parse_config("http: {}").http.port == 50021


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("{env: NO_SUCH_VARIABLE}", "the environment variable NO_SUCH_VARIABLE is not set"),
        ("{file: /no/such/file}", "the secret file /no/such/file cannot be read (FileNotFoundError)"),
        ("''", "the token is empty; make one with: openssl rand -hex 32"),
    ],
)
def test_a_token_that_cannot_be_had_is_an_error_of_its_line(token, reason):
    with pytest.raises(ConfigError) as error:
        parse_config(f"http:\n  token: {token}\n")
    assert str(error.value) == f"asagoe.yaml:2: http.token: {reason}"


@pytest.mark.parametrize("origin", ["panel.example", "https://panel.example/", "ftp://x", "*", "null"])
def test_an_origin_is_scheme_and_host(origin):
    with pytest.raises(ConfigError, match=r"an origin such as https://panel\.example"):
        parse_config(f"http: {{origins: ['{origin}']}}")


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:50021", True),
        ("localhost", True),
        ("LOCALHOST:1", True),
        ("[::1]:50021", True),
        ("192.168.0.7:50021", True),  # an address is no name that could be led astray
        ("kitchen.example:50021", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example@localhost", False),
        ("localhost/x", False),
        ("", False),
    ],
)
def test_only_names_of_this_machine_are_known(host, known):
    assert rules(hosts=["kitchen.example"]).knows_host(host) is known


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, None),
        ({"origin": "http://localhost:50021"}, None),
        ({"origin": PAGE}, None),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-origin"}, None),
        ({"sec-fetch-site": "none"}, None),
        ({"host": "evil.example"}, 421),
    ],
)
def test_foreign_pages_are_kept_out(headers, status):
    refusal = rules(origins=[PAGE]).refusal("POST", "/synthesis", {"host": "localhost:50021", **headers})
    assert (refusal and refusal[0]) == status


def test_the_token_is_compared_as_a_whole():
    with_token = rules(bind="0.0.0.0", token="s3cret")
    good = {"host": "192.168.0.7", "authorization": "Bearer s3cret"}
    assert with_token.refusal("GET", "/speakers", good) is None
    for bad in ("", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "s3cret", "Bearer ｓ"):
        assert with_token.refusal("GET", "/speakers", {**good, "authorization": bad})[0] == 401
    assert with_token.refusal("GET", "/health", {"host": "192.168.0.7"}) is None


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    from tests.daemon.http.conftest import Node

    settings = {"token": "s3cret", "origins": [PAGE], "max_body": 20_000}
    with Node(tmp_path_factory.mktemp("guarded"), settings=settings) as node:
        yield node


TOKEN = {"Authorization": "Bearer s3cret"}


def test_with_a_token_configured_it_is_asked_for_everywhere_but_of_health(guarded):
    answer = guarded.ask("GET", "/speakers", status=401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json == {"detail": "send the token of http.token: Authorization: Bearer …"}
    problem = guarded.ask("GET", "/api/state", status=401)
    assert problem.headers["Content-Type"] == "application/problem+json"
    assert problem.json["status"] == 401
    assert guarded.ask("GET", "/openapi.json", status=401)
    assert guarded.ask("GET", "/metrics", status=401)
    assert guarded.ask("GET", "/speakers", headers=TOKEN).json
    assert guarded.ask("GET", "/health").json == {"status": "ok", "version": "0.1.0"}
    assert guarded.ask("GET", "/health", headers=TOKEN).json["speakers"]["mei"]["state"] == "ready"


def test_cors_is_for_configured_pages_alone(guarded):
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = guarded.ask("OPTIONS", "/audio_query", headers=asked)
    assert preflight.headers["Access-Control-Allow-Origin"] == PAGE
    answer = guarded.ask("GET", "/speakers", headers={**TOKEN, "Origin": PAGE})
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    evil = {**asked, "Origin": "https://evil.example"}
    refused = guarded.ask("OPTIONS", "/audio_query", headers=evil, status=403)
    assert "Access-Control-Allow-Origin" not in refused.headers
    own = guarded.ask("GET", "/speakers", headers=TOKEN)
    assert "Access-Control-Allow-Origin" not in own.headers
    assert own.headers["X-Content-Type-Options"] == "nosniff"


def test_without_origins_no_page_may_read(node):
    answer = node.ask("GET", "/speakers", headers={"Origin": PAGE}, status=403)
    assert answer.json == {"detail": "pages of that origin may not use this server; see http.origins"}


def test_a_name_that_was_led_here_is_refused(node):
    answer = node.ask("POST", "/api/announce", body=b"x", headers={"Host": "evil.example"}, status=421)
    assert answer.json["detail"] == "this machine is not known under that name; see http.hosts"
    assert not node.events


def test_bodies_are_bounded_whether_their_length_is_told_or_not(guarded):
    big = b"x" * 20_001
    assert guarded.ask("POST", "/api/announce", body=big, headers=TOKEN, status=413).json["status"] == 413
    connection = http.client.HTTPConnection("127.0.0.1", guarded.port, timeout=10)
    connection.request("POST", "/api/announce", iter([big[:10_000]] * 3), TOKEN, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/../../asagoe.yaml", "/static/x", "//etc/passwd"]
)
def test_no_path_reaches_the_file_system(node, path):
    assert b"root:" not in node.ask("GET", path, status=404).body


def test_a_word_uuid_or_a_preset_is_no_path(node):
    node.ask("DELETE", "/user_dict_word/..%2f..%2fasagoe.yaml", status=404)
    assert node.file.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"text": "\\ud800"}',
        b'{"text": 1}',
        b"null",
        b'{"text": "x", "speed": NaN}',
        b'{"text": "x", "speed": 1e999}',
        b'{"text": "x", "sample_rate": 99999999999999999999999}',
        b'{"text": "x", "unknown": true}',
    ],
)
def test_a_body_that_is_none_is_a_problem_of_the_client(node, body):
    answer = node.ask("POST", "/api/say", body=body, headers={"Content-Type": "application/json"}, status=None)
    assert answer.status in (400, 422), answer.body
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(answer.json) == {"type", "title", "status", "detail"}


def test_a_client_that_sends_nothing_holds_up_nobody(node):
    with socket.create_connection(("127.0.0.1", node.port)) as slow:
        slow.sendall(b"POST /api/say HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        began = time.monotonic()
        node.ask("GET", "/version")
        assert time.monotonic() - began < 2
