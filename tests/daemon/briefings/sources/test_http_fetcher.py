"""The fetcher: on time, within its bounds, and silent about secrets, whatever a server does."""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import logging
import socket
import time
import tracemalloc
import zlib

import pytest

from daemon.briefings import http_fetcher
from daemon.briefings.addresses import is_public, names_the_house, parse_address
from daemon.briefings.fetcher import Fetcher, WebDavFetcher
from daemon.briefings.http_fetcher import HttpFetcher, Patience
from daemon.errors import SectionError
from tests.daemon.briefings.sources.source_server import SourceServer

JSON = ("application/json",)
SECRETS = ("s3cret", "t0ken", "hidden", "alice", "pa55")


def get(fetcher, server, path="/", *, host="weather.test", accept=JSON, limit=100_000, headers=None, scheme="http"):
    url = f"{scheme}://{host}:{server.port}{path}"
    return asyncio.run(fetcher.get(url, accept=accept, limit=limit, headers=headers))


def refusal(fetcher, server, path="/", **options):
    with pytest.raises(SectionError) as caught:
        get(fetcher, server, path, **options)
    return str(caught.value)


# What comes.


def test_it_is_both_kinds_of_fetcher(fetcher):
    plain: Fetcher = fetcher
    assert isinstance(plain, WebDavFetcher)


def test_a_good_answer_has_body_type_and_charset(fetcher, server):
    server.routes["/data"] = lambda h: h.answer('{"a": "あ"}'.encode(), "Application/JSON; charset=UTF-8")
    answer = get(fetcher, server, "/data?q=1")
    assert (answer.body.decode(), answer.content_type, answer.charset) == ('{"a": "あ"}', "application/json", "utf-8")
    command, path, headers, _ = server.seen[0]
    assert (command, path) == ("GET", "/data?q=1")
    assert headers["User-Agent"] == "Asagoe/1.2.3"
    assert headers["Host"] == f"weather.test:{server.port}"
    assert headers["Accept"] == "application/json"


@pytest.mark.parametrize(
    ("kind", "accept", "good"),
    [
        ("application/json", JSON, True),
        ("text/calendar;charset=utf-8", ("text/*",), True),
        ("TEXT/XML", ("text/xml", "application/xml"), True),
        ("text/html", JSON, False),
        ("application/jsonp", JSON, False),
        (None, JSON, False),
        (None, ("application/octet-stream",), True),
        ("", JSON, False),
    ],
)
def test_only_the_types_that_were_asked_for_are_taken(fetcher, server, kind, accept, good):
    server.routes["/"] = lambda h: h.answer(b"{}", kind)
    if good:
        assert get(fetcher, server, accept=accept).body == b"{}"
    else:
        assert "is expected" in refusal(fetcher, server, accept=accept)


@pytest.mark.parametrize(
    ("status", "words"),
    [(404, "404 (Not Found)"), (500, "500"), (429, "429"), (304, "304"), (204, "204"), (299, "299")],
)
def test_another_status_is_named(fetcher, server, status, words):
    server.routes["/"] = lambda h: h.answer(b"", status=status)
    assert words in refusal(fetcher, server)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("identity", bytes),
    ],
)
def test_packed_answers_are_unpacked(fetcher, server, encoding, pack):
    text = b"[" + b"1, " * 5000 + b"1]"
    server.routes["/"] = lambda h: h.answer(pack(text), Content_Encoding=encoding)
    assert get(fetcher, server).body == text


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "zstd"])
def test_other_encodings_are_refused(fetcher, server, encoding):
    server.routes["/"] = lambda h: h.answer(gzip.compress(gzip.compress(b"{}")), Content_Encoding=encoding)
    assert "unknown way" in refusal(fetcher, server)


# What does not come, or too much of it.


def test_half_a_body_is_no_answer(fetcher, server):
    def half(h):
        h.head("application/json", Content_Length="1000")
        h.wfile.write(b"[1, 2,")
        h.close_connection = True

    server.routes["/"] = half
    assert "broke off" in refusal(fetcher, server)


