"""``asagoe doctor``: examines everything, and says what to do."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.cli.common import out, table

if TYPE_CHECKING:
    from daemon.doctor.findings import Finding

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_USER = "asagoe"
_UNITS = tuple(
    Path(folder) / "asagoe.service"
    for folder in ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
)
_FOLDERS = {
    "HOME": "/var/lib/asagoe",
    "STATE_DIRECTORY": "/var/lib/asagoe",
    "CACHE_DIRECTORY": "/var/cache/asagoe",
    "RUNTIME_DIRECTORY": "/run/asagoe",
}
"""What the unit gives the service; the same is examined."""


def examine_all(explicit: Path | None, *, play: bool, as_json: bool) -> int:
    """Run all checks and print what was found.

    As root, where the service is installed, they are run as its user and over its folders: what root may do says
    nothing.

    Returns:
        1 if something does not work, else 0; or the process ends with it.
    """
    if "STATE_DIRECTORY" not in os.environ and any(unit.exists() for unit in _UNITS):
        me = pwd.getpwuid(os.geteuid()).pw_name
        if me == _USER:
            os.environ.update(_FOLDERS)
        elif os.geteuid() == 0 and _USER in {user.pw_name for user in pwd.getpwall()}:
            return _examine_as_service(explicit, play=play, as_json=as_json)
    code = _show(_examine(explicit, play=play), as_json=as_json)
    sys.stdout.flush()
    # A driver that hangs in the thread of a check must not keep the command from ending.
    os._exit(code)


def _examine_as_service(explicit: Path | None, *, play: bool, as_json: bool) -> int:
    user = pwd.getpwnam(_USER)
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TERM", "COLUMNS", "ASAGOE_CONFIG") if key in os.environ}
    command = [sys.executable, "-m", "daemon", "doctor"]
    command += ["--config", str(explicit.absolute())] if explicit else []
    command += [*(["--play"] if play else []), *(["--json"] if as_json else [])]
    if not as_json:
        out.print(f"as the service's user {_USER}:")
        sys.stdout.flush()
    with _credentials(user) as credentials:
        done = subprocess.run(
            command,
            check=False,
            env=kept | _FOLDERS | credentials,
            cwd="/",
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=os.getgrouplist(_USER, user.pw_gid),
        )
    return done.returncode


@contextmanager
def _credentials(user: pwd.struct_passwd) -> Iterator[dict[str, str]]:
    """The service's credentials as systemd would give them: copies for its user alone, in memory, for a while."""
    with tempfile.TemporaryDirectory(prefix="asagoe-doctor-", dir="/run") as name:
        folder = Path(name)
        for secret in Path("/etc/credstore").glob("asagoe.*"):
            copy = folder / secret.name.removeprefix("asagoe.")
            copy.touch(mode=0o600)
            shutil.copyfile(secret, copy)
            os.chown(copy, user.pw_uid, user.pw_gid)
        os.chown(folder, user.pw_uid, user.pw_gid)
        yield {"CREDENTIALS_DIRECTORY": name}


def _examine(explicit: Path | None, *, play: bool) -> Iterator[tuple[str, list[Finding]]]:
    from daemon.config import ConfigError, find_config, load_config
    from daemon.doctor import broker, machine, service, sound, voices
    from daemon.doctor.findings import Patient, Section, examine

    path = find_config(explicit)
    try:
        config = load_config(path)
    except ConfigError:  # the first check says what is wrong with it; the others do with what they have
        config = None
    sections = [
        Section("configuration", service.check_configuration),
        Section("service", service.check_service),
        Section("sound", sound.check_sound, timeout=20.0),
        Section("voices", voices.check_voices, timeout=60.0),
        Section("broker", broker.check_broker, timeout=40.0),
        Section("clock", machine.check_clock),
        Section("memory", machine.check_memory),
        Section("disk", machine.check_disk),
        Section("folders", machine.check_folders),
    ]
    yield from examine(Patient(config, path, play=play), sections)


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
