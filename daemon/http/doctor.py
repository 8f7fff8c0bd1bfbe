"""The doctor, asked from within the service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from daemon.config import ConfigError, load_config

Report = list[dict[str, str | None]]


def doctor_of(path: Path | None) -> Callable[[], Report]:
    """What examines everything but plays nothing; may take a minute, in any thread.

    Args:
        path: of the configuration that is in force.
    """
    return lambda: _examined(path)


def _examined(path: Path | None) -> Report:
    from daemon.doctor.findings import Patient, examine  # noqa: PLC0415 - most services are never asked
    from daemon.doctor.sections import SECTIONS  # noqa: PLC0415

    try:
        config = None if path is None else load_config(path)
    except ConfigError:  # the first check says what is wrong with it
        config = None
    return [
        {"check": name, "level": str(finding.level), "finding": finding.text, "remedy": finding.remedy or None}
        for name, found in examine(Patient(config, path), SECTIONS)
        for finding in found
    ]
