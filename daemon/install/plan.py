"""What is to be done to install the service or to remove it: pure decisions over a description of the machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from daemon.errors import InstallError
from daemon.install.steps import Folder, Link, Remove, RemoveEmpty, Run, Step, Write

UNIT = "asagoe.service"
PROGRAM_OF_THE_UNITS = "/opt/asagoe/bin/asagoe"
"""The path that stands in the units; it is replaced where the environment lies elsewhere."""
HOME_OF_THE_ENVIRONMENT = Path("/opt/asagoe")
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108 - ProtectHome= and PrivateTmp=


@dataclass(frozen=True, slots=True)
class Machine:
    """What a plan depends on.

    Attributes:
        root: of the file system that is written to; `/` but in tests.
        program: the command `asagoe` of this environment.
        packages: the folder of the Python package, which the service must be able to read.
        booted: whether systemd runs, so that units can be started.
        home_config: the user's folder of configurations (XDG).
        home_data: the user's folder of data (XDG).
    """

    root: Path
    program: Path
    packages: Path
    booted: bool
    home_config: Path
    home_data: Path


@dataclass(frozen=True, slots=True)
class Files:
    """The texts that are put in place: units by name, the example configuration and its schema."""

    units: Mapping[str, str]
    example: str
    schema: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are on a machine."""

    root: Path

    @property
    def unit(self) -> Path:
        """The unit: not in /etc, where changes of the user's own win over it."""
        return self.root / "usr/local/lib/systemd/system" / UNIT

    @property
    def sysusers(self) -> Path:
        """The declaration of the user."""
        return self.root / "usr/local/lib/sysusers.d/asagoe.conf"

    @property
    def tmpfiles(self) -> Path:
        """The declaration of folders."""
        return self.root / "usr/local/lib/tmpfiles.d/asagoe.conf"

    @property
    def command(self) -> Path:
        """The command for everybody."""
        return self.root / "usr/local/bin/asagoe"

    @property
    def config(self) -> Path:
        """The folder of the configuration."""
        return self.root / "etc/asagoe"

    @property
    def state(self) -> Path:
        """What must survive a restart."""
        return self.root / "var/lib/asagoe"

    @property
    def cache(self) -> Path:
        """Voices and phrases."""
        return self.root / "var/cache/asagoe"

    @property
    def secrets(self) -> Path:
        """The folder of secrets, shared with other services."""
        return self.root / "etc/credstore"

    def own_secrets(self) -> list[Path]:
        """The secrets of this service."""
        return sorted(self.secrets.glob("asagoe.*")) if self.secrets.is_dir() else []


def install_system(machine: Machine, files: Files, *, start: bool) -> list[Step]:
    """The steps of an installation for the machine, or of an upgrade: configuration and state are kept.

    Raises:
        InstallError: the service could not run this program.
    """
    _check_program(machine, hidden=_HIDDEN)
    places = Places(machine.root)
    steps: list[Step] = [
        Write(places.sysusers, files.units["asagoe.sysusers"]),
        Write(places.tmpfiles, files.units["asagoe.tmpfiles"]),
        Run(("systemd-sysusers", str(places.sysusers))),
        Run(("systemd-tmpfiles", "--create", str(places.tmpfiles))),
        Folder(places.config),
        Write(places.config / "asagoe.yaml", files.example, keep=True),
        Write(places.config / "asagoe.schema.json", files.schema),
        Write(places.unit, _with_program(files.units[UNIT], machine.program)),
    ]
    if machine.program != places.command and _is_ours_or_free(places.command, machine.program):
        steps.append(Link(places.command, machine.program))
    return steps + _enable(("systemctl",), machine, start=start, log="journalctl -u asagoe -n 20")


