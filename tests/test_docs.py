"""What the documents say is so: links, paths, examples, keys, commands and their options, licences."""

from __future__ import annotations

import re
import tomllib
import typing
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic import BaseModel
from typer.main import get_command

from daemon.briefings.kinds import bundled_kinds
from daemon.cli.commands import app
from daemon.config import parse_config
from daemon.config.alarms import AlarmConfig
from daemon.config.announcements import AnnouncementDefaults, AnnouncementsConfig, CacheConfig
from daemon.config.audio import AudioConfig
from daemon.config.briefings import BriefingConfig, SectionKeys, WhenConfig
from daemon.config.calendar import HolidaysConfig, PlaceConfig
from daemon.config.http import HttpConfig
from daemon.config.models import Config, LogConfig
from daemon.config.mqtt import DiscoveryConfig, MqttConfig, TlsConfig
from daemon.config.quiet import QuietRangeConfig, VolumeRangeConfig
from daemon.config.schedule import ScheduleEntryConfig
from daemon.config.speakers import SpeakerConfig
from daemon.config.values import parse_duration
from daemon.config.yaml import parse
from daemon.wiring.reload import FIXED
from engine.text.dictionary import parse_dictionary

ROOT = Path(__file__).parent.parent
PAGES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))}
DOCS = {name: text for name, text in PAGES.items() if name != "CHANGELOG.md"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

_FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def prose(text):
    return _FENCE.sub("", text)


def spans(text):
    """What stands between backticks, on one line each."""
    return [" ".join(span.split()) for span in _SPAN.findall(prose(text))]


def anchors(text):
    """The names that GitHub gives to the headings."""
    titles = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(PAGES[page])):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), link


@pytest.mark.parametrize("page", DOCS)
def test_paths_of_the_project_are_there(page):
    for span in spans(DOCS[page]):
        if re.fullmatch(r"(engine|daemon|docs|script|tests|config|benchmarks|systemd|docker)/[\w./-]+", span):
            assert (ROOT / span).exists(), span


def test_every_page_can_be_reached_from_both_readmes():
    for page in DOCS:
        if page.startswith("docs/"):
            assert f"({page})" in DOCS["README.md"], page
            assert f"({page})" in DOCS["README.ja.md"], page


def test_every_room_of_the_house_is_on_its_plan():
    plan = DOCS["docs/developers.md"].partition("```")[2].partition("```")[0]
    for package in ("engine", "daemon"):
        for room in (path.parent.name for path in (ROOT / package).glob("*/__init__.py")):
            assert re.search(rf"\b{room}/", plan), f"{package}/{room}"


# Examples


def configuration(text):
    # Where the examples are at home: a machine in Japan, with the secrets that they name.
    if "timezone" not in text:
        text += "\ntimezone: Asia/Tokyo\n"
    return parse_config(text, with_words=False)


YAML_BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page, text in DOCS.items()
    for number, (kind, block) in enumerate(_FENCE.findall(text))
    if kind == "yaml"
]


@pytest.fixture(autouse=True)
def _secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    for name in set(re.findall(r"\{credential: ([\w-]+)\}", "".join(DOCS.values()))):
        (tmp_path / name).write_text("https://example.org/")


@pytest.mark.parametrize("block", YAML_BLOCKS)
def test_yaml_is_what_it_is_an_example_of(block):
    document = parse(block)
    assert not document.faults
    if isinstance(document.value, list):
        indented = block.replace("\n", "\n      ")
        configuration(f"briefings:\n  x:\n    sections:\n      {indented}")
    elif list(document.value) == ["automation"]:
        for automation in document.value["automation"]:
            assert set(automation) == {"alias", "triggers", "actions"}
    elif set(document.value) <= set(Config.model_fields):
        configuration(block)
    else:
        assert len(parse_dictionary(block).words) == len(document.value)


def test_there_are_examples():
    assert len(YAML_BLOCKS) >= 15


# Keys


def keys_of(model):
    """The fields of a model by their keys."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def models_in(annotation):
    """The models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from models_in(argument)


def all_models(model):
    """A model and those within it."""
    found = {model}
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            found |= all_models(inner)
    return found


NO_KEYS = {"audio.problem", "mqtt.publish"}  # of the topic `state`, and an action of Home Assistant


