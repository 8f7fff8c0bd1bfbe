import asyncio
from datetime import timedelta

from daemon.agenda.speech import Speech
from daemon.config import AnnouncementDefaults, parse_config
from daemon.schedule.entries import entries_of, schedule_of
from daemon.schedule.scheduler import Entry, Occurrence
from tests.fakes.briefings import at
from tests.fakes.clock import FakeClock

CONFIG = """
briefings: {morning: {sections: [{kind: date}]}}
schedule:
  - {id: wake, at: "7:00", briefing: morning, volume: 30, chime: rising}
  - {id: bath, at: "20:00", say: お風呂です。}
"""


class Recorder:
    """A briefer, an announcer and a background that only remember."""

    names = ("morning",)

    def __init__(self):
        self.calls = []

    def run(self, name, **options):
        self.calls.append(("run", name, options))

    async def prepare(self, name, due, over):
        self.calls.append(("prepare", name, due, over))

    def submit(self, announcement):
        self.calls.append(("submit", announcement.text, announcement.id))

    def start(self, work, name):
        asyncio.run(work)


def speech():
    recorder = Recorder()
    clock = FakeClock(at("2026-12-01T06:59:58.5"))
    made = Speech(
        clock=clock,
        announcer=recorder,
        briefer=recorder,
        renderer=None,
        bus=None,
        background=recorder,
        defaults=AnnouncementDefaults,
    )
    return made, recorder, schedule_of(parse_config(CONFIG))


def occurrence(name, item):
    return Occurrence(Entry(name, item.rule(), timedelta(60)), at("2026-12-01T07:00:00"))


def test_an_entry_of_the_schedule_prepares_and_tells_its_briefing_in_its_own_manner():
    made, recorder, items = speech()
    due = at("2026-12-01T07:00:00")
    over = {"volume": 30, "chime": "rising"}
    made.prepare(occurrence("wake", items["wake"]), items["wake"])
    made.due(occurrence("wake", items["wake"]), items["wake"])
    made.now("wake", items["wake"])
    assert recorder.calls == [
        ("prepare", "morning", due, over),
        ("run", "morning", {"due": due, "announcement_id": "wake@20261201T070000Z", "over": over}),
        ("run", "morning", {"over": over}),
    ]


def test_an_entry_with_a_text_can_be_said_now_under_an_id_of_its_own():
    made, recorder, items = speech()
    chosen = made.now("bath", items["bath"])
    ((kind, text, name),) = recorder.calls
    assert name == chosen
    assert (kind, text) == ("submit", "お風呂です。")
    assert not name.startswith("bath@")  # else the occurrence itself would be taken for its copy


def test_a_briefing_that_there_is_no_more_is_not_prepared():
    made, recorder, _ = speech()
    made.prepare_briefing("evening", at("2026-12-01T07:00:00"))
    assert recorder.calls == []


def test_what_is_due_is_listed_with_its_briefing():
    assert {name: text for name, (_, text) in entries_of(parse_config(CONFIG)).items()} == {
        "wake": "briefing morning",
        "bath": "お風呂です。",
    }
