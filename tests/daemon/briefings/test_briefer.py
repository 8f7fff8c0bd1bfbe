import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from daemon.announcement import Priority
from daemon.announcer_commands import add_announcer_commands
from daemon.briefings.briefer import GOOD_FOR, Briefer
from daemon.briefings.commands import add_briefing_commands
from daemon.commands import Commands
from daemon.config import AnnouncementDefaults
from daemon.errors import RequestError
from daemon.service.tasks import Background
from tests.fakes.announcing import House as Speaking
from tests.fakes.announcing import run
from tests.fakes.briefings import House as Sources

PRICE = '{kind: http, url: "https://h/", path: price, text: "{{ value }}円。"}'
MORNING = (
    '{kind: text, id: hello, text: "{{ due | time }}。二つ。三つ。"}',
    PRICE,
    '{kind: text, id: end, text: "以上。"}',
)


class House:
    """The whole way: sources that a test decides, a voice and a sink that can be predicted."""

    def __init__(self, tmp_path, **options):
        self.sources = Sources(tmp_path)
        self.sources.network.answers["https://h/"] = {"price": 120}
        self.speaking = Speaking(tmp_path, **options)
        self.speaking.clock = self.sources.clock
        # Times of the voice are real, moments of the schedule are the test's.
        self.speaking.clock.sleep = lambda seconds: asyncio.sleep(min(seconds, 0.01))

    def configure(self, *sections, defaults=None, **keys):
        config = self.sources.briefing(sections or MORNING, **keys)
        self.briefer.configure({"morning": config}, defaults or AnnouncementDefaults())

    def story(self, name):
        return self.speaking.story(name)

    @property
    def spoken(self):
        return self.speaking.voice.spoken


@asynccontextmanager
async def open_house(tmp_path, **options):
    house = House(tmp_path, **options)
    background = Background()
    async with house.speaking:
        house.briefer = Briefer(
            clock=house.sources.clock,
            gatherer=house.sources.gatherer,
            renderer=house.speaking.renderer,
            announcer=house.speaking.announcer,
            bus=house.speaking.bus,
            start=background.start,
        )
        house.commands = Commands()
        house.entries = {}
        add_announcer_commands(house.commands, house.speaking.announcer)
        add_briefing_commands(house.commands, house.briefer, house.speaking.announcer, entries=lambda: house.entries)
        house.configure()
        yield house


def details(house, kind, name):
    return next(e for e in house.speaking.events if e.type == kind and e.id == name)


