import json
from pathlib import Path

import jsonschema
import pytest

from daemon.config import ConfigError, parse_config
from daemon.config.schema import schema_text
from daemon.config.secrets import without_secrets
from daemon.config.yaml import parse


def problems(sections, tail=""):
    text = "briefings:\n  morning:\n    sections:\n" + "".join(f"      - {line}\n" for line in sections) + tail
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "x.yaml")
    return [str(problem) for problem in caught.value.problems]


def briefing(*sections):
    text = "briefings:\n  morning:\n    sections:\n" + "".join(f"      - {line}\n" for line in sections)
    return parse_config(text).briefings["morning"]


def test_all_errors_of_sections_come_at_once_with_line_key_and_remedy():
    found = problems(
        [
            "{kind: date, era: maybe, hollidays: true}",
            "{kind: wether}",
            "{text: x}",
            '{kind: mqtt, topic: a/b, max_age: 30x, text: "{{ x", timeot: 3}',
            "{kind: text, text: a, when: {days: [foo], from: 25:00, too: 8:00}}",
            '{kind: text, text: a, when: "1 +"}',
            "5",
            "{kind: 7}",
        ]
    )
    key = "briefings.morning.sections"
    assert found == [
        f"x.yaml:4: {key}[0].era: boolean, unable to interpret input is expected, got 'maybe'",
        f"x.yaml:4: {key}[0].hollidays: unknown key; did you mean holidays?",
        f"x.yaml:5: {key}[1].kind: there is no kind 'wether' of section; there are date, text, mqtt, http, file, weather, calendar, waste, news",
        f"x.yaml:6: {key}[2]: the key 'kind' is missing",
        f"x.yaml:7: {key}[3].max_age: a duration such as 90, 30s, 10m or 1h30m is expected, got '30x'",
        f"x.yaml:7: {key}[3].text: the template cannot be read: unexpected end of template, "
        "expected 'end of print statement'",
        f"x.yaml:7: {key}[3].timeot: unknown key; did you mean timeout?",
        f"x.yaml:8: {key}[4].when.days: days such as mon-fri, workdays, holidays, 2nd sat, 平日, 第2土曜 or 2026-12-24 "
        "are expected, got 'foo'",
        f"x.yaml:8: {key}[4].when.from: a time of day such as 7:30 or 06:45:30 is expected, got '25:00'",
        f"x.yaml:8: {key}[4].when.too: unknown key; did you mean to?",
        f"x.yaml:9: {key}[5].when: the condition '1 +' cannot be read: unexpected ')'",
        f"x.yaml:10: {key}[6]: a mapping of keys to values is expected, got 5",
        f"x.yaml:11: {key}[7].kind: there is no kind '7' of section; there are date, text, mqtt, http, file, weather, calendar, waste, news",
    ]


def test_what_a_briefing_names_must_exist():
    found = problems(
        ["{kind: date}"],
        "    chime: nope\n    speaker: nobody\n    language: fr\nschedule:\n"
        "  - {at: 7:00, briefing: evening}\n  - {at: 7:00}\n  - {at: 7:00, say: x, briefing: morning}\n",
    )
    assert found == [
        "x.yaml:7: briefings.morning.language: there are words in ja, en, not in 'fr'",
        "x.yaml:10: schedule[1]: give either say (a text) or briefing (the name of one)",
        "x.yaml:11: schedule[2]: give either say (a text) or briefing (the name of one)",
    ]
    found = problems(
        ["{kind: date}"],
        "    chime: nope\n    speaker: nobody\nschedule:\n  - {at: 7:00, briefing: evening}\n",
    )
    assert [line.partition(";")[0] for line in found] == [
        "x.yaml:5: briefings.morning.chime: there is no chime 'nope'",
        "x.yaml:6: briefings.morning.speaker: 'nobody' is not one of speakers: mei",
        "x.yaml:8: schedule[0].briefing: there is no briefing 'evening'",
    ]


def test_two_sections_cannot_have_one_id():
    assert "the id 'a' is used by two sections" in problems(["{kind: date, id: a}", "{kind: date, id: a}"])[0]


def test_sections_without_an_id_are_numbered():
    found = briefing(
        "{kind: date}", "{kind: text, text: a}", "{kind: date}", "{kind: date, id: date-2}", "{kind: date}"
    )
    assert found.section_ids == ["date", "text", "date-3", "date-2", "date-4"]


def test_secrets_can_be_references_and_are_checked_when_the_file_is_read(monkeypatch):
    section = '{kind: http, url: {env: BRIEFING_URL}, headers: {Authorization: {file: "/no/such"}}, text: a}'
    key = "x.yaml:4: briefings.morning.sections[0]"
    unread = f"{key}.headers.Authorization: the secret file /no/such cannot be read (FileNotFoundError)"
    assert problems([section]) == [f"{key}.url: the environment variable BRIEFING_URL is not set", unread]
    monkeypatch.setenv("BRIEFING_URL", "https://h/")
    assert problems([section]) == [unread]


@pytest.mark.parametrize(
    "section",
    [
        '{kind: http, url: ["https://h/KEY123"], text: a}',
        '{kind: http, url: {value: ["https://h/KEY123"]}, text: a}',
        '{kind: http, url: {valu: "https://h/KEY123"}, text: a}',
        '{kind: http, url: "ftp://h/KEY123", text: a}',
        '{kind: http, url: "https://[KEY123", text: a}',
        '{kind: http, url: {value: "https://h/KEY123", env: X}, text: a}',
        '{kind: http, url: "https://h/KEY123", urll: "https://h/KEY123", text: a}',
        '{kind: http, url: "https://h/KEY123", headers: {X: [KEY123]}, text: a}',
    ],
)
def test_no_error_repeats_a_secret(section):
    assert "KEY123" not in "\n".join(problems([section]))


def test_a_configuration_that_is_printed_holds_no_secret():
    settings = briefing('{kind: http, url: "https://h/KEY123", headers: {X: KEY456}, text: a}').sections[0].settings
    assert "KEY" not in repr(settings) + str(settings) + settings.model_dump_json()
    said = without_secrets("GET https://h/KEY123 with KEY456 failed; https%3A%2F%2Fh%2FKEY123", settings)
    assert said == "GET *** with *** failed; ***"


def test_the_schema_knows_the_keys_of_every_kind():
    schema = json.loads(schema_text())

    def good(section):
        jsonschema.validate({"briefings": {"morning": {"sections": [section]}}}, schema)

    good({"kind": "date", "era": True, "timeout": "5s"})
    good({"kind": "http", "url": "https://h/x", "text": "a"})
    good({"kind": "http", "url": {"credential": "x"}, "text": "a", "when": {"from": "07:00", "days": "mon"}})
    good({"kind": "text", "text": "a", "when": "true"})
    good({"kind": "a-kind-of-another-package", "anything": 1})
    for bad in ({"kind": "date", "eraa": True}, {"kind": "text"}, {"text": "a"}, {"kind": "text", "text": 5}):
        with pytest.raises(jsonschema.ValidationError):
            good(bad)


def test_the_example_shows_a_briefing():
    path = Path(__file__).parents[3] / "config" / "asagoe.yaml"
    config = parse_config(path.read_text(encoding="utf-8"))
    assert config.briefings["morning"].section_ids
    assert any(entry.briefing == "morning" for entry in config.schedule)
    jsonschema.validate(parse(path.read_text(encoding="utf-8")).value, json.loads(schema_text()))
