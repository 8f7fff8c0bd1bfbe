import json
from datetime import time
from pathlib import Path

import jsonschema
import pytest

from daemon.config import Config, ConfigError, find_config, load_config, parse_config
from daemon.config.schema import schema_text
from daemon.config.values import Secret, parse_duration, parse_time_of_day
from daemon.config.yaml import parse

CONFIG = Path(__file__).parents[2] / "config"


def problems(text):
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "x.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_an_empty_file_is_a_working_configuration():
    for text in ("", "# nothing\n", "mqtt:\nschedule:\n"):
        config = parse_config(text)
        assert config.speaker_name == "mei"
        assert config.mqtt.embedded
        assert config == Config()


def test_the_example_runs_as_it_is():
    config = load_config(CONFIG / "asagoe.yaml")
    assert [entry.id for entry in config.schedule] == ["morning", "bath"]


def test_the_schema_is_current():
    assert (CONFIG / "asagoe.schema.json").read_text() == schema_text(), (
        "run: asagoe schema > config/asagoe.schema.json"
    )


def test_the_schema_accepts_the_example_and_refuses_unknown_keys():
    schema = json.loads(schema_text())
    value = parse((CONFIG / "asagoe.yaml").read_text()).value
    jsonschema.validate(value, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value | {"spekers": {}}, schema)


def test_all_errors_come_at_once_with_file_line_key_and_expectation():
    text = (
        "nodes: kitchen\n"
        "audio:\n  volume: 120\n  lead_in: 200\n"
        "mqtt:\n  url: http://x\n"
        "schedule:\n"
        "  - {at: 25:00, say: x}\n"
        "  - {cron: '0 7 * *', say: x}\n"
        "  - {say: x}\n"
        "  - {at: 7:30, days: [1], say: x}\n"
        "  - {at: 7:30}\n"
    )
    assert problems(text) == [
        "x.yaml:1: nodes: unknown key; did you mean node?",
        "x.yaml:3: audio.volume: less than or equal to 100 is expected, got 120",
        "x.yaml:4: audio.lead_in: unknown key; did you mean lead_in_ms?",
        "x.yaml:6: mqtt.url: mqtt://HOST:PORT, mqtts://HOST:PORT, ws://HOST:PORT/PATH or "
        "wss://HOST:PORT/PATH is expected",
        "x.yaml:8: schedule[0].at: a time such as 7:30, 06:45:30, sunrise or sunset-30m is expected, got '25:00'",
        "x.yaml:9: schedule[1].cron: five cron fields (minute hour day month weekday) are expected, got '0 7 * *'",
        "x.yaml:10: schedule[2]: give either at (with days, if not every day) or cron",
        "x.yaml:11: schedule[3].days: days such as mon-fri, workdays, holidays, 2nd sat, 平日, 第2土曜 or "
        "2026-12-24 are expected, got 1 (a number could mean two different weekdays)",
        "x.yaml:12: schedule[4]: give either say (a text) or briefing (the name of one)",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", "a mapping of keys to values is expected"),
        ("just text", "a mapping of keys to values is expected"),
        ("node: 台所", "node"),
        ("node: a/b", "node"),
        ("timezone: Asia/Tokio", "a time zone such as Asia/Tokyo"),
        ("timezone: JST-9", "a time zone such as Asia/Tokyo"),
        ("speakers: {}", "speakers"),
        ("speakers: {a: {source: 'nowhere:x'}}", "speakers.a.source: the source 'nowhere:x' is not understood"),
        ("speakers: {a: {speed: 9}}", "speakers.a.speed"),
        ("default_speaker: x", "default_speaker: 'x' is not one of speakers: mei"),
        ("schedule: [{at: 7:00, say: x, speaker: y}]", "schedule[0].speaker: 'y' is not one of speakers"),
        ("schedule: [{at: 7:00, say: x, chime: bang}]", "there is no chime 'bang'; expected is one of attention, ding"),
        ("schedule: [{at: 7:00, say: x, id: a}, {at: 8:00, say: y, id: a}]", "the id 'a' is used by entries 1 and 2"),
        ("schedule: [{at: 7:00, cron: '* * * * *', say: x}]", "either at"),
        ("schedule: [{cron: '* * * * *', days: mon, say: x}]", "days goes with at"),
        ("schedule: [{cron: '0 0 31 2 *', say: x}]", "Bad day-of-month"),
        ("schedule: [{at: 7:00, days: 2026-02-30, say: x}]", "2026-02-30 is not a day of the calendar"),
        ("schedule: [{at: 7:00, say: ''}]", "schedule[0].say"),
        ("mqtt: {url: 'mqtt://u:secret@h'}", "the password does not belong into the address"),
        ("mqtt: {url: 'mqtt://h', broker: embedded}", "url and broker exclude each other"),
        ("mqtt: {url: 'mqtt://h:99999'}", "mqtt.url"),
        ("mqtt: {password: {env: NO_SUCH_VARIABLE}}", "the environment variable NO_SUCH_VARIABLE is not set"),
        ("mqtt: {password: {file: /no/such/file}}", "/no/such/file cannot be read"),
        ("mqtt: {keepalive: 1s}", "from 5s to 20m"),
        ("mqtt: {base_topic: 'a/#'}", "base_topic"),
        ("audio: {volume: loud}", "audio.volume"),
        ("audio: 60", "audio: a mapping of keys to values is expected, got 60"),
        ("node: a\nnode: b", "x.yaml:2: node: the key 'node' is given twice"),
        ("announcements: {defaults: {expires_in: soon}}", "a duration such as 90, 30s, 10m or 1h30m"),
    ],
)
def test_errors_name_the_place_and_the_remedy(text, words):
    assert words in "\n".join(problems(text))


