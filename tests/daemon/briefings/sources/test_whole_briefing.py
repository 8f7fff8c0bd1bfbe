"""A whole briefing from a server that plays every source, well and badly behaved."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from datetime import datetime

import pytest

from daemon.briefings.composer import compose
from daemon.briefings.gathering import Gatherer
from daemon.briefings.memory import LastGood
from daemon.briefings.plan import plan_of
from daemon.clock import SystemClock
from daemon.config.briefings import BriefingConfig
from daemon.schedule.calendar import Calendar
from tests.daemon.briefings.sources.test_ics import TOKYO, ics
from tests.daemon.briefings.sources.test_news import rss
from tests.daemon.briefings.sources.test_weather import meteo

SECRET = "s3cret"


class DayClock(SystemClock):
    """A clock that stands at a moment; its monotonic side runs."""

    def __init__(self, moment):
        self.moment = datetime.fromisoformat(moment).replace(tzinfo=TOKYO)

    def now(self):
        return self.moment


def briefing(port, *kinds):
    base = f"http://weather.test:{port}"
    sections = {
        "weather": {"kind": "weather", "latitude": 35.68, "longitude": 139.77, "server": base, "api_key": SECRET},
        "calendar": {"kind": "calendar", "url": f"{base}/{SECRET}/basic.ics"},
        "waste": {"kind": "waste", "rules": [{"name": "燃えるごみ", "days": ["tue", "fri"]}]},
        "news": {"kind": "news", "url": f"{base}/rss?key={SECRET}", "count": 1},
        "jma": {"kind": "weather", "id": "jma", "office": "130000", "jma_server": base},
    }
    config = {"sections": [sections[kind] | {"timeout": "1s"} for kind in kinds], "deadline": "2s"}
    return plan_of("morning", BriefingConfig.model_validate(config))


def play(server):
    server.routes |= {
        "/v1/forecast": lambda h: h.answer(json.dumps(meteo()).encode(), "application/json; charset=utf-8"),
        f"/{SECRET}/basic.ics": lambda h: h.answer(
            ics("UID:1\nDTSTART:20261201T010000Z\nDURATION:PT1H\nSUMMARY:歯医者"), "text/calendar"
        ),
        "/rss": lambda h: h.answer(rss("雪の予報", "株価が上昇"), "application/rss+xml"),
    }


@pytest.fixture
def compose_at(fetcher, tmp_path):
    def work(plan, due):
        clock = DayClock(due)
        gatherer = Gatherer(
            clock=clock, calendar=lambda: Calendar(TOKYO), fetcher=fetcher, memory=LastGood(tmp_path / "memory")
        )

        async def body():
            started = time.monotonic()
            gathered = await gatherer.gather(plan, clock.now())
            composed = compose(gathered, gatherer.surroundings(plan, clock.now()))
            return composed, time.monotonic() - started

        return asyncio.run(body())

    return work


ALL = ("weather", "calendar", "waste", "news")


def test_a_morning_on_which_everything_answers(server, compose_at):
    play(server)
    composed, _ = compose_at(briefing(server.port, *ALL), "2026-12-01T07:00")
    assert composed.text == (
        "今日の天気は、晴れ。今朝の最低気温は5度、日中は16度まで上がり、昨日より3度高い見込みです。"
        "今夜は晴れ、明日の朝は10度まで下がる見込みです。"
        "今日の予定は1件です。午前10時から、歯医者。次の歯医者まで、あと3時間です。"
        "今日は、燃えるごみの収集日です。"
        "ニュースです。雪の予報。"
    )
    assert [part.source for part in composed.parts] == ["weather.test", "weather.test", None, "weather.test"]


def drip(h):
    h.head("application/json", Content_Length="100000")
    while not h.server.stopping.wait(0.1):
        h.wfile.write(b" ")


def half(h):
    h.head("text/calendar", Content_Length="10000")
    h.wfile.write(ics("UID:1\nDTSTART:20261201T010000Z\nSUMMARY:x"))
    h.close_connection = True


def test_a_morning_on_which_nothing_is_as_it_should_be(server, compose_at):
    server.routes |= {
        "/v1/forecast": drip,
        f"/{SECRET}/basic.ics": half,
        "/rss": lambda h: h.answer(gzip.compress(bytes(1 << 24)) * 8, "application/rss+xml", Content_Encoding="gzip"),
        "/bosai/forecast/data/forecast/130000.json": lambda h: h.answer(b"{}", status=500),
    }
    composed, seconds = compose_at(briefing(server.port, "jma", *ALL), "2026-12-01T07:00")
    assert seconds < 3
    assert composed.text == "今日は、燃えるごみの収集日です。"
    reasons = [part.left_out_because for part in composed.parts]
    assert reasons == [
        "weather.test: answers 500 (Internal Server Error)",
        "no answer within 1 s",
        "weather.test: the connection broke off (RemoteProtocolError)",
        None,
        "weather.test: the answer is larger than 1 MB",
    ]


def test_last_good_values_stand_in_and_the_secrets_of_their_addresses_are_nowhere(server, compose_at, tmp_path, caplog):
    play(server)
    plan = briefing(server.port, *ALL)
    compose_at(plan, "2026-12-01T06:00")
    for path in list(server.routes):
        server.routes[path] = lambda h: h.answer(b"<html>", "text/html")
    composed, _ = compose_at(plan, "2026-12-01T07:00")
    assert composed.text.startswith("1時間前の情報です。今日の天気は、晴れ。")
    assert "1時間前の情報です。今日の予定は1件です。" in composed.text
    assert [part.instead_because is not None for part in composed.parts] == [True, True, False, True]
    kept = "".join(path.name + path.read_text() for path in (tmp_path / "memory").glob("*.json"))
    assert SECRET not in repr(composed) + caplog.text + kept


def test_no_headline_comes_twice_in_two_mornings(server, compose_at):
    play(server)
    plan = briefing(server.port, "news")
    first, _ = compose_at(plan, "2026-12-01T07:00")
    again, _ = compose_at(plan, "2026-12-01T08:00")
    second, _ = compose_at(plan, "2026-12-02T07:00")
    third, _ = compose_at(plan, "2026-12-03T07:00")
    assert [c.text for c in (first, again, second)] == [
        "ニュースです。雪の予報。",
        "ニュースです。雪の予報。",
        "ニュースです。株価が上昇。",
    ]
    assert third.parts[0].left_out_because == "nothing worth saying"


def test_without_a_network_the_rules_of_the_house_are_told(server, compose_at):
    plan = briefing(server.port, *ALL)
    server.shutdown()
    server.socket.close()
    composed, seconds = compose_at(plan, "2026-12-01T07:00")
    assert composed.text == "今日は、燃えるごみの収集日です。"
    assert seconds < 2