def test_half_a_packed_body_is_no_answer(fetcher, server):
    server.routes["/"] = lambda h: h.answer(gzip.compress(b"x" * 9000)[:-20], Content_Encoding="gzip")
    assert "damaged" in refusal(fetcher, server)


def test_a_chunked_body_that_ends_early_is_no_answer(fetcher, server):
    def cut(h):
        h.head("application/json", Transfer_Encoding="chunked")
        h.wfile.write(b"5\r\n[1, 2\r\n")
        h.close_connection = True

    server.routes["/"] = cut
    assert "broke off" in refusal(fetcher, server)


def test_a_large_answer_is_refused_by_its_header(fetcher, server):
    def large(h):
        h.head("application/json", Content_Length="50000000")
        while not h.server.stopping.is_set():
            h.wfile.write(bytes(65536))

    server.routes["/"] = large
    started = time.monotonic()
    assert "larger than 0.1 MB" in refusal(fetcher, server)
    assert time.monotonic() - started < 1


def test_a_large_answer_without_a_header_ends_at_the_limit(fetcher, server):
    sent = 0

    def large(h):
        nonlocal sent
        h.head("application/json", Transfer_Encoding="chunked")
        for _ in range(50):
            h.wfile.write(b"f4240\r\n" + bytes(1_000_000) + b"\r\n")
            sent += 1_000_000

    server.routes["/"] = large
    assert "larger than 0.1 MB" in refusal(fetcher, server)
    assert sent < 10_000_000  # what lies in the buffers of the system