def remove_system(machine: Machine, *, purge: bool) -> tuple[list[Step], list[str]]:
    """The steps of a removal, and what is left on the machine after them."""
    places = Places(machine.root)
    steps: list[Step] = [Run(("systemctl", "disable", "--now", UNIT), optional=True)]
    steps += [Remove(path) for path in (places.unit, places.sysusers, places.tmpfiles)]
    if _is_ours_or_free(places.command, machine.program) and places.command.is_symlink():
        steps.append(Remove(places.command))
    if machine.booted:
        steps += [Run(("systemctl", "daemon-reload")), Run(("systemctl", "reset-failed", UNIT), optional=True)]
    steps += [RemoveEmpty(path.parent) for path in (places.unit, places.sysusers, places.tmpfiles)]
    steps.append(RemoveEmpty(places.unit.parent.parent))
    own = [places.config, places.state, places.cache, *places.own_secrets()]
    left = [f"{path} ({what})" for path, what in _meaning(places).items() if path.exists()]
    left += [f"{path} (a secret)" for path in places.own_secrets()]
    environment = machine.root / HOME_OF_THE_ENVIRONMENT.relative_to("/")
    if not purge:
        return steps, [*left, "the user asagoe", f"{machine.program.parent.parent} (the environment)"]
    steps += [Remove(path) for path in own]
    steps.append(Run(("userdel", "asagoe"), optional=True))
    if machine.program.parent.parent == environment:
        steps.append(Remove(environment))  # last: it holds the program that is running
        return steps, []
    return steps, [f"{machine.program.parent.parent} (the environment)"]


def install_user(machine: Machine, files: Files, *, start: bool) -> list[Step]:
    """The steps of an installation for one user.

    Raises:
        InstallError: the program's path cannot stand in a unit.
    """
    _check_program(machine, hidden=())
    folder = machine.home_config / "asagoe"
    steps: list[Step] = [
        Folder(folder),
        Write(folder / "asagoe.yaml", files.example, keep=True),
        Write(folder / "asagoe.schema.json", files.schema),
        Write(_user_unit(machine), _with_program(files.units["user/asagoe.service"], machine.program)),
    ]
    return steps + _enable(("systemctl", "--user"), machine, start=start, log="journalctl --user -u asagoe -n 20")


def remove_user(machine: Machine, folders: Mapping[Path, str], *, purge: bool) -> tuple[list[Step], list[str]]:
    """The steps of a removal for one user, and what is left after them.

    Args:
        machine: to remove from.
        folders: the user's own: configuration, state, cache, with what each is.
        purge: remove those too.
    """
    steps: list[Step] = [
        Run(("systemctl", "--user", "disable", "--now", UNIT), optional=True),
        Remove(_user_unit(machine)),
        Run(("systemctl", "--user", "daemon-reload"), optional=True),
    ]
    environment = f"{machine.program.parent.parent} (the environment)"
    if purge:
        return [*steps, *(Remove(path) for path in folders)], [environment]
    return steps, [*(f"{path} ({what})" for path, what in folders.items() if path.exists()), environment]


def _enable(systemctl: tuple[str, ...], machine: Machine, *, start: bool, log: str) -> list[Step]:
    steps: list[Step] = [Run((*systemctl, "daemon-reload"))] if machine.booted else []
    steps.append(Run((*systemctl, "enable", UNIT)))
    if start and machine.booted:
        steps.append(Run((*systemctl, "restart", UNIT), remedy=f"Its reasons: {log}"))
    return steps


def _user_unit(machine: Machine) -> Path:
    return machine.home_data / "systemd/user" / UNIT


def _meaning(places: Places) -> dict[Path, str]:
    return {places.config: "configuration", places.state: "state", places.cache: "voices and phrases"}


def _with_program(unit: str, program: Path) -> str:
    return unit.replace(PROGRAM_OF_THE_UNITS, str(program))


def _is_ours_or_free(command: Path, program: Path) -> bool:
    """Whether the path of the command may be taken: nothing is there, or a link to an `asagoe` of an environment."""
    if command.is_symlink():
        target = command.readlink()
        return target == program or not command.exists() or target.name == program.name
    return not command.exists()


def _check_program(machine: Machine, hidden: tuple[str, ...]) -> None:
    program = machine.program
    if not program.exists():
        message = f"there is no {program}; install Asagoe into an environment: python3 -m venv /opt/asagoe"
        raise InstallError(message)
    if not re.fullmatch(r"[\w@.+/-]+", str(program)):
        message = f"the path {program} holds signs that a unit cannot; install Asagoe to /opt/asagoe"
        raise InstallError(message)
    for path in (program, machine.packages):
        for folder in hidden:
            if path.is_relative_to(machine.root / folder.lstrip("/")):
                message = (
                    f"{path} lies below {folder}, which the hardened service does not see; install Asagoe to "
                    f"/opt/asagoe, or use `asagoe install --user`"
                )
                raise InstallError(message)
