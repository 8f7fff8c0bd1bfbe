"""``asagoe as-service``: a command as the service would run it, by its user and over its folders."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

USER = "asagoe"
FOLDERS = {
    "HOME": "/var/lib/asagoe",
    "STATE_DIRECTORY": "/var/lib/asagoe",
    "CACHE_DIRECTORY": "/var/cache/asagoe",
    "RUNTIME_DIRECTORY": "/run/asagoe",
}
"""What the unit gives the service."""
_UNITS = tuple(
    Path(folder) / "asagoe.service"
    for folder in ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
)
_KEPT = ("PATH", "LANG", "TERM", "COLUMNS", "ASAGOE_CONFIG")
_CREDENTIALS = Path("/etc/credstore")


def is_installed() -> bool:
    """Whether the service is installed for this machine, and this process is not part of it."""
    known = USER in {user.pw_name for user in pwd.getpwall()}
    return known and "STATE_DIRECTORY" not in os.environ and any(unit.exists() for unit in _UNITS)


def is_service_user() -> bool:
    """Whether this process runs as the service's user."""
    return os.geteuid() == pwd.getpwnam(USER).pw_uid


def run_as_service(arguments: Sequence[str]) -> int:
    """Run a command of Asagoe as the service's user; for root.

    Args:
        arguments: of `asagoe`.

    Returns:
        Its exit code.
    """
    user = pwd.getpwnam(USER)
    kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
    for folder in (FOLDERS["STATE_DIRECTORY"], FOLDERS["CACHE_DIRECTORY"]):
        if not Path(folder).exists():  # systemd makes them at the first start
            Path(folder).mkdir(mode=0o750)
            os.chown(folder, user.pw_uid, user.pw_gid)
    with _credentials(user) as credentials:
        done = subprocess.run(
            [sys.executable, "-m", "daemon", *arguments],
            check=False,
            env=kept | FOLDERS | {"CREDENTIALS_DIRECTORY": credentials},
            cwd="/",
            umask=0o077,
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=os.getgrouplist(USER, user.pw_gid),
        )
    return done.returncode


@contextmanager
def _credentials(user: pwd.struct_passwd) -> Iterator[str]:
    """The service's credentials as systemd would give them: copies for its user alone, in memory, for a while."""
    with tempfile.TemporaryDirectory(prefix="asagoe-", dir="/run") as name:
        folder = Path(name)
        for secret in _CREDENTIALS.glob("asagoe.*"):
            copy = folder / secret.name.removeprefix("asagoe.")
            copy.touch(mode=0o600)
            shutil.copyfile(secret, copy)
            os.chown(copy, user.pw_uid, user.pw_gid)
        os.chown(folder, user.pw_uid, user.pw_gid)
        yield name


def run_command(arguments: Sequence[str]) -> int:
    """``asagoe as-service COMMAND…``; returns the exit code."""
    from daemon.cli.common import fail

    if not is_installed():
        return fail("the service is not installed on this machine: sudo asagoe install")
    if os.geteuid() != 0:
        return fail("this needs root: sudo asagoe as-service …")
    return run_as_service(arguments)