@pytest.mark.parametrize("page", DOCS)
def test_keys_that_are_named_exist(page):
    for span in spans(DOCS[page]):
        if re.match(r"[a-z_]+: \{[^…]*\}$", span) and span.partition(":")[0] in Config.model_fields:
            configuration(span)
        dotted = re.match(r"([a-z_]+(?:\.[a-z_]+)+)(?=:|$)", span)
        if dotted is None or dotted[1].partition(".")[0] not in Config.model_fields or dotted[1] in NO_KEYS:
            continue
        models = [Config]
        for key in dotted[1].split("."):
            fields = [keys_of(model)[key] for model in models if key in keys_of(model)]
            assert fields, span
            models = [model for field in fields for model in models_in(field.annotation)]


TOLD_IN = {
    Config: "docs/configuration.md",
    AudioConfig: "docs/configuration.md",
    MqttConfig: "docs/configuration.md",
    TlsConfig: "docs/configuration.md",
    AnnouncementsConfig: "docs/configuration.md",
    AnnouncementDefaults: "docs/configuration.md",
    CacheConfig: "docs/configuration.md",
    LogConfig: "docs/configuration.md",
    DiscoveryConfig: "docs/home-assistant.md",
    HttpConfig: "docs/http.md",
    QuietRangeConfig: "docs/mqtt.md",
    VolumeRangeConfig: "docs/mqtt.md",
    SpeakerConfig: "docs/voices.md",
    HolidaysConfig: "docs/schedule.md",
    PlaceConfig: "docs/schedule.md",
    ScheduleEntryConfig: "docs/schedule.md",
    AlarmConfig: "docs/alarms.md",
    BriefingConfig: "docs/briefings.md",
    SectionKeys: "docs/briefings.md",
    WhenConfig: "docs/briefings.md",
    **{model: "docs/briefings.md" for kind in bundled_kinds() for model in all_models(kind.settings)},
}


def test_every_key_stands_on_its_page():
    for model, page in TOLD_IN.items():
        for key in keys_of(model):
            written = rf"`{key}`|`[^`\n]*\b{key}\b[^`\n]*`|^[ {{\-#]*{key}:|[{{ ]{key}:"
            assert re.search(written, DOCS[page], re.MULTILINE), f"{model.__name__}.{key} does not stand in {page}"


def test_every_key_of_the_configuration_has_a_page():
    inner = {"SnoozeConfig", "FadeConfig", "ThenConfig", "SectionConfig", "Secret", "RootModel"}
    for model in all_models(Config):
        assert model in TOLD_IN or model.__name__ in inner, model


def test_defaults_of_the_reference_are_those_of_the_program():
    compared = 0
    for title, model in (("audio", AudioConfig), ("mqtt", MqttConfig), ("announcements", AnnouncementsConfig)):
        section = DOCS["docs/configuration.md"].partition(f"## `{title}`\n")[2].partition("\n## ")[0]
        told = {}
        rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
        for names, _, default in rows:
            keys, values = re.findall(r"`(\w+)`", names), default.strip().split(", ")
            told |= dict(zip(keys, values, strict=True)) if len(keys) == len(values) else dict.fromkeys(keys)
        assert set(told) == set(keys_of(model)), title
        for key, default in told.items():
            value, word = keys_of(model)[key].default, (default or "").strip("`「」")
            if isinstance(value, bool):
                assert word == str(value).lower(), key
            elif isinstance(value, int | float):
                assert parse_duration(word) == value, key
            elif isinstance(value, str):
                assert word == value, key
            else:
                continue
            compared += 1
    assert compared >= 14


def test_keys_that_wait_for_the_next_start_are_marked():
    section = DOCS["docs/configuration.md"].partition("## All keys\n")[2].partition("\n## ")[0]
    names = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    told = {key: "●" in cell for cell in names for key in re.findall(r"`(\w+)`", cell)}
    assert told == {key: key in FIXED for key in Config.model_fields}


# Commands


