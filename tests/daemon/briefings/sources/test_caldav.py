"""Calendars of a CalDAV server: of Radicale where it is installed, and of servers that misbehave."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import socket
import subprocess
import sys
import time
from datetime import date

import pytest

from daemon.briefings.sections.caldav import CalDav
from daemon.briefings.sections.calendar import KIND, CalDavSettings, CalendarSettings
from daemon.errors import SectionError
from tests.daemon.briefings.sources.test_ics import TOKYO, ics

FIRST, LAST = date(2026, 12, 1), date(2026, 12, 9)
EVENTS = {
    "1": ["UID:1\nDTSTART:20261201T223000Z\nDTEND:20261201T233000Z\nSUMMARY:電話会議"],
    "2": [
        "UID:2\nDTSTART;VALUE=DATE:20261201\nRRULE:FREQ=DAILY;COUNT=5\nSUMMARY:当番",
        "UID:2\nRECURRENCE-ID;VALUE=DATE:20261202\nDTSTART;VALUE=DATE:20261204\nSUMMARY:当番（交代）",
    ],
    "3": ["UID:3\nDTSTART:20201202T000000Z\nDTEND:20201202T010000Z\nSUMMARY:昔の会議"],
}


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def radicale(tmp_path):
    """A server with the calendars 仕事 and 家 of alice; gives its address."""
    if importlib.util.find_spec("radicale") is None:
        pytest.skip("Radicale is not installed")
    users = tmp_path / "users"
    users.write_text("alice:pa55\n")
    home = tmp_path / "data" / "collection-root" / "alice"
    for folder, name, events in (
        ("work", "仕事", EVENTS),
        ("home", "家", {"9": ["UID:9\nDTSTART:20261202T030000Z\nSUMMARY:昼食"]}),
    ):
        (home / folder).mkdir(parents=True)
        props = {"tag": "VCALENDAR", "D:displayname": name}
        (home / folder / ".Radicale.props").write_text(json.dumps(props), encoding="utf-8")
        for uid, parts in events.items():
            (home / folder / f"{uid}.ics").write_bytes(ics(*parts))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "--server-hosts": f"127.0.0.1:{port}",
        "--auth-type": "htpasswd",
        "--auth-htpasswd-filename": str(users),
        "--auth-htpasswd-encryption": "plain",
        "--auth-delay": "0",
        "--storage-filesystem-folder": str(tmp_path / "data"),
    }
    command = [sys.executable, "-m", "radicale", "--config", "", *(f"{key}={value}" for key, value in options.items())]
    log = (tmp_path / "log").open("w")
    with log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            deadline = time.monotonic() + 20
            while not listens(port):
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def read(fetcher, url, **settings):
    caldav = CalDav(CalDavSettings.model_validate({"url": url} | settings))
    return asyncio.run(caldav.read(FIRST, LAST, TOKYO, fetcher))


ALICE = {"user": "alice", "password": "pa55"}


@pytest.mark.parametrize("path", ["/", "/alice/", "/alice/work/", "/alice/work"])
def test_calendars_are_found_from_any_address_of_the_server(radicale, fetcher, path):
    texts = read(fetcher, radicale + path, **ALICE, calendar="仕事")
    assert len(texts) == 2  # what was in another year does not come
    assert sorted("電話会議" in text.decode() for text in texts) == [False, True]


def test_without_a_name_all_calendars_are_read(radicale, fetcher):
    assert len(read(fetcher, radicale, **ALICE)) == 3


def test_a_name_that_is_not_there_is_answered_with_those_that_are(radicale, fetcher):
    with pytest.raises(SectionError, match=r"there is no calendar '学校'; there are (仕事, 家|家, 仕事)"):
        read(fetcher, radicale, **ALICE, calendar="学校")


def test_a_wrong_password_is_one_sentence_without_it(radicale, fetcher, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(SectionError) as caught:
        read(fetcher, radicale + "/alice/work/", user="alice", password="wr0ng")
    assert str(caught.value) == "127.0.0.1: answers 401 (Unauthorized)"
    assert "wr0ng" not in caplog.text


def test_a_day_of_a_server(radicale, fetcher, house):
    house.fetcher = fetcher
    section = KIND.section(CalendarSettings.model_validate({"caldav": {"url": radicale} | ALICE}))
    data = house.fetch(section, "2026-12-02T07:00")
    days = {
        day: [
            event["summary"]
            for event in section.facts(data, house.around(f"2026-12-{day:02}T07:00"))["days"][0]["events"]
        ]
        for day in (2, 3, 4)
    }
    assert days == {2: ["電話会議", "昼食"], 3: ["当番"], 4: ["当番", "当番（交代）"]}


# Servers that misbehave.


def multistatus(*responses):
    body = "".join(f"<D:response>{response}</D:response>" for response in responses)
    head = '<?xml version="1.0"?><D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">'
    return f"{head}{body}</D:multistatus>".encode()


def calendar_at(href, *, components="VEVENT"):
    kinds = "<D:resourcetype><D:collection/><C:calendar/></D:resourcetype><D:displayname>家</D:displayname>"
    supported = (
        f'<C:supported-calendar-component-set><C:comp name="{components}"/></C:supported-calendar-component-set>'
    )
    return f"<D:href>{href}</D:href><D:propstat><D:prop>{kinds}{supported}</D:prop></D:propstat>"


def link(name, href):
    return f"<D:href>/</D:href><D:propstat><D:prop><{name}><D:href>{href}</D:href></{name}></D:prop></D:propstat>"


def serve(server, **answers):
    for path, body in answers.items():
        server.routes["/" + path] = lambda h, body=body: h.answer(body, "application/xml; charset=utf-8", status=207)
    return f"http://weather.test:{server.port}/dav"


@pytest.mark.parametrize("href", ["http://evil.test/cal", "//evil.test/cal", "https://weather.test/cal", "http://[x"])
def test_the_password_goes_to_no_other_host(server, fetcher, href):
    url = serve(server, dav=multistatus(link("C:calendar-home-set", href)))
    with pytest.raises(SectionError, match="which would get the password"):
        read(fetcher, url, **ALICE)
    assert len(server.seen) == 1


def test_links_that_lead_in_circles_end(server, fetcher):
    url = serve(
        server,
        dav=multistatus(link("D:current-user-principal", "/two")),
        two=multistatus(link("C:calendar-home-set", "/dav"), link("D:current-user-principal", "/two")),
    )
    with pytest.raises(SectionError, match="no calendar is found"):
        read(fetcher, url, **ALICE)
    assert len(server.seen) == 2


def test_lists_of_tasks_are_no_calendars(server, fetcher):
    url = serve(server, dav=multistatus(calendar_at("/tasks/", components="VTODO")))
    with pytest.raises(SectionError, match="no calendar is found"):
        read(fetcher, url, **ALICE)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"\xff\xfe", b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', b"<a>" * 3 + b"</a>", b"<a>" * 100_000],
)
def test_an_answer_that_is_no_list_is_one_sentence(server, fetcher, body):
    with pytest.raises(SectionError, match=r"weather\.test: the answer is no list of calendars"):
        read(fetcher, serve(server, dav=body), **ALICE)


def test_a_page_for_people_is_refused_by_its_type(server, fetcher):
    server.routes["/dav"] = lambda h: h.answer(b"<html>", "text/html")
    with pytest.raises(SectionError, match="sends text/html"):
        read(fetcher, f"http://weather.test:{server.port}/dav", **ALICE)


def test_a_fetcher_that_only_gets_says_so(house):
    with pytest.raises(SectionError, match="cannot ask CalDAV servers"):
        read(house.fetcher, "http://nas.local/dav")