def test_a_gigabyte_in_a_megabyte_does_not_unfold(fetcher, server):
    bomb = gzip.compress(bytes(1 << 24)) * 64
    assert len(bomb) < 1_100_000
    server.routes["/"] = lambda h: h.answer(bomb, Content_Encoding="gzip")
    tracemalloc.start()
    try:
        assert "larger than 2 MB" in refusal(fetcher, server, limit=2_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12_000_000


def test_a_body_of_just_the_limit_is_taken_and_a_byte_more_is_not(fetcher, server):
    server.routes["/"] = lambda h: h.answer(gzip.compress(bytes(1000)), Content_Encoding="gzip")
    assert len(get(fetcher, server, limit=1000).body) == 1000
    assert "larger than" in refusal(fetcher, server, limit=999)


def test_a_slow_drip_ends_at_the_deadline(impatient, server):
    def drip(h):
        h.head("application/json", Content_Length="1000")
        while not h.server.stopping.wait(0.1):
            h.wfile.write(b" ")

    server.routes["/"] = drip
    started = time.monotonic()
    assert refusal(impatient, server) == "weather.test: not answered within 0.6 s"
    assert 0.5 < time.monotonic() - started < 2


def test_silence_ends_before_the_deadline(impatient, server):
    server.routes["/"] = lambda h: h.server.stopping.wait(5)
    started = time.monotonic()
    assert refusal(impatient, server) == "weather.test: silent for 0.3 s"
    assert time.monotonic() - started < 2


def test_endless_headers_are_refused(fetcher, server):
    def talk(h):
        h.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not h.server.stopping.is_set():
            h.wfile.write(b"X-More: " + b"x" * 5000 + b"\r\n")

    server.routes["/"] = talk
    assert "broke off" in refusal(fetcher, server)


def test_what_is_no_http_is_refused(fetcher, server):
    def nonsense(h):
        h.wfile.write(b"SSH-2.0-OpenSSH_9.9\r\n")
        h.close_connection = True

    server.routes["/"] = nonsense
    assert "broke off" in refusal(fetcher, server)


def test_a_port_where_nobody_listens_refuses(fetcher):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://weather.test:{free.getsockname()[1]}/"
        with pytest.raises(SectionError, match=r"^weather\.test: refuses the connection$"):
            asyncio.run(fetcher.get(url, accept=JSON, limit=10))


def test_without_a_network_the_name_has_no_address(fetcher):
    with pytest.raises(SectionError, match=r"^api\.example\.org: the name has no address now"):
        asyncio.run(fetcher.get("https://api.example.org/s3cret", accept=JSON, limit=10))


def test_a_call_that_is_cancelled_leaves_nothing_behind(fetcher, server):
    server.routes["/"] = lambda h: h.server.stopping.wait(5)

    async def body():
        task = asyncio.create_task(fetcher.get(f"http://weather.test:{server.port}/", accept=JSON, limit=10))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(body())


def test_a_proxy_of_the_environment_is_not_used(fetcher, server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.routes["/"] = lambda h: h.answer(b"{}")
    assert get(fetcher, server).body == b"{}"


# Redirects.


def redirect(target, status=302):
    return lambda h: h.answer(b"", status=status, Location=target)


def test_three_redirects_are_followed_and_not_four(fetcher, server):
    for number in range(4):
        server.routes[f"/{number}"] = redirect(f"/{number + 1}", 301 + number % 2)
    server.routes["/4"] = lambda h: h.answer(b"{}")
    assert get(fetcher, server, "/1").body == b"{}"
    assert "more than 3 times" in refusal(fetcher, server, "/0")


def test_a_loop_of_redirects_ends(fetcher, server):
    server.routes["/"] = redirect("/", 307)
    assert "more than 3 times" in refusal(fetcher, server)
    assert len(server.seen) == 4


@pytest.mark.parametrize("target", ["", "javascript:alert(1)", "file:///etc/passwd", "http://[", "http://a b/"])
def test_a_redirect_to_something_else_is_refused(fetcher, server, target):
    server.routes["/"] = redirect(target)
    assert "redirects to something" in refusal(fetcher, server)


def test_headers_and_credentials_stay_with_their_host(fetcher, server):
    server.routes["/"] = redirect("/same")
    server.routes["/same"] = redirect(f"http://other.test:{server.port}/other")
    server.routes["/other"] = lambda h: h.answer(b"{}")
    get(fetcher, server, host="alice:pa55@weather.test", headers={"X-Key": "s3cret"})
    first, same, other = (headers for _, _, headers, _ in server.seen)
    assert first["X-Key"] == same["X-Key"] == "s3cret"
    assert first["Authorization"] == same["Authorization"] == "Basic YWxpY2U6cGE1NQ=="
    assert not {"X-Key", "Authorization"} & set(other)


def test_a_user_in_a_redirect_is_not_used(fetcher, server):
    server.routes["/"] = redirect(f"http://bob:builder@other.test:{server.port}/other")
    server.routes["/other"] = lambda h: h.answer(b"{}")
    get(fetcher, server)
    assert "Authorization" not in server.seen[1][2]


# Networks.


@pytest.fixture
def outside(monkeypatch):
    """127.0.0.1 counts as a public address; the others of this machine and the house do not."""
    real = http_fetcher.is_public
    monkeypatch.setattr(http_fetcher, "is_public", lambda address: str(address) == "127.0.0.1" or real(address))


def fetcher_with(answers, **options):
    asked = []

    async def resolver(host, port):
        asked.append(host)
        found = answers[host]
        return found.pop(0) if isinstance(found[0], list) else found

    made = HttpFetcher("1", patience=Patience(5, 5, 10), resolver=resolver, **options)
    return made, asked


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    "target",
    ["127.0.0.2", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[::1]", "[fe80::1]", "[::ffff:10.0.0.1]", "0.0.0.0",
     "printer.example", "nas.local", "2130706434"],
)  # fmt: skip
def test_a_redirect_from_outside_does_not_lead_into_the_house(server, target):
    made, _ = fetcher_with(
        {
            "news.example": ["127.0.0.1"],
            "printer.example": ["192.168.1.9", "fd00::9"],
            "nas.local": ["192.168.1.8"],
            "2130706434": ["127.0.0.2"],
        }
    )
    server.routes["/"] = redirect(f"http://{target}:{server.port}/secret")
    server.routes["/secret"] = lambda h: h.answer(b"{}")
    assert "private network" in refusal(made, server, host="news.example")
    assert len(server.seen) == 1


def test_a_public_name_that_leads_into_the_house_is_refused(server):
    made, _ = fetcher_with({"news.example": ["127.0.0.1"]})
    assert "private network" in refusal(made, server, host="news.example")
    assert server.seen == []


def test_an_address_of_the_house_that_was_configured_is_fetched(server):
    made, _ = fetcher_with({"localhost": ["127.0.0.1"], "nas.local": ["127.0.0.1"], "my.example": ["127.0.0.1"]})
    server.routes["/"] = lambda h: h.answer(b"{}")
    for host in ("127.0.0.1", "localhost", "nas.local"):
        assert get(made, server, host=host).body == b"{}"
    named, _ = fetcher_with({"my.example": ["127.0.0.1"]}, house=lambda: ["My.Example."])
    assert get(named, server, host="my.example").body == b"{}"


@pytest.mark.usefixtures("outside")
def test_once_outside_there_is_no_way_back_into_the_house(server):
    made, _ = fetcher_with({"nas.local": ["127.0.0.2"], "news.example": ["127.0.0.1"]})
    server.routes["/"] = redirect(f"http://nas.local:{server.port}/", 302)
    assert "private network" in refusal(made, server, host="news.example")


@pytest.mark.usefixtures("outside")
def test_the_connection_goes_to_the_address_that_was_checked(server):
    """A name that answers differently the second time is asked once."""
    made, asked = fetcher_with({"news.example": [["127.0.0.1"], ["127.0.0.2"]]})
    server.routes["/"] = lambda h: h.answer(b"{}")
    assert get(made, server, host="news.example").body == b"{}"
    assert asked == ["news.example"]
    assert server.seen[0][2]["Host"] == f"news.example:{server.port}"


@pytest.mark.usefixtures("outside")
def test_private_addresses_beside_public_ones_are_passed_over(server):
    made, _ = fetcher_with({"news.example": ["127.0.0.2", "10.0.0.1", "127.0.0.1"]})
    server.routes["/"] = lambda h: h.answer(b"{}")
    assert get(made, server, host="news.example").body == b"{}"


def test_the_next_address_is_tried_when_one_does_not_answer(server):
    made, _ = fetcher_with({"nas.local": ["127.0.0.3", "127.0.0.1"]})
    server.routes["/"] = lambda h: h.answer(b"{}")
    assert get(made, server, host="nas.local").body == b"{}"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("2001:4860:4860::8888", True), ("64:ff9b::808:808", True), ("2002:808:808::1", True),
        ("::ffff:8.8.8.8", True),
        ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.0.1", False), ("127.9.9.9", False), ("0.0.0.0", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("224.0.0.1", False), ("255.255.255.255", False),
        ("192.0.2.1", False), ("198.18.0.1", False), ("240.0.0.1", False),
        ("::", False), ("::1", False), ("fe80::1%eth0", False), ("fc00::1", False), ("fd12::1", False),
        ("ff02::1", False), ("2001:db8::1", False), ("::ffff:10.0.0.1", False), ("64:ff9b::a00:1", False),
        ("2002:a00:1::1", False), ("64:ff9b:1::1", False), ("2001:0:a00:1::f5ff:fffe", False),
    ],
)  # fmt: skip
def test_public_addresses(address, public):
    assert is_public(parse_address(address)) is public


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("192.168.1.5", True), ("localhost", True), ("nas", True), ("NAS.local", True), ("pi.home.arpa", True),
        ("fritz.lan.", True), ("[fe80::1]", True), ("8.8.8.8", False), ("api.open-meteo.com", False),
        ("local.example.com", False), ("notlocal", True), ("evil-local.com", False),
    ],
)  # fmt: skip
def test_names_of_the_house(host, own):
    assert names_the_house(host) is own