def test_secrets_are_never_shown(monkeypatch):
    config = parse_config("mqtt: {password: geheim}")
    assert "geheim" not in repr(config)
    assert "geheim" not in config.model_dump_json()
    assert config.mqtt.password.reveal() == "geheim"
    assert "geheim" not in "\n".join(problems("mqtt: {password: geheim, url: x}"))


def test_secrets_come_from_credentials_files_and_the_environment(tmp_path, monkeypatch):
    (tmp_path / "mqtt").write_text("one\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("SECRET", "two")
    assert Secret(credential="mqtt").reveal() == "one"
    assert Secret(file=tmp_path / "mqtt").reveal() == "one"
    assert Secret(env="SECRET").reveal() == "two"
    with pytest.raises(ValueError, match="one of credential, file and env"):
        Secret(env="A", credential="b")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(90, 90), ("90", 90), ("1.5s", 1.5), ("10m", 600), ("1h30m", 5400), ("200ms", 0.2), ("1 h", 3600)],
)
def test_durations(value, seconds):
    assert parse_duration(value) == seconds


@pytest.mark.parametrize("value", ["", "m", "10 minutes", "-1s", -1, True, None, "9999d", float("nan"), "1:30"])
def test_what_is_no_duration(value):
    with pytest.raises(ValueError, match="a duration"):
        parse_duration(value)


@pytest.mark.parametrize(("value", "at"), [("7:30", time(7, 30)), ("07:30:15", time(7, 30, 15)), ("0:00", time(0))])
def test_times_of_day(value, at):
    assert parse_time_of_day(value) == at


@pytest.mark.parametrize("value", ["24:00", "7", "7:3", "7:60", "noon", 730, 450, None, "07:30:60"])
def test_what_is_no_time_of_day(value):
    with pytest.raises(ValueError, match="a time of day"):
        parse_time_of_day(value)


def test_unreadable_files_are_errors_of_the_configuration(tmp_path):
    for name, data, words in (
        ("missing.yaml", None, "No such file"),
        ("latin.yaml", b"node: caf\xe9", "not UTF-8"),
        ("big.yaml", b"#" * 1_000_001, "larger than"),
    ):
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(ConfigError, match=words):
            load_config(path)


