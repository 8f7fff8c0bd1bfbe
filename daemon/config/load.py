"""From a file to a ``Config``, or to one error that lists all that is wrong with it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from daemon.chimes import NONE, chime_names, chime_path
from daemon.config.briefings import SectionConfig, known_kinds
from daemon.config.models import Config
from daemon.config.quiet import QuietRangeConfig, VolumeRangeConfig
from daemon.config.schedule import RuleConfig
from daemon.config.secrets import secrets_of
from daemon.config.values import Secret
from daemon.config.yaml import Document, Mark, parse
from daemon.config.yaml import Path as Path_
from daemon.errors import DaemonError
from daemon.schedule.calendar import check_country
from daemon.schedule.rules import check_days
from engine import Dictionary, load_dictionary
from engine.errors import DictionaryError, EngineError
from engine.sources import parse_source

MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        file: as it was given.
        mark: line and column.
        key: path of the key, such as ``schedule[0].at``; empty for the file as a whole.
        message: what was found and what is expected.
    """

    file: str
    mark: Mark
    key: str
    message: str

    def __str__(self) -> str:
        key = f"{self.key}: " if self.key else ""
        return f"{self.file}:{self.mark.line}: {key}{self.message}"


class ConfigError(DaemonError):
    """The configuration cannot be used; ``problems`` holds all reasons."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = list(problems)
        files = list(dict.fromkeys(problem.file for problem in found))  # the configuration, then what it names
        self.problems = tuple(sorted(found, key=lambda p: (files.index(p.file), p.mark.line, p.mark.column, p.key)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def find_config(explicit: Path | None) -> Path | None:
    """The file to read: the one that is named, else the user's, else the system's, else None."""
    if explicit is not None:
        return explicit
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    candidates = (home / "asagoe" / "asagoe.yaml", Path("/etc/asagoe/asagoe.yaml"))
    return next((path for path in candidates if path.is_file()), None)


def load_config(path: Path | None, *, with_words: bool = True) -> Config:
    """Read and validate a file, and the dictionary that it names; None gives the defaults.

    Args:
        path: of the file.
        with_words: False leaves the dictionary's file alone, whatever is in it.

    Raises:
        ConfigError: with every problem that was found.
    """
    if path is None:
        return Config()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError([Problem(str(path), Mark(1, 1), "", f"cannot be read: {error.strerror}")]) from error
    if len(data) > MAX_BYTES:
        raise ConfigError([Problem(str(path), Mark(1, 1), "", f"is larger than {MAX_BYTES:,} bytes")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte 0x{data[error.start]:02x}; save the file as UTF-8"
        raise ConfigError([Problem(str(path), Mark(line, 1), "", message)]) from error
    return parse_config(text, str(path), with_words=with_words)


def dictionary_path(name: str, file: Path | str) -> Path:
    """Where the dictionary of a configuration lies: relative to the configuration's own file."""
    return Path(file).parent / Path(name).expanduser()


def parse_config(text: str, file: str = "asagoe.yaml", *, with_words: bool = True) -> Config:
    """Validate the text of a configuration; see ``load_config``.

    Raises:
        ConfigError: with every problem that was found.
    """
    document = parse(text)
    problems = [Problem(file, fault.mark, _dotted(fault.path), fault.message) for fault in document.faults]
    if document.value is None and problems:
        raise ConfigError(problems)
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        message = f"a mapping of keys to values is expected, got {_shown(value)}"
        raise ConfigError([*problems, Problem(file, Mark(1, 1), "", message)])
    # A key without a value means its default, in a file as in `mqtt:` with all lines below commented out.
    value = {key: item for key, item in value.items() if item is not None}
    name = value.get("dictionary")
    words, mistakes = _words(name, file, document) if with_words and name and isinstance(name, str) else (None, [])
    try:
        config = Config.model_validate(value, context=words)
    except ValidationError as error:
        problems += _unique(_problem(file, document, details) for details in error.errors())
        raise ConfigError(problems + mistakes) from error
    problems += [Problem(file, document.mark(path), _dotted(path), message) for path, message in _cross_check(config)]
    problems += mistakes
    if problems:
        raise ConfigError(problems)
    return config


def _words(name: str, file: str, document: Document) -> tuple[Dictionary | None, list[Problem]]:
    """The words of the dictionary, or its mistakes: each in its own line, or in the line that names the file."""
    key, path = ("dictionary",), dictionary_path(name, file)
    try:
        return load_dictionary(path), []
    except DictionaryError as error:
        remedy = "" if path.exists() else "; create it with asagoe dictionary add, or leave the key out"
        return None, [
            Problem(file, document.mark(key), "dictionary", f"{mistake.source}: {mistake.message}{remedy}")
            if mistake.line is None
            else Problem(mistake.source, Mark(mistake.line, 1), "", mistake.message)
            for mistake in error.mistakes
        ]