def commands(command, path=()):
    """Every command, by its words."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))
    else:
        yield path, command


COMMANDS = dict(commands(get_command(app)))


def code(text):
    """Everything that is typed: spans, and lines of blocks, with the choices of a table row apart."""
    lines = [line.partition(" # ")[0] for _, block in _FENCE.findall(text) for line in block.splitlines()]
    for line in [*spans(text), *lines]:
        match = re.search(r"(?:^| |bin/)asagoe (?!asagoe )((?:[a-z][a-z-]*)(?:[ \\|].*)?$)", line)
        if match:
            yield match[1].replace("\\|", "|")


def test_every_command_stands_in_the_documents():
    written = "\n".join(f"asagoe {line}" for text in DOCS.values() for line in code(text))
    for path in COMMANDS:
        *group, name = path
        assert re.search(rf"asagoe {' '.join(group)}[a-z| -]*\b{name}\b", written), f"asagoe {' '.join(path)}"


def test_commands_and_options_of_the_documents_exist():
    seen = 0
    for page, text in DOCS.items():
        for line in code(text):
            words = line.split()
            options = [bare for word in words if len(bare := word.strip("[]()")) > 2 and bare.startswith("--")]
            for first in words[0].split("|"):
                paths = [path for path in COMMANDS if path[0] == first]
                assert paths, f"{page}: asagoe {line}"
                if len(paths[0]) == 2 and len(words) > 1:
                    names = [name for name in words[1].split("|") if name != "…"]
                    if not names[0].startswith("-"):
                        paths = [(first, name) for name in names]
                        assert set(paths) <= set(COMMANDS), f"{page}: asagoe {line}"
                if first == "as-service" or "…" in line:
                    continue
                for path in paths:
                    known = {option for item in COMMANDS[path].params for option in (*item.opts, *item.secondary_opts)}
                    assert {option.split("=")[0] for option in options} <= known | {"--help"}, f"{page}: asagoe {line}"
                    seen += 1
    assert seen >= 80


def test_commands_and_pages_that_the_program_names_exist():
    named = 0
    groups = {path[0] for path in COMMANDS if len(path) == 2}
    for file in (*ROOT.glob("daemon/**/*.py"), *ROOT.glob("engine/**/*.py"), *ROOT.glob("config/*.yaml")):
        text = file.read_text("utf-8")
        for group, name in re.findall(r"\basagoe ([a-z-]+) ([a-z-]+)", text):
            if group in groups and not name.startswith("-"):
                assert (group, name) in COMMANDS, f"{file.name}: asagoe {group} {name}"
                named += 1
        for page in re.findall(r"\bdocs/[\w-]+\.md\b", text):
            assert (ROOT / page).exists(), f"{file.name}: {page}"
    assert named > 10


def test_the_readme_has_every_command_in_both_languages():
    tables = []
    for page in ("README.md", "README.ja.md"):
        rows = re.findall(r"^\| `asagoe ([a-z|\\-]+)", DOCS[page], re.MULTILINE)
        tables.append({name for row in rows for name in row.replace("\\", "").split("|")})
    inner = set(re.findall(r"`asagoe (vacation)`", DOCS["README.md"]))
    assert tables[0] | inner == {path[0] for path in COMMANDS}
    assert tables[1] == tables[0]


def test_both_readmes_have_the_same_parts():
    english, japanese = DOCS["README.md"], DOCS["README.ja.md"]
    for part in (r"^#+ ", r"^- \*\*", r"^\| `", r"^```"):
        assert len(re.findall(part, english, re.MULTILINE)) == len(re.findall(part, japanese, re.MULTILINE)), part


# Licences


def installed(requirements):
    """The names of distributions that some requirements bring, by what is installed here."""
    found, todo = set(), [(Requirement(text), "") for text in requirements]
    while todo:
        requirement, extra = todo.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        if all((name, wanted) in found for wanted in ("", *requirement.extras)):
            continue
        found |= {(name, wanted) for wanted in ("", *requirement.extras)}
        try:
            inner = [Requirement(text) for text in distribution(name).requires or []]
        except PackageNotFoundError:
            continue
        todo += [(needed, wanted) for needed in inner for wanted in ("", *requirement.extras)]
    return {name for name, _ in found}


def test_the_licence_of_everything_that_is_installed_is_told():
    wanted = list(PROJECT["project"]["dependencies"])
    for extra, lines in PROJECT["project"]["optional-dependencies"].items():
        if extra != "torch":  # what it brings depends on the machine: the page names NVIDIA's libraries as a whole
            wanted += lines
    told = DOCS["docs/licences.md"].lower().replace("_", "-")
    missing = [name for name in installed(wanted) if not re.search(rf"(?<![a-z0-9-]){name}(?![a-z0-9-])", told)]
    assert sorted(missing) == []