def test_the_dictionary_lies_beside_the_configuration(tmp_path, monkeypatch):
    (tmp_path / "words.yaml").write_text("東横線: とうよこせん\nWi-Fi: わいふぁい\n")
    (tmp_path / "c.yaml").write_text("dictionary: words.yaml\n")
    monkeypatch.chdir("/")
    config = load_config(tmp_path / "c.yaml")
    assert [word.surface for word in config.words.words] == ["東横線", "Wi-Fi"]
    assert config.words.source == str(tmp_path / "words.yaml")
    (tmp_path / "c.yaml").write_text(f"dictionary: {tmp_path}/words.yaml\n")
    assert load_config(tmp_path / "c.yaml").words == config.words
    assert config.model_copy(update={"node": "x"}).words == config.words
    assert not Config().words


def test_mistakes_of_the_dictionary_come_with_those_of_the_configuration_each_in_its_own_file(tmp_path):
    (tmp_path / "words.yaml").write_text("東急: とうきゅう\n東急: x\nWi-Fi: {reading: わい, akcent: 1}\n")
    (tmp_path / "c.yaml").write_text("dictionary: words.yaml\nspeakers: {}\nnode: x\nnodes: x\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "c.yaml")
    lines = [str(problem) for problem in caught.value.problems]
    places = [f"{tmp_path}/c.yaml:2", f"{tmp_path}/c.yaml:4", f"{tmp_path}/words.yaml:2", f"{tmp_path}/words.yaml:3"]
    assert [line.split(": ")[0] for line in lines] == places
    assert "reading 'x' must be 1 to 40 kana" in lines[2]
    assert "has 'akcent'" in lines[3]


def test_mistakes_of_the_dictionary_alone_are_errors_unless_it_is_left_out(tmp_path):
    (tmp_path / "words.yaml").write_text("東急: x\n")
    (tmp_path / "c.yaml").write_text("dictionary: words.yaml\ndefault_speaker: nobody\n")
    with pytest.raises(ConfigError, match=r"c\.yaml:2: default_speaker(.|\n)*words\.yaml:1: '東急'"):
        load_config(tmp_path / "c.yaml")
    (tmp_path / "c.yaml").write_text("dictionary: words.yaml\n")
    with pytest.raises(ConfigError, match=r"words\.yaml:1: '東急'"):
        load_config(tmp_path / "c.yaml")
    assert load_config(tmp_path / "c.yaml", with_words=False).dictionary == "words.yaml"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.yaml", "none.yaml: cannot be read (No such file or directory); create it with asagoe dictionary add"),
        (".", "cannot be read (Is a directory)"),
        ("latin.yaml", "latin.yaml: not UTF-8"),
        ("''", "dictionary: string should have at least 1 character"),
        ("[a]", "dictionary: string is expected, got ['a']"),
    ],
)
def test_a_dictionary_that_cannot_be_read_is_an_error_in_the_line_that_names_it(tmp_path, name, words):
    (tmp_path / "latin.yaml").write_bytes("東急: とう".encode("cp932"))
    (tmp_path / "c.yaml").write_text(f"node: x\ndictionary: {name}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "c.yaml")
    (problem,) = caught.value.problems
    assert str(problem).startswith(f"{tmp_path}/c.yaml:2: dictionary: ")
    assert words.lower() in str(problem).lower()


def test_a_byte_order_mark_does_not_matter(tmp_path):
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfnode: kitchen\n")
    assert load_config(path).node == "kitchen"


def test_the_users_file_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "asagoe" / "asagoe.yaml"
    file.parent.mkdir()
    file.write_text("node: mine")
    assert find_config(None) == file
    assert find_config(Path("/else")) == Path("/else")


@pytest.mark.parametrize(
    ("stored", "expected"), [(True, "/etc/credstore/asagoe.no-such-name"), (False, "/run/secrets/no-such-name")]
)
def test_a_credential_outside_the_service_is_looked_for_where_root_keeps_it(monkeypatch, stored, expected):
    monkeypatch.setattr("daemon.config.values.os.path.isdir", lambda _: stored)
    with pytest.raises(ConfigError, match=f"the secret file {expected} cannot be read"):
        parse_config("mqtt: {url: 'mqtt://x', password: {credential: no-such-name}}\n")