def _cross_check(config: Config) -> Iterator[tuple[Path_, str]]:
    """What can only be judged when several keys are seen together."""
    yield from _speaker_faults(config)
    yield from _mirror_faults(config)
    yield from _name_faults(config)
    yield from list(_calendar_faults(config)) or _rule_faults(config)
    holders: list[tuple[Path_, Any]] = [(("announcements", "defaults"), config.announcements.defaults)]
    holders += [(("schedule", index), entry) for index, entry in enumerate(config.schedule)]
    holders += [(("alarms", name), alarm) for name, alarm in config.alarms.items()]
    holders += [(("briefings", name), briefing) for name, briefing in config.briefings.items()]
    for path, holder in holders:
        for key in ("chime", "end_chime", "sound"):
            chime = getattr(holder, key, None)
            if chime is not None and chime != NONE and chime_path(chime) is None:
                expected = f"one of {', '.join(chime_names())}, none, or the absolute path of a WAV file"
                yield (*path, key), f"there is no chime {chime!r}; expected is {expected}"
    for path, secret in _secrets(config):
        try:
            empty = not secret.reveal()
        except ValueError as error:
            yield path, str(error)
        else:
            if empty and path == ("http", "token"):
                yield path, "the token is empty; make one with: openssl rand -hex 32"


def _name_faults(config: Config) -> Iterator[tuple[Path_, str]]:
    """Names that are used twice, and those of briefings that there are not."""
    wanted: list[tuple[Path_, str | None]] = []
    for name, alarm in config.alarms.items():
        if alarm.then is not None and alarm.then.briefing not in config.briefings:
            known = ", ".join(config.briefings) or "none"
            yield ("alarms", name, "then"), f"there is no briefing {alarm.then.briefing!r}; there are {known}"
    for index, entry in enumerate(config.schedule):
        name = entry.id or f"schedule-{index + 1}"
        if name in config.alarms:
            yield ("schedule", index, "id"), f"{name!r} is the id of an alarm too; give one of them another"
        if name in config.briefings and entry.briefing != name:
            yield ("schedule", index, "id"), f"{name!r} is the name of a briefing too; give one of them another"
        wanted.append((("schedule", index, "briefing"), entry.briefing))
    wanted += [
        (("alarms", name, "then"), alarm.then.briefing if alarm.then else None) for name, alarm in config.alarms.items()
    ]
    for path, briefing in wanted:
        if briefing is not None and briefing not in config.briefings:
            names = ", ".join(config.briefings) or "none"
            yield path, f"there is no briefing {briefing!r}; there are {names}"


def _secrets(config: Config) -> Iterator[tuple[Path_, Secret]]:
    if config.mqtt.password is not None:
        yield ("mqtt", "password"), config.mqtt.password
    if config.http is not None and config.http.token is not None:
        yield ("http", "token"), config.http.token
    for name, briefing in config.briefings.items():
        for index, section in enumerate(briefing.sections):
            for inner, secret in secrets_of(section.settings):
                yield ("briefings", name, "sections", index, *inner), secret


def _speaker_faults(config: Config) -> Iterator[tuple[Path_, str]]:
    wanted: list[tuple[Path_, str | None]] = [(("default_speaker",), config.default_speaker)]
    wanted += [(("schedule", index, "speaker"), entry.speaker) for index, entry in enumerate(config.schedule)]
    wanted += [(("alarms", name, "speaker"), alarm.speaker) for name, alarm in config.alarms.items()]
    wanted += [(("briefings", name, "speaker"), briefing.speaker) for name, briefing in config.briefings.items()]
    for path, name in wanted:
        if name is not None and name not in config.speakers:
            yield path, f"{name!r} is not one of speakers: {', '.join(config.speakers)}"
    for name, speaker in config.own_speakers.items():
        try:
            parse_source(speaker.source)
        except EngineError as error:
            yield ("speakers", name, "source"), str(error)
    yield from _remote_faults(config)


def _remote_faults(config: Config) -> Iterator[tuple[Path_, str]]:
    for name, remote in config.remote_speakers.items():
        path = ("render_on",) if config.speakers[name].node is None else ("speakers", name, "source")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", remote.node):
            yield path, f"the name of a node is expected after node:, got {remote.node!r}"
        elif remote.node == config.node:
            yield path, f"{remote.node} is this node itself; name another, or leave this out"
        elif config.mqtt.broker == "none":
            yield path, "another node is reached by MQTT, and mqtt.broker is none"


