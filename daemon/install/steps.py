"""The kinds of steps that a plan is made of, and how each is done."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from daemon.errors import InstallError


class Step(Protocol):
    """One change of the machine. Doing it twice is the same as doing it once."""

    def __str__(self) -> str:
        """What it does, as a line for people."""

    def do(self) -> None:
        """Do it.

        Raises:
            InstallError: a command failed.
            OSError: a file cannot be written.
        """


@dataclass(frozen=True, slots=True)
class Folder:
    """Make a folder."""

    path: Path
    mode: int = 0o755

    def __str__(self) -> str:
        return f"make {self.path}/"

    def do(self) -> None:
        """Make it, and those above it; one that is there stays as it is."""
        if not self.path.is_dir():
            self.path.mkdir(parents=True)
            self.path.chmod(self.mode)


@dataclass(frozen=True, slots=True)
class Write:
    """Write a file; ``keep`` leaves one that is there alone."""

    path: Path
    text: str
    keep: bool = False
    mode: int = 0o644

    def __str__(self) -> str:
        return f"keep {self.path}" if self.keep and self.path.exists() else f"write {self.path}"

    def do(self) -> None:
        """Write it whole or not at all: beside its place, then renamed."""
        if self.keep and self.path.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f".{self.path.name}.part")
        part.write_text(self.text, encoding="utf-8")
        part.chmod(self.mode)
        part.replace(self.path)


@dataclass(frozen=True, slots=True)
class Link:
    """Let a path lead to a program."""

    path: Path
    target: Path

    def __str__(self) -> str:
        return f"link {self.path} -> {self.target}"

    def do(self) -> None:
        """Make the link, or turn an old one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f".{self.path.name}.part")
        part.unlink(missing_ok=True)
        part.symlink_to(self.target)
        part.replace(self.path)


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a file, a link or a whole folder."""

    path: Path

    def __str__(self) -> str:
        return f"remove {self.path}{'/' if self.path.is_dir() and not self.path.is_symlink() else ''}"

    def do(self) -> None:
        """Remove it, if it is there."""
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class RemoveEmpty:
    """Remove a folder if nothing is in it."""

    path: Path

    def __str__(self) -> str:
        return f"remove {self.path}/ if it is empty"

    def do(self) -> None:
        """Try it."""
        with contextlib.suppress(OSError):
            self.path.rmdir()


@dataclass(frozen=True, slots=True)
class Run:
    """Run a program of the system.

    Attributes:
        command: with its arguments.
        optional: whether its failure is nothing to stop at: what it would undo may not be there.
        remedy: what to do when it fails.
    """

    command: tuple[str, ...]
    optional: bool = False
    remedy: str = ""

    def __str__(self) -> str:
        return f"run  {shlex.join(self.command)}"

    def do(self) -> None:
        """Run it and wait."""
        try:
            done = subprocess.run(
                self.command, check=False, capture_output=True, text=True, timeout=1000, errors="replace"
            )
        except FileNotFoundError as error:
            if self.optional:
                return
            message = f"{self.command[0]} is missing on this machine"
            raise InstallError(message) from error
        if done.returncode != 0 and not self.optional:
            said = (done.stderr or done.stdout).strip()
            remedy = f"\n{self.remedy}" if self.remedy else ""
            message = f"{shlex.join(self.command)} failed ({done.returncode}): {said}{remedy}"
            raise InstallError(message)


def carry_out(steps: Sequence[Step], tell: Callable[[str], None], *, dry: bool) -> None:
    """Tell each step, and do it unless ``dry``.

    Raises:
        InstallError: a step failed; those before it are done, and doing all again is safe.
    """
    for step in steps:
        tell(str(step))
        if dry:
            continue
        try:
            step.do()
        except PermissionError as error:
            who = "" if os.geteuid() == 0 else "; run it as root (sudo)"
            message = f"{step} failed: {error.strerror}: {error.filename}{who}"
            raise InstallError(message) from error
        except OSError as error:
            message = f"{step} failed: {error}"
            raise InstallError(message) from error
