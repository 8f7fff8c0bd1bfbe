"""The doctor, asked from within the service."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from daemon.config import ConfigError, find_config, load_config

Report = list[dict[str, str | None]]


def doctor_of(path: Path | None) -> Callable[[], Report] | None:
    """What examines everything but plays nothing; None where this installation has no doctor.

    Args:
        path: of the configuration that is in force.
    """
    if find_spec("daemon.doctor") is None:
        return None
    return lambda: _examined(path)


def _examined(path: Path | None) -> Report:
    findings = import_module("daemon.doctor.findings")
    found_at = path or find_config(None)
    try:
        config = load_config(found_at)
    except ConfigError:  # the first check says what is wrong with it
        config = None
    patient = findings.Patient(config, found_at)
    return [
        {"check": name, "level": str(finding.level), "finding": finding.text, "remedy": finding.remedy or None}
        for name, found in findings.examine(patient, _sections(findings.Section))
        for finding in found
    ]


def _sections(section: Any) -> list[Any]:
    """The checks that make sense from within; that the service runs is known."""
    of = {name: import_module(f"daemon.doctor.{name}") for name in ("service", "sound", "voices", "broker", "machine")}
    return [
        section("configuration", of["service"].check_configuration),
        section("sound", of["sound"].check_sound, timeout=20.0),
        section("voices", of["voices"].check_voices, timeout=60.0),
        section("broker", of["broker"].check_broker, timeout=40.0),
        section("clock", of["machine"].check_clock),
        section("memory", of["machine"].check_memory),
        section("disk", of["machine"].check_disk),
        section("folders", of["machine"].check_folders),
    ]
