import asyncio
import time

import pytest

from daemon.errors import SectionError
from tests.fakes.briefings import House, at

PRICE = '{kind: http, url: "https://h/KEY123?q=1", path: price, text: "{{ value }}円です。", timeout: 0.2}'
END = "{kind: text, text: 以上です。}"


def part(composed, name="http"):
    return next(part for part in composed.parts if part.section == name)


def good(house, price=120):
    house.network.answers["https://h/KEY123?q=1"] = {"price": price}


def test_a_good_source_is_told_with_its_host_and_nothing_more_of_its_address(tmp_path):
    house = House(tmp_path)
    good(house)
    composed = house.tell(PRICE, END)
    assert composed.texts == ("120円です。", "以上です。")
    assert composed.text == "120円です。以上です。"
    told = part(composed)
    assert (told.source, told.age, told.left_out_because, told.instead_because) == ("h", 0.0, None, None)
    assert "KEY123" not in str([p.as_json() for p in composed.parts])


def test_a_source_that_fails_is_left_out_and_the_rest_is_told(tmp_path, caplog):
    house = House(tmp_path)
    house.network.answers["https://h/KEY123?q=1"] = SectionError("https://h/KEY123?q=1 answers 500")
    composed = house.tell(PRICE, END)
    assert composed.texts == ("以上です。",)
    assert part(composed).left_out_because == "*** answers 500"
    assert "KEY123" not in caplog.text
    assert "no data for the section http" in caplog.text


def test_the_last_good_value_stands_in_and_its_age_is_told_when_it_is_old(tmp_path):
    house = House(tmp_path)
    good(house)
    assert house.tell(PRICE).text == "120円です。"
    house.network.answers.clear()
    house.clock.advance(20 * 60)
    composed = house.tell(PRICE)
    assert composed.text == "120円です。"  # twenty minutes are not worth a word
    assert (part(composed).age, part(composed).instead_because) == (1200.0, "the host answers 404")
    house.clock.advance(40 * 60)
    assert house.tell(PRICE).text == "1時間前の情報です。120円です。"
    house.clock.advance(6 * 3600)
    composed = house.tell(PRICE)
    assert composed.text == ""
    assert part(composed).left_out_because == "the host answers 404"


def test_how_old_is_old_is_the_sections_choice(tmp_path):
    house = House(tmp_path)
    good(house)
    strict = PRICE.replace("timeout", "max_age: 0, timeout")
    eager = PRICE.replace("timeout", "tell_age: 5m, timeout")
    house.tell(strict)
    house.tell(eager)
    house.network.answers.clear()
    house.clock.advance(600)
    assert house.tell(strict).text == ""
    assert house.tell(eager).text == "10分前の情報です。120円です。"


def test_the_age_counts_to_the_moment_at_which_it_is_heard(tmp_path):
    house = House(tmp_path)
    good(house)
    house.tell(PRICE)
    house.network.answers.clear()
    composed = house.tell(PRICE, due=at("2026-12-01T09:00:00"))
    assert composed.text == "2時間前の情報です。120円です。"


def test_values_of_a_clock_that_was_wrong_are_not_told(tmp_path):
    house = House(tmp_path, now="2036-01-01T00:00:00")
    good(house)
    house.tell(PRICE)
    house.network.answers.clear()
    house.clock.step(-9 * 365 * 86400)
    assert house.tell(PRICE).text == ""


def test_fresh_data_that_are_not_what_was_promised_give_way_to_the_last_good_value(tmp_path):
    house = House(tmp_path)
    good(house)
    house.tell(PRICE)
    house.network.answers["https://h/KEY123?q=1"] = {"error": "maintenance"}
    composed = house.tell(PRICE)
    assert composed.text == "120円です。"
    assert part(composed).instead_because == "the answer of h cannot be used: there is nothing under price"


def test_sources_are_fetched_side_by_side_and_what_is_late_is_left_out(tmp_path):
    house = House(tmp_path)

    async def slow():
        await asyncio.sleep(0.1)
        return {"price": 1}

    async def never():
        await asyncio.sleep(60)

    def section(name, timeout):
        return f'{{kind: http, id: {name}, url: "https://{name}/", path: price, text: "{name}{{{{ value }}}}。", timeout: {timeout}}}'

    for name in "abcdef":
        house.network.answers[f"https://{name}/"] = slow
    house.network.answers["https://x/"] = house.network.answers["https://y/"] = never
    started = time.monotonic()
    composed = house.tell(*(section(name, 5) for name in "abcdef"), section("x", 0.3), section("y", 5), deadline=0.5)
    seconds = time.monotonic() - started
    assert composed.text == "a1。b1。c1。d1。e1。f1。"
    assert part(composed, "x").left_out_because == "no answer within 0.3 s"
    assert part(composed, "y").left_out_because == "no answer within 0.5 s"
    assert seconds < 1.0  # one after another they would take 0.6 s and both timeouts


