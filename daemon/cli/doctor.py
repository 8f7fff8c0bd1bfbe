"""``asagoe doctor``: examines everything, and says what to do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.cli.as_service import FOLDERS, USER, is_installed, is_service_user, run_as_service
from daemon.cli.common import out, table

if TYPE_CHECKING:
    from daemon.doctor.findings import Finding

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def examine_all(explicit: Path | None, *, play: bool, as_json: bool) -> int:
    """Run all checks and print what was found.

    As root, where the service is installed, they are run as its user and over its folders: what root may do says
    nothing.

    Returns:
        1 if something does not work, else 0; or the process ends with it.
    """
    if is_installed():
        if is_service_user():
            os.environ.update(FOLDERS)
        elif os.geteuid() == 0:
            if not as_json:
                out.print(f"as the service's user {USER}:")
                sys.stdout.flush()
            return run_as_service(_arguments(explicit, play=play, as_json=as_json))
    code = _show(_examine(explicit, play=play), as_json=as_json)
    sys.stdout.flush()
    # A driver that hangs in the thread of a check must not keep the command from ending.
    os._exit(code)


def _arguments(explicit: Path | None, *, play: bool, as_json: bool) -> list[str]:
    config = ["--config", str(explicit.absolute())] if explicit else []
    return ["doctor", *config, *(["--play"] if play else []), *(["--json"] if as_json else [])]


def _examine(explicit: Path | None, *, play: bool) -> Iterator[tuple[str, list[Finding]]]:
    from daemon.config import ConfigError, find_config, load_config
    from daemon.doctor.findings import Patient, examine
    from daemon.doctor.sections import SECTIONS

    path = find_config(explicit)
    try:
        config = load_config(path)
    except ConfigError:  # the first check says what is wrong with it; the others do with what they have
        config = None
    yield from examine(Patient(config, path, play=play), SECTIONS)


def _show(examined: Iterator[tuple[str, list[Finding]]], *, as_json: bool) -> int:
    found = [(name, finding) for name, findings in examined for finding in findings]
    if as_json:
        facts = [
            {"check": name, "level": str(f.level), "finding": f.text, "remedy": f.remedy or None} for name, f in found
        ]
        print(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        _print(found)
    return int(any(finding.level == "fail" for _, finding in found))


def _print(found: list[tuple[str, Finding]]) -> None:
    result = table("check", "", "finding")
    before = ""
    for name, finding in found:
        remedy = f"\n→ {finding.remedy}" if finding.remedy else ""
        result.add_row(
            "" if name == before else name, str(finding.level), finding.text + remedy, style=_STYLES[finding.level]
        )
        before = name
    out.print(result)
    counts = {level: sum(finding.level == level for _, finding in found) for level in ("fail", "warn")}
    if not any(counts.values()):
        out.print("Everything is well.", style="green")
    else:
        out.print(f"{counts['fail']} thing(s) do not work, {counts['warn']} may not.")