# TLS.


def secure(authority, **options):
    async def resolver(host, port):
        return ["127.0.0.1"]

    return HttpFetcher(
        "1", patience=Patience(5, 5, 10), house=lambda: ["weather.test"], resolver=resolver, trust=authority.trust()
    )


def test_a_certificate_is_checked_by_the_name_not_by_the_address(authority):
    with SourceServer(authority.server_context("weather.test")) as server:
        server.routes["/"] = lambda h: h.answer(b"{}")
        assert get(secure(authority), server, scheme="https").body == b"{}"


def test_an_expired_certificate_is_refused_and_named(authority):
    context = authority.server_context("weather.test", lifetime=dt.timedelta(days=-1))
    with SourceServer(context) as server:
        words = refusal(secure(authority), server, "/s3cret", scheme="https")
        assert words == "weather.test: its certificate is refused (certificate has expired)"
        assert server.seen == []


def test_a_certificate_of_another_name_is_refused(authority):
    with SourceServer(authority.server_context("127.0.0.1")) as server:
        assert "its certificate is refused (Hostname mismatch" in refusal(secure(authority), server, scheme="https")


def test_without_a_trusted_authority_there_is_no_answer(authority, fetcher):
    with SourceServer(authority.server_context("weather.test")) as server:
        assert "its certificate is refused" in refusal(fetcher, server, scheme="https")