def _calendar_faults(config: Config) -> Iterator[tuple[Path_, str]]:
    own, holidays = config.holidays, config.calendar.holidays
    if holidays is None or not (own.country or own.subdivision or own.language):
        return  # the library is large, and nothing was said that it could refuse
    try:
        if holidays.country is not None:
            check_country(holidays.country, own.subdivision, own.language)
    except ValueError as error:
        yield ("holidays",), str(error)


def _rule_faults(config: Config) -> Iterator[tuple[Path_, str]]:
    calendar = config.calendar
    holders: list[tuple[Path_, RuleConfig]] = [(("schedule", i), entry) for i, entry in enumerate(config.schedule)]
    holders += [(("alarms", name), alarm) for name, alarm in config.alarms.items()]
    unclear = f"whose holidays are meant is not clear from the time zone {calendar.zone.key}; add "
    unclear += "holidays: {country: JP} (or another country, or none) to the file"
    ranges: dict[str, Sequence[QuietRangeConfig | VolumeRangeConfig]]
    ranges = {"quiet_hours": config.quiet_hours, "volumes": config.volumes}
    for key, items in ranges.items():
        for index, item in enumerate(items):
            if item.span.days.needs_holidays and not calendar.knows_holidays:
                yield (key, index, "days"), unclear
    for path, holder in holders:
        rule = holder.rule()
        if rule.needs_place and calendar.place is None:
            yield (*path, "at"), "the sun needs a place; add place: {latitude: …, longitude: …} to the file"
        if rule.needs_holidays and not calendar.knows_holidays:
            yield (*path, "days"), unclear
            continue
        try:
            check_days(rule, calendar)
        except ValueError as error:
            yield path, str(error)


def _mirror_faults(config: Config) -> Iterator[tuple[Path_, str]]:
    for source, mirrors in config.mirrors.items():
        if source not in {speaker.source for speaker in config.speakers.values()}:
            yield ("mirrors", source), f"{source!r} is not the source of a speaker"
        for index, mirror in enumerate(mirrors):
            try:
                parsed = parse_source(mirror)
            except EngineError as error:
                yield ("mirrors", source, index), str(error)
            else:
                if parsed.remote is None and parsed.tree is None:
                    yield ("mirrors", source, index), f"{mirror!r} cannot be a mirror; name hf://, s3:// or a folder"


def _problem(file: str, document: Document, details: ErrorDetails) -> Problem:
    path = _known_part(document, details["loc"])
    kind, found, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "extra_forbidden":
        message = f"unknown key{_suggestion(document, details['loc'])}"
    elif kind == "missing":
        path = _known_part(document, details["loc"][:-1])
        message = f"the key {details['loc'][-1]!r} is missing"
    elif kind == "value_error":
        message = str(context["error"])
    elif kind == "model_type":
        message = f"a mapping of keys to values is expected, got {_shown(found)}"
    else:
        expected = details["msg"].removeprefix("Input should be ").removeprefix("a valid ")
        message = f"{expected} is expected, got {_shown(found)}"
    return Problem(file, document.mark(path), _dotted(path), message)


def _known_part(document: Document, loc: Path_) -> Path_:
    """The path of an error without the parts that pydantic adds (names of validators and of union members)."""
    path: Path_ = ()
    for part in loc:
        if (*path, part) in document.keys:
            path = (*path, part)
    return path


def _suggestion(document: Document, loc: Path_) -> str:
    found: Any = Config
    value: Any = document.value
    for part in loc[:-1]:
        found = _within(found, part)
        value = _value_within(value, part)
        if found is SectionConfig:
            found = known_kinds(value)
    fields = _fields(found)
    close = difflib.get_close_matches(str(loc[-1]), fields, 1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known are {', '.join(fields)}" if fields else ""


def _within(annotation: Any, part: str | int) -> Any:
    """The type of what lies under a key or an index of something of a type; None where that cannot be told."""
    fields = _fields(annotation)
    if fields:
        return fields.get(str(part))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is dict and len(arguments) == 2:
        return arguments[1]
    if origin is list and arguments:
        return arguments[0]
    inner = (_within(argument, part) for argument in arguments)
    return next((found for found in inner if found is not None), None)


def _value_within(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    return value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None


def _fields(annotation: Any) -> dict[str, Any]:
    """The keys of a model with their types; none of anything else, where a union has one model it stands for all."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {field.alias or name: field.annotation for name, field in annotation.model_fields.items()}
    if get_origin(annotation) in (dict, list):
        return {}
    return next((fields for argument in get_args(annotation) if (fields := _fields(argument))), {})


def _unique(problems: Iterable[Problem]) -> list[Problem]:
    return list(dict.fromkeys(problems))


def _dotted(path: Path_) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
