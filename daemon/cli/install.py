"""``asagoe install`` and ``uninstall``: the service in its place on a machine with systemd."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from platformdirs import user_config_path, user_data_path, user_state_path

import daemon
from daemon.cli.common import err, fail, out
from daemon.config import ConfigError, load_config
from daemon.errors import InstallError
from daemon.install import plan
from daemon.install.steps import Step, carry_out
from daemon.resources import resource, unit_text
from engine import __version__
from engine.tts import cache_root

_PORTAUDIO = "libportaudio.so.2"


def install(*, user: bool, dry: bool, start: bool) -> int:
    """Put everything in place, or bring it up to date; returns the exit code."""
    machine = _machine()
    try:
        _check_rights(user=user, dry=dry)
        config = machine.home_config / "asagoe" if user else plan.Places(machine.root).config
        valid = _is_valid(config / "asagoe.yaml")
        make = plan.install_user if user else plan.install_system
        _do(make(machine, _files(), start=start and valid), dry=dry)
    except InstallError as error:
        return fail(str(error))
    if dry:
        return 0
    _advise(user=user)
    if not valid:
        return fail("Asagoe is installed, but not started: correct the configuration, then install again.", 78)
    control = "systemctl --user" if user else "systemctl"
    out.print(f"Asagoe {__version__} is installed. Configuration: {config / 'asagoe.yaml'}; after a change:")
    out.print(f"  {control} reload asagoe", markup=False)
    out.print("How it is:")
    out.print(f"  {control} status asagoe\n  asagoe doctor")
    return 0


def uninstall(*, user: bool, dry: bool, purge: bool) -> int:
    """Take the service away; returns the exit code."""
    machine = _machine()
    try:
        _check_rights(user=user, dry=dry)
        if user:
            steps, left = plan.remove_user(machine, _user_folders(), purge=purge)
        else:
            steps, left = plan.remove_system(machine, purge=purge)
        _do(steps, dry=dry)
    except InstallError as error:
        return fail(str(error))
    if left:
        out.print("Left as it is:" if not dry else "Would be left as it is:")
        for line in left:
            out.print(f"  {line}", soft_wrap=True)
        if not purge:
            out.print("`asagoe uninstall --purge` removes configuration, state, voices, secrets and the user, too.")
    return 0


def _machine() -> plan.Machine:
    return plan.Machine(
        root=Path("/"),
        # Not resolved: in an environment `python` is a link to the system's.
        program=Path(sys.executable).absolute().with_name("asagoe"),
        packages=Path(daemon.__file__).absolute().parent,
        booted=Path("/run/systemd/system").is_dir(),
        home_config=user_config_path(),
        home_data=user_data_path(),
    )


def _files() -> plan.Files:
    names = (plan.UNIT, "user/asagoe.service", "asagoe.sysusers", "asagoe.tmpfiles")
    return plan.Files(
        units={name: unit_text(name) for name in names},
        example=resource("asagoe.yaml").read_text(encoding="utf-8"),
        schema=resource("asagoe.schema.json").read_text(encoding="utf-8"),
    )


def _user_folders() -> dict[Path, str]:
    """What belongs to a user's Asagoe, wherever it was started from: not what systemd gives a service."""
    return {
        user_config_path("asagoe", appauthor=False): "configuration",
        user_state_path("asagoe", appauthor=False): "state",
        cache_root(): "voices and phrases",
    }


def _check_rights(*, user: bool, dry: bool) -> None:
    if shutil.which("systemctl") is None:
        message = "there is no systemd on this machine; run `asagoe run` from what starts services here"
        raise InstallError(message)
    if user and os.geteuid() == 0 and "SUDO_USER" in os.environ:
        message = "--user installs for the one who calls it; call it without sudo"
        raise InstallError(message)
    if not user and not dry and os.geteuid() != 0:
        command = shlex.join(["sudo", *sys.argv])
        message = f"this needs root: {command}\nFor a service of your own user: asagoe install --user"
        raise InstallError(message)


def _is_valid(path: Path) -> bool:
    """Whether the service could start with the file; says what is wrong with it."""
    if not path.exists():
        return True
    try:
        load_config(path)
    except ConfigError as error:
        # A credential is there only for the service.
        problems = [p for p in error.problems if not (p.key == "mqtt.password" and "secret file" in p.message)]
        for problem in problems:
            err.print(str(problem), style="red")
        return not problems
    return True


def _do(steps: list[Step], *, dry: bool) -> None:
    carry_out(steps, lambda line: out.print(f"  {line}", soft_wrap=True), dry=dry)


def _advise(*, user: bool) -> None:
    """Say what else the machine needs."""
    try:
        ctypes.CDLL(_PORTAUDIO)
    except OSError:
        err.print(
            "PortAudio is missing, so there will be no sound: apt-get install -y libportaudio2",
            style="yellow",
        )
    if user and shutil.which("loginctl"):
        name = os.environ.get("USER") or str(os.getuid())
        linger = subprocess.run(
            ["loginctl", "show-user", name, "--property=Linger"], capture_output=True, text=True, check=False
        )
        if "Linger=yes" not in linger.stdout:
            err.print(
                f"Without this it ends when you log out and does not start with the machine:\n"
                f"  sudo loginctl enable-linger {name}",
                style="yellow",
            )