def test_a_redirect_from_https_to_http_is_refused(authority):
    with SourceServer(authority.server_context("weather.test")) as server:
        server.routes["/"] = redirect("http://weather.test/plain")
        assert "from https to http" in refusal(secure(authority), server, scheme="https")


def test_a_server_without_tls_is_told_so(authority, server):
    assert refusal(secure(authority), server, scheme="https") == "weather.test: TLS cannot be agreed upon"


# Secrets.


@pytest.mark.parametrize("url", ["", "ftp://x/", "http:///x", "http://", "x", "http://a b/", "http://x:99999/", "http://x/\r\nA: b", "http://\x00/", "http://[::1/"])  # fmt: skip
def test_what_is_no_address_is_refused_without_being_repeated(fetcher, url):
    with pytest.raises(SectionError) as caught:
        asyncio.run(fetcher.get(url, accept=JSON, limit=10))
    assert str(caught.value) == "the address is not one of http or https"


def test_no_failure_repeats_the_secrets_of_an_address(fetcher, server, caplog):
    caplog.set_level(logging.DEBUG)

    def half(h):
        h.head("application/json", Content_Length="1000")
        h.close_connection = True

    server.routes |= {
        "/t0ken/good": lambda h: h.answer(b"{}"),
        "/t0ken/404": lambda h: h.answer(b"", status=404),
        "/t0ken/type": lambda h: h.answer(b"", "text/hidden-s3cret"),
        "/t0ken/half": half,
        "/t0ken/large": lambda h: h.answer(bytes(200_000)),
        "/t0ken/loop": redirect("/t0ken/loop?key=s3cret"),
        "/t0ken/else": redirect("gopher://t0ken/s3cret"),
        "/t0ken/private": redirect("http://alice:pa55@other.example/t0ken"),
    }
    said: list[str] = []
    hidden: list[bool] = []
    for path in server.routes:
        try:
            get(fetcher, server, f"{path}?key=s3cret#hidden", host="alice:pa55@weather.test")
        except SectionError as error:
            link = error
            while link is not None:
                if path != "/t0ken/type":
                    said.append(f"{link!r}")
                link = link.__cause__
            hidden.append(error.__suppress_context__ or error.__context__ is None)
    assert len(said) == 6
    assert all(hidden)
    text = "\n".join([*said, *(record.getMessage() for record in caplog.records)])
    assert [secret for secret in SECRETS if secret in text] == []


def test_a_redirect_keeps_the_method_and_its_content(fetcher, server):
    server.routes["/"] = redirect("/home/", 301)
    server.routes["/home/"] = lambda h: h.answer(b"<x/>", "application/xml", status=207)
    answer = asyncio.run(
        fetcher.request(
            "PROPFIND", f"http://weather.test:{server.port}/", accept=("application/xml",), limit=10, content=b"<q/>"
        )
    )
    assert answer.body == b"<x/>"
    assert [(command, content) for command, _, _, content in server.seen] == [("PROPFIND", b"<q/>")] * 2