def test_a_section_that_does_not_let_itself_be_cancelled_is_left_behind(tmp_path):
    house = House(tmp_path)
    ended = []

    async def stubborn():
        for _ in range(4):
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                pass
        ended.append(True)
        raise RuntimeError("nobody listens")

    async def scenario():
        house.network.answers["https://h/KEY123?q=1"] = stubborn
        started = time.monotonic()
        composed = await house.compose(house.plan(PRICE, END))
        took = time.monotonic() - started
        await asyncio.sleep(0.5)
        return composed, took

    composed, took = asyncio.run(scenario())
    assert composed.text == "以上です。"
    assert took < 0.35
    assert ended == [True]


def test_a_section_that_gives_up_by_itself_fails_alone(tmp_path):
    house = House(tmp_path)

    async def gives_up():
        raise asyncio.CancelledError

    house.network.answers["https://h/KEY123?q=1"] = gives_up
    composed = house.tell(PRICE, END)
    assert (composed.text, part(composed).left_out_because) == ("以上です。", "it gave up by itself")


@pytest.mark.parametrize(
    ("when", "due", "reason"),
    [
        ("{days: [mon]}", "2026-12-01T07:00:00", "only on mon"),
        ("{days: [tue]}", "2026-12-01T07:00:00", None),
        ("{days: holidays}", "2026-12-01T07:00:00", "only on holidays"),
        ("{days: holidays}", "2026-11-03T07:00:00", None),
        ('{from: "6:00", to: "7:00"}', "2026-12-01T06:59:59", None),
        ('{from: "6:00", to: "7:00"}', "2026-12-01T07:00:00", "only from 06:00 to 07:00"),
        ('{from: "22:00", to: "5:00"}', "2026-12-01T02:00:00", None),
        ('{from: "22:00", to: "5:00"}', "2026-12-01T12:00:00", "only from 22:00 to 05:00"),
        ('{from: "22:00"}', "2026-12-01T21:00:00", "only from 22:00 to 24:00"),
        ('{to: "9:00"}', "2026-12-01T21:00:00", "only from 00:00 to 09:00"),
        ("due.month == 12", "2026-12-01T21:00:00", None),
        ("due.month == 1", "2026-12-01T21:00:00", "its condition does not hold: due.month == 1"),
        ("topics['a'] == 'ON'", "2026-12-01T21:00:00", "its condition does not hold: topics['a'] == 'ON'"),
        ("topics['a'] == 'OFF'", "2026-12-01T21:00:00", None),
        ("topics['b'] == 'OFF'", "2026-12-01T21:00:00", "its condition asks for b, of which there is no value yet"),
        ("due.nope", "2026-12-01T21:00:00", "the condition fails: 'datetime.datetime object' has no attribute 'nope'"),
        ("value > 100", "2026-12-01T21:00:00", None),
        ("value > 200", "2026-12-01T21:00:00", "its condition does not hold: value > 200"),
        ("valeu > 200", "2026-12-01T21:00:00", "the condition fails: 'valeu' is undefined"),
    ],
)
def test_a_section_is_told_under_its_condition(tmp_path, when, due, reason):
    house = House(tmp_path, now="2026-11-01T00:00:00")
    good(house)
    house.message("a", "OFF")
    quoted = when if when.startswith("{") else f'"{when}"'
    composed = house.tell(PRICE.replace("timeout", f"when: {quoted}, timeout"), due=at(due))
    assert part(composed).left_out_because == reason
    by_facts = "val" in when
    assert bool(house.network.asked) == (reason is None or by_facts)  # nothing is fetched in vain


def test_shortly_before_it_is_told_only_what_costs_nothing_is_looked_at_again(tmp_path):
    house = House(tmp_path)
    good(house)
    house.message("t", "20")
    late = PRICE.replace("kind: http", "kind: http, id: late").replace("timeout", 'when: {from: "7:04"}, timeout')
    early = PRICE.replace("kind: http", "kind: http, id: early").replace("timeout", 'when: {to: "7:04"}, timeout')
    plan = house.plan(PRICE, '{kind: mqtt, topic: t, text: "{{ value }}度。"}', late, early)

    async def scenario():
        from daemon.briefings.composer import compose

        gathered = await house.gatherer.gather(plan, at("2026-12-01T07:00:00"))
        assert len(house.network.asked) == 2
        house.clock.advance(300)
        house.message("t", "23")
        due = at("2026-12-01T07:05:00")
        gathered = await house.gatherer.refresh(gathered, due)
        return compose(gathered, house.gatherer.surroundings(plan, due))

    composed = asyncio.run(scenario())
    assert len(house.network.asked) == 3
    assert composed.texts == ("120円です。", "23度。", "120円です。")
    assert part(composed, "early").left_out_because == "only from 00:00 to 07:04"


def test_a_template_that_fails_leaves_its_section_out(tmp_path):
    house = House(tmp_path)
    good(house)
    composed = house.tell(PRICE.replace("timeout", 'template: "{{ nope }}", timeout'), END)
    assert composed.text == "以上です。"
    assert part(composed).left_out_because == "the template fails: 'nope' is undefined"


def test_the_words_of_every_section_can_be_replaced(tmp_path):
    house = House(tmp_path)
    good(house)
    assert house.tell(PRICE.replace("timeout", 'template: "{{ value }}円。", timeout')).text == "120円。"
    assert house.tell('{kind: date, template: "{{ day | weekday }}。"}').text == "火曜日。"
