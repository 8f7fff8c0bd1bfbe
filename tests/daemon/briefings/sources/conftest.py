from __future__ import annotations

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from daemon.briefings.fetcher import Answer
from daemon.briefings.http_fetcher import HttpFetcher, Patience
from daemon.briefings.section import Surroundings
from daemon.errors import SectionError
from tests.daemon.briefings.sources.source_server import Authority, SourceServer

TOKYO = ZoneInfo("Asia/Tokyo")


@pytest.fixture
def server():
    with SourceServer() as running:
        yield running


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


def fetcher_of(patience):
    """Names below .test lead to this machine, as names of the house."""

    async def resolver(host, port):
        if host.endswith(".test"):
            return ["127.0.0.1"]
        raise OSError(f"nobody knows {host}")

    return HttpFetcher("1.2.3", patience=patience, house=lambda: ["weather.test", "other.test"], resolver=resolver)


@pytest.fixture
def fetcher():
    return fetcher_of(Patience(connect=5.0, read=5.0, total=10.0))


@pytest.fixture
def impatient():
    return fetcher_of(Patience(connect=0.3, read=0.3, total=0.6))


class Answers:
    """A fetcher that has its answers."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def get(self, url, *, accept, limit, headers=None):
        self.asked.append(url)
        for part, answer in self.answers.items():
            if part.replace("_", ".") in url:
                if isinstance(answer, Exception):
                    raise answer
                return answer if isinstance(answer, Answer) else Answer(answer, accept[0], "utf-8")
        raise SectionError("nobody answers")


class House:
    """What sections see, and a way to hear what they say."""

    def __init__(self):
        self.fetcher = Answers()
        self.holidays = {}

    def around(self, due, *, last=None, language="ja", zone=TOKYO):
        moment = datetime.fromisoformat(due)
        return Surroundings(
            due=moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone),
            zone=zone,
            language=language,
            fetcher=self.fetcher,
            topics={},
            holiday=self.holidays.get,
            last=last,
        )

    def fetch(self, section, due, **options):
        return asyncio.run(section.fetch(self.around(due, **options)))

    def facts(self, section, due, **options):
        """Fetched and told at the same moment."""
        return section.facts(self.fetch(section, due, **options), self.around(due, **options))

    def says(self, kind, settings, due, *, language="ja", data=None, **options):
        """The default words; None when there is nothing worth saying."""
        template = pytest.importorskip("daemon.briefings.words.template")
        section = kind.section(kind.settings.model_validate(settings))
        around = self.around(due, language=language, **options)
        facts = section.facts(asyncio.run(section.fetch(around)) if data is None else data, around)
        if facts is None:
            return None
        words = template.compile_template(kind.template(language), language)
        return words.render({**facts, "due": around.due, "now": around.due, "topics": {}})


@pytest.fixture
def house():
    return House()