def test_a_briefing_is_one_announcement_with_its_events(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            name = house.briefer.run("morning")
            await house.speaking.ended(name)
            assert house.story(name) == ["accepted", "queued", "started", "finished"]
            accepted = details(house, "accepted", name).details
            assert accepted["text"] == ("午前7時。二つ。三つ。120円。以上。")
            assert accepted["origin"] == "briefing"
            assert house.briefer.last["morning"].texts[1] == "120円。"

    run(scenario())


def test_what_was_prepared_is_told_without_asking_or_rendering_again(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            due = house.sources.clock.now() + timedelta(minutes=5)
            await house.briefer.prepare("morning", due)
            assert len(house.sources.network.asked) == 1
            prepared = list(house.spoken)
            assert len(prepared) == 5
            house.sources.network.answers.clear()
            house.sources.clock.advance(300)
            name = house.briefer.run("morning", due=due)
            await house.speaking.ended(name)
            assert house.spoken == prepared  # everything came from the phrase cache
            assert details(house, "finished", name).details["cached"] == 5
            assert len(house.sources.network.asked) == 1
            assert house.briefer.last["morning"].due == due

    run(scenario())


def test_only_what_changed_since_is_rendered_last(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            due = house.sources.clock.now()
            await house.briefer.prepare("morning", due)
            before = len(house.spoken)
            house.sources.clock.advance(12 * 60)  # an alarm rang first
            name = house.briefer.run("morning")
            await house.speaking.ended(name)
            assert len(house.spoken) == before + 1
            assert details(house, "accepted", name).details["text"].startswith("午前7時12分。")
            assert len(house.sources.network.asked) == 1

    run(scenario())


def test_what_was_prepared_long_ago_is_fetched_again(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            await house.briefer.prepare("morning", house.sources.clock.now())
            house.sources.clock.advance(GOOD_FOR + 1)
            await house.speaking.ended(house.briefer.run("morning"))
            assert len(house.sources.network.asked) == 2


def test_one_in_between_leaves_what_was_prepared_for_its_moment(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            due = house.sources.clock.now() + timedelta(minutes=5)
            await house.briefer.prepare("morning", due)
            house.sources.clock.advance(240)
            await house.speaking.ended(house.briefer.run("morning"))
            house.sources.clock.advance(60)
            await house.speaking.ended(house.briefer.run("morning", due=due))
            assert len(house.sources.network.asked) == 1
            assert house.briefer.last["morning"].parts[1].age == 300  # told as it is
            await house.speaking.ended(house.briefer.run("morning"))
            assert len(house.sources.network.asked) == 2

    run(scenario())


def test_a_changed_configuration_forgets_what_was_prepared(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            never = asyncio.Event()
            house.sources.network.answers["https://h/"] = never.wait
            preparing = asyncio.create_task(house.briefer.prepare("morning", house.sources.clock.now()))
            await asyncio.sleep(0.01)
            house.configure("{kind: text, text: 新しい。}")
            await asyncio.wait_for(preparing, 1)
            await house.speaking.ended(house.briefer.run("morning"))
            assert house.briefer.last["morning"].text == "新しい。"

    run(scenario())


def test_a_briefing_that_is_being_made_survives_a_changed_configuration(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            never = asyncio.Event()
            house.sources.network.answers["https://h/"] = never.wait
            preparing = asyncio.create_task(house.briefer.prepare("morning", house.sources.clock.now()))
            await asyncio.sleep(0.01)
            name = house.briefer.run("morning")
            await asyncio.sleep(0.01)
            house.sources.network.answers["https://h/"] = {"price": 7}
            house.configure("{kind: text, text: 新しい。}")
            await asyncio.wait_for(preparing, 1)
            await house.speaking.ended(name)
            assert house.story(name)[-1] == "finished"  # as it was asked for, by the old configuration
            assert "7円。" in details(house, "accepted", name).details["text"]

    run(scenario())


def test_a_briefing_that_begins_while_it_is_prepared_waits_for_the_same_answers(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:

            async def slow():
                await asyncio.sleep(0.1)
                return {"price": 7}

            house.sources.network.answers["https://h/"] = slow
            preparing = asyncio.create_task(house.briefer.prepare("morning", house.sources.clock.now()))
            await asyncio.sleep(0.01)
            name = house.briefer.run("morning")
            assert house.briefer.run("morning") == name  # asked for twice, told once
            await house.speaking.ended(name)
            await preparing
            assert len(house.sources.network.asked) == 1
            assert "7円。" in house.briefer.last["morning"].texts

    run(scenario())


def test_a_briefing_without_words_says_so_and_nothing_else(tmp_path):
    async def scenario():
        async with open_house(tmp_path) as house:
            house.sources.network.answers.clear()
            house.configure(PRICE)
            name = house.briefer.run("morning", announcement_id="a1")
            assert name == "a1"
            await house.speaking.ended("a1")
            assert house.story("a1") == ["dropped"]
            event = details(house, "dropped", "a1")
            assert event.reason == "the briefing has nothing to say"
            assert event.details["left_out"] == {"http": "the host answers 404"}

    run(scenario())


def test_the_manner_comes_from_who_starts_it_then_the_briefing_then_the_defaults(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            made = []
            house.speaking.announcer.submit = made.append
            defaults = AnnouncementDefaults(chime="ding", end_chime="done", priority="low")
            house.configure("{kind: date}", defaults=defaults, volume=40, speed=1.2, chime="rising", speaker="mei")
            house.briefer.run("morning", over={"volume": 20, "style": "Happy"})
            while not made:
                await asyncio.sleep(0.01)
            told = made.pop()
            assert (told.volume, dict(told.options), told.speaker) == (20, {"speed": 1.2, "style": "Happy"}, "mei")
            assert (told.chime, told.end_chime, told.priority) == ("rising", "done", Priority.LOW)
            assert told.start_at is None
            house.briefer.run("morning", due=house.sources.clock.now() + timedelta(seconds=1.5))
            while not made:
                await asyncio.sleep(0.01)
            assert made[0].start_at == pytest.approx(house.sources.clock.monotonic() + 1.5)

    run(scenario())


def test_a_critical_announcement_cuts_in_and_the_briefing_resumes_at_its_section(tmp_path):
    async def scenario():
        async with open_house(tmp_path) as house:
            name = house.briefer.run("morning")
            await house.speaking.until("started", name)
            while len(house.spoken) < 3:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)  # in the second sentence of the first section
            alarm = house.speaking.say("火事です。", priority=Priority.CRITICAL)
            await house.speaking.ended(name, alarm)
            assert house.story(name).count("started") == 2
            assert details(house, "interrupted", name).details["sentence"] == 0
            assert house.story(name)[-1] == "finished"

    run(scenario())


def test_in_a_later_section_it_resumes_at_that_section(tmp_path):
    async def scenario():
        async with open_house(tmp_path) as house:
            house.configure('{kind: text, text: "一。"}', '{kind: text, text: "二番目の文。三つ。"}')
            name = house.briefer.run("morning")
            await house.speaking.until("started", name)
            saying = house.speaking.announcer._current
            while (saying._playback.index or 0) < 2:
                await asyncio.sleep(0.01)
            alarm = house.speaking.say("火事です。", priority=Priority.CRITICAL)
            await house.speaking.ended(name, alarm)
            assert details(house, "interrupted", name).details["sentence"] == 1

    run(scenario())


def test_it_can_be_paused_and_gone_on_with_at_its_sentence(tmp_path):
    async def scenario():
        async with open_house(tmp_path) as house:
            name = house.briefer.run("morning")
            await house.speaking.until("started", name)
            saying = house.speaking.announcer._current
            while (saying._playback.index or 0) < 1:
                await asyncio.sleep(0.01)
            house.commands.carry_out("do/pause", "")
            event = await house.speaking.until("interrupted", name)
            assert (event.reason, event.details["sentence"]) == ("paused", 1)
            assert house.speaking.announcer.held.id == name
            other = house.speaking.say("別の知らせ。")
            await house.speaking.ended(other)  # what is paused holds up nobody
            assert house.story(name)[-1] == "interrupted"
            house.commands.carry_out("do/resume", "")
            await house.speaking.ended(name)
            assert house.story(name)[-2:] == ["started", "finished"]
            resumed = [e for e in house.speaking.events if e.type == "started" and e.id == name][1]
            assert resumed.details["resumed_at"] == 1
            with pytest.raises(RequestError, match="no briefing is paused"):
                house.commands.carry_out("do/resume", "")

    run(scenario())


def test_it_can_be_skipped_section_by_section_to_its_end(tmp_path):
    async def scenario():
        async with open_house(tmp_path) as house:
            name = house.briefer.run("morning")
            await house.speaking.until("started", name)
            began = len(house.speaking.sink.sound())
            house.commands.carry_out("do/next_section", "")
            while len([e for e in house.speaking.events if e.type == "started" and e.id == name]) < 2:
                await asyncio.sleep(0.01)
            second = [e for e in house.speaking.events if e.type == "started" and e.id == name][1]
            assert second.details["resumed_at"] == 3
            house.commands.carry_out("do/next_section", "")
            while len([e for e in house.speaking.events if e.type == "started" and e.id == name]) < 3:
                await asyncio.sleep(0.01)
            house.commands.carry_out("do/next_section", "")
            await house.speaking.ended(name)
            ended = details(house, "dropped", name)
            assert ended.reason == "there is no next section"
            assert began < len(house.speaking.sink.sound()) < 3.0 * 24_000  # all of it with its pauses is longer

    run(scenario())


def test_stop_ends_what_is_told_what_is_paused_and_what_is_being_made(tmp_path):
    async def scenario():
        async with open_house(tmp_path) as house:
            told = house.briefer.run("morning")
            await house.speaking.until("started", told)
            assert house.commands.carry_out("do/stop", "") == [told]
            await house.speaking.ended(told)
            assert house.story(told)[-1] == "dropped"

            paused = house.briefer.run("morning")
            await house.speaking.until("started", paused)
            house.commands.carry_out("do/pause", "")
            await house.speaking.until("interrupted", paused)
            house.commands.carry_out("do/stop", "")
            await house.speaking.ended(paused)
            assert house.speaking.announcer.held is None

            async def slow():
                await asyncio.sleep(0.1)
                return {"price": 7}

            house.sources.network.answers["https://h/"] = slow
            made = house.briefer.run("morning")
            await asyncio.sleep(0.01)
            assert house.commands.carry_out("do/stop", "") == [made]
            again = house.briefer.run("morning")
            assert again != made
            await house.speaking.ended(made, again)
            assert (house.story(made), house.story(again)[-1]) == (["dropped"], "finished")

    run(scenario())


def test_pausing_another_briefing_ends_the_one_that_was_paused(tmp_path):
    async def scenario():
        async with open_house(tmp_path) as house:
            names = []
            for _ in range(2):
                names.append(house.briefer.run("morning"))
                await house.speaking.until("started", names[-1])
                house.briefer.pause()
                await house.speaking.until("interrupted", names[-1])
            assert details(house, "dropped", names[0]).reason == "another one was paused"
            assert house.speaking.announcer.held.id == names[1]

    run(scenario())


def test_run_takes_a_briefing_or_an_entry_of_the_schedule(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            said = []
            house.entries = {"bath": lambda: said.append("bath") or "b1"}
            assert house.commands.carry_out("do/run", " bath\n") == "b1"
            assert said == ["bath"]
            name = house.commands.carry_out("do/run", "morning")
            await house.speaking.until("finished", name)
            with pytest.raises(RequestError, match="no briefing or schedule entry 'x'; there are morning, bath"):
                house.commands.carry_out("do/run", "x")
            for command in ("do/pause", "do/next_section"):
                with pytest.raises(RequestError, match="no briefing is being told"):
                    house.commands.carry_out(command, "")

    run(scenario())


def test_a_section_that_cannot_be_read_aloud_is_passed_over(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            house.configure("{kind: text, text: 😀}", "{kind: text, text: はい。}", "{kind: text, text: 🎉}")
            name = house.briefer.run("morning")
            await house.speaking.ended(name)
            assert house.spoken == ["はい。"]
            assert house.story(name)[-1] == "finished"
            house.configure("{kind: text, text: 😀}")
            name = house.briefer.run("morning")
            await house.speaking.ended(name)
            assert house.story(name)[-1] == "failed"

    run(scenario())


@pytest.mark.parametrize(
    ("sections", "gap"),
    [(["{kind: text, text: 一。二。}"], 0.0), (["{kind: text, text: 一。}", "{kind: text, text: 二。}"], 0.35)],
)
def test_there_is_a_pause_between_two_sections(tmp_path, sections, gap):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            house.configure(*sections)
            await house.speaking.ended(house.briefer.run("morning"))
            job = await house.speaking.renderer.plan(house.speaking.make("一。"))
            rendering = await house.speaking.renderer.render(job, job.plan.segments[0])
            return (
                len(house.speaking.sink.sound()) / 24_000 - rendering.spoken.pause - 2 * rendering.spoken.audio.duration
            )

    assert run(scenario()) == pytest.approx(gap, abs=0.08)


def test_a_preview_composes_and_says_nothing(tmp_path):
    async def scenario():
        async with open_house(tmp_path, paced=False) as house:
            house.sources.network.answers["https://h/"] = {"other": 1}
            composed = await house.briefer.preview("morning")
            assert [part.section for part in composed.parts] == ["hello", "http", "end"]
            assert composed.parts[1].text is None
            assert composed.parts[1].left_out_because
            assert house.speaking.events == []
            assert house.briefer.sections == {"morning": (("hello", "text"), ("http", "http"), ("end", "text"))}
            with pytest.raises(RequestError, match="there is no briefing 'evening'"):
                await house.briefer.preview("evening")

    run(scenario())
